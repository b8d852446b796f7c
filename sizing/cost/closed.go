package cost

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// ClosedLoad is a load of Concurrency clients, each of which sends its next
// request as soon as it has the answer to the last one. Lengths are means in
// tokens; Cached is the part of Input that the prefix cache holds.
type ClosedLoad struct {
	Concurrency   float64
	Input, Cached float64
	Output        float64
	Slots         float64 // sequences that run at once, by cache and max_num_seqs; 0 is no limit
	BatchedTokens float64 // token budget of a step; 0 is no limit

	// Rounds is how many requests each client sends in a run that starts all clients
	// at once; 0 is a run that has no start.
	Rounds float64
}

// Loop is the steady state of a closed load: times in seconds, Rate in requests
// per second, Batch in sequences that decode. TTFT is what the client
// sees: it counts the wait for a slot and the time outside of the engine.
type Loop struct {
	TPOT, TTFT, Rate, Batch float64
	Decode                  Step // a step without prefill
}

// ClosedLoop is the steady state of c clients without think time.
//
// At most Slots requests run, the rest waits. Of n that run, B decode and the
// others are in their prefill. Each step completes B/(output − 1) requests, whose
// successors put as many prompts into the steps: with p prompts per step on
// average a step takes T = D(B) + min(1, p)·(mixed − D(B)), where mixed is a step
// that carries max(1, p) prompts, or one chunk of the token budget. A request is
// in decode for (output − 1)·T and in prefill for its first-token time, which
// splits n into the two: B = n·decode/(decode + prefill).
func ClosedLoop(f Facts, a *profiles.Accelerator, c Constants, l ClosedLoad) Loop {
	pipeline := float64(max(1, f.Pipeline))
	running := l.Concurrency
	if l.Slots > 0 {
		running = min(running, max(1, l.Slots))
	}
	// A pipeline works on one batch per stage at a time.
	e := loop{f: &f, a: a, c: &c, load: l, running: max(1, running/pipeline), fresh: max(1, l.Input-l.Cached)}
	e.solve()
	out := Loop{TPOT: e.step, TTFT: e.first, Batch: e.batch * pipeline, Decode: e.decode}
	cycle := e.first + e.step*max(0, l.Output-1)
	out.Rate = running / cycle
	waiting := max(0, l.Concurrency-running) / out.Rate
	if l.Rounds > 0 {
		// The first to run find the others' prompts instead of a place that one left.
		first := running / (l.Rounds * l.Concurrency)
		out.TTFT = first*e.burst() + (1-first)*(out.TTFT+waiting)
		return out
	}
	out.TTFT += waiting
	return out
}

// burst is the mean time to first token when all prompts of a batch come at
// once: they fill k steps of the token budget, of which one sees half on average.
func (l *loop) burst() float64 {
	tokens := l.running * l.fresh
	steps, prompts := 1.0, l.running
	if budget := l.load.BatchedTokens; budget > 0 && tokens > budget {
		steps = math.Ceil(tokens / budget)
		prompts = tokens / steps / l.fresh
	}
	var w work
	w.addPrefill(l.f, Prefill{Tokens: l.fresh, Context: l.load.Cached, Final: true})
	together := work{tokens: prompts * w.tokens, sampled: prompts, cache: prompts * w.cache, pairs: prompts * w.pairs, prefill: true}
	return (steps+1)/2*stepTime(l.f, l.a, l.c, together).Seconds + l.c.RequestS
}

type loop struct {
	f       *Facts
	a       *profiles.Accelerator
	c       *Constants
	load    ClosedLoad
	running float64 // per pipeline batch
	fresh   float64 // prompt tokens to compute

	batch, step, first float64
	decode             Step
}

// solve iterates the split of the running requests. It settles in a few rounds,
// since prefill is short against decode or the other way round; where it swings, a
// half step stops it.
func (l *loop) solve() {
	l.batch = l.running
	moved := 0.0
	for range 60 {
		last := l.batch
		l.round()
		delta := l.batch - last
		if math.Abs(delta) <= 1e-8*l.batch {
			return
		}
		if delta*moved < 0 {
			delta /= 2
			l.batch = last + delta
		}
		moved = delta
	}
}

// round computes the times at the present batch, and the batch that they imply.
func (l *loop) round() {
	steps := max(1, l.load.Output-1)
	var w work
	w.addDecode(l.f, Decode{l.batch, l.load.Input + l.load.Output/2})
	l.decode = stepTime(l.f, l.a, l.c, w)
	chunks := 1.0
	if l.load.BatchedTokens > 0 {
		chunks = max(1, math.Ceil(l.fresh/max(1, l.load.BatchedTokens-l.batch)))
	}
	prompts := l.batch / steps // per step
	carried := max(1, prompts*chunks)
	chunk := Prefill{Tokens: l.fresh / chunks, Context: l.load.Cached + (l.fresh-l.fresh/chunks)/2}
	var p work
	p.addPrefill(l.f, chunk)
	mixed := work{
		tokens: w.tokens + carried*p.tokens, sampled: w.sampled + carried/chunks,
		cache: w.cache + carried*p.cache, pairs: w.pairs + carried*p.pairs, prefill: true,
	}
	full := stepTime(l.f, l.a, l.c, mixed)
	share := min(1, prompts*chunks)
	l.step = l.decode.Seconds + share*(full.Seconds-l.decode.Seconds)
	// A new prompt finds a step half done, then takes its own steps.
	l.first = l.step/2 + chunks*full.Seconds + l.c.RequestS
	decoding := steps * l.step
	l.batch = l.running * decoding / (decoding + l.first)
}
