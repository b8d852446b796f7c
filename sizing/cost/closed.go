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
	Context       float64  // of a sequence in decode, as a mean over time; 0 is Input + Output/2
	Prompts       []Prompt // lengths of prompts with the means above; nil when all are alike
	Slots         float64  // sequences that run at once, by cache and max_num_seqs; 0 is no limit
	BatchedTokens float64  // token budget of a step; 0 is no limit

	// Rounds is how many requests each client sends in a run that starts all clients
	// at once; 0 is a run that has no start.
	Rounds float64
}

// Prompt is one length of prompts and the share of the requests that have it.
type Prompt struct{ Weight, Tokens, Cached float64 }

// Loop is the steady state of a closed load: times in seconds, Rate in requests
// per second, Batch in sequences that decode. TTFT is what the client sees: it
// counts the wait for a slot and for the token budget, and the time outside of the
// engine.
type Loop struct {
	TPOT, TTFT, Rate, Batch float64

	First  float64   // TTFT of those that run
	Decode Step      // a step without prefill
	Work   float64   // by how much a prompt prolongs its steps, in sum; mean over the prompts
	Works  []float64 // the same for each of Prompts
}

// ClosedLoop is the steady state of c clients without think time. Clients are
// taken to be out of step with each other.
//
// At most Slots requests run, the rest waits. Of n that run, B decode and the
// others are at their first token. With x requests that begin and end per step,
// and w what the chunks of a prompt add to steps that decode,
//
//	D of x·(output − 1) decodes, at most n
//	λ = x / (D + x·w)           requests per second
//	T = D + (1 − 1/n)·x·w       a step of a decode: the prompts of the others come in it
//	F = D·own steps + w′ + o    the first token: 1 + (1 − 1/n)·x prompts share its steps,
//	                            and o is the time outside of the engine
//	n = λ·((output − 1)·T + F)  Little's law; B is its first part
//
// All of them follow from x, and n grows with it, so that bracketing finds x. A
// step has at most BatchedTokens of decodes and prompts together, so that x is at
// most BatchedTokens / (uncached tokens + output − 1): clients beyond that wait for
// the budget as they do for a slot.
func ClosedLoop(f Facts, a *profiles.Accelerator, c Constants, l ClosedLoad) Loop {
	running := l.Concurrency
	if l.Slots > 0 {
		running = min(running, max(1, l.Slots))
	}
	// A pipeline works on one batch per stage at a time.
	batches := min(float64(max(1, f.Pipeline)), max(1, running))
	e := loop{f: &f, a: a, c: &c, n: running / batches, later: max(0, l.Output-1), context: l.Context, budget: math.Inf(1)}
	if e.context == 0 {
		e.context = l.Input + float64(l.Output/2)
	}
	if l.BatchedTokens > 0 {
		e.budget = l.BatchedTokens
	}
	var alike [1]promptWork
	e.prompts = alike[:]
	if l.Prompts == nil {
		alike[0] = newPromptWork(&f, Prompt{1, l.Input, l.Cached})
	} else {
		e.prompts = make([]promptWork, len(l.Prompts))
		for i, p := range l.Prompts {
			e.prompts[i] = newPromptWork(&f, p)
		}
	}
	e.solve()
	out := Loop{TPOT: e.step, Rate: e.rate * batches, Batch: e.batch * batches, First: e.first, Decode: e.decode, Work: e.work}
	// What is not in decode waits for its first token, by Little's law.
	out.TTFT = max(e.first, l.Concurrency/out.Rate-float64(e.later*e.step))
	if l.Prompts != nil {
		out.Works = make([]float64, len(e.prompts))
		for i := range e.prompts {
			out.Works[i] = e.prompts[i].seconds
		}
	}
	if l.Rounds > 0 {
		// The first to run find the others' prompts instead of a place that one left.
		first := running / (l.Rounds * l.Concurrency)
		out.TTFT = float64(first*e.burst(l)) + float64((1-first)*out.TTFT)
	}
	return out
}

// burst is the mean time to first token when all prompts of a batch come at
// once: they fill k steps of the token budget, of which one sees half on average.
func (e *loop) burst(l ClosedLoad) float64 {
	var w work
	w.addPrefill(e.f, Prefill{Tokens: max(1, l.Input-l.Cached), Context: l.Cached, Final: true})
	steps := math.Ceil(max(1, e.n*w.tokens/e.budget))
	prompts := e.n / steps
	together := work{
		tokens: prompts * w.tokens, sampled: prompts, cache: prompts * w.cache,
		attention: prompts * w.attention, index: prompts * w.index, prefill: true,
	}
	return float64((steps+1)/2*stepTime(e.f, e.a, e.c, together).Seconds) + e.c.RequestS
}

// promptWork is one length of prompts: what is computed of it, and in how much
// time.
type promptWork struct {
	weight, fresh, cached float64 // tokens
	attention, index      float64 // operations of the whole prompt
	seconds               float64 // that its chunks add to their steps
}

func newPromptWork(f *Facts, p Prompt) promptWork {
	w := promptWork{weight: p.Weight, fresh: max(1, p.Tokens-p.Cached), cached: p.Cached}
	var whole work
	whole.addPrefill(f, Prefill{Tokens: w.fresh, Context: w.cached})
	w.attention, w.index = whole.attention, whole.index
	return w
}

// loop is the state of one pipeline batch.
type loop struct {
	f       *Facts
	a       *profiles.Accelerator
	c       *Constants
	prompts []promptWork
	n       float64 // requests that run
	later   float64 // tokens after the first
	context float64
	budget  float64

	rate, batch, step, first, work float64
	decode                         Step
}

// at computes the times at x requests per step, and returns how many then run.
func (l *loop) at(x float64) float64 {
	decodes := max(1, min(x*l.later, l.n))
	var w work
	w.addDecode(l.f, Decode{decodes, l.context})
	l.decode = stepTime(l.f, l.a, l.c, w)
	room := max(1, l.budget-decodes)
	others := l.others() * x
	chunks := 0.0
	for i := range l.prompts {
		chunks += float64(l.prompts[i].weight * max(1, l.prompts[i].fresh/room))
	}
	l.work, l.first = 0, l.c.RequestS
	for i := range l.prompts {
		p := &l.prompts[i]
		tokens := min(p.fresh, room)
		own := p.fresh / tokens
		most := room / tokens // copies of the chunk in a step
		// Where several prompts come per step, each has a part in what they add.
		copies := max(1, min(x*chunks, most))
		each := l.prolong(p, w, tokens, copies) / copies
		p.seconds = own * each
		l.work += float64(p.weight * p.seconds)
		if together := 1 + float64(others*chunks); most > 1 {
			copies = min(together, most)
			each = l.prolong(p, w, tokens, copies) / copies
			l.first += float64(p.weight * each * together)
		} else {
			l.first += float64(p.weight * each * (own + float64(others*own)))
		}
		l.first += float64(p.weight * l.decode.Seconds * OwnSteps(p.fresh, room))
	}
	l.step = l.decode.Seconds + float64(others*l.work)
	l.rate = x / (l.decode.Seconds + float64(x*l.work))
	l.batch = float64(l.rate * l.later * l.step)
	return l.batch + float64(l.rate*l.first)
}

// others is the share of the prompts that are not a request's own.
func (l *loop) others() float64 { return max(0, 1-1/l.n) }

// OwnSteps is how many steps the uncached part of a prompt takes beside decodes
// that leave room for so many tokens. A billionth more is rounding.
func OwnSteps(fresh, room float64) float64 { return max(1, math.Ceil(fresh/room-1e-9)) }

// prolong is what copies of a chunk of a prompt add to a step of decodes.
func (l *loop) prolong(p *promptWork, decodes work, tokens, copies float64) float64 {
	chunks := p.fresh / tokens
	var chunk work
	chunk.addCache(l.f, Prefill{Tokens: tokens, Context: p.cached + float64((p.fresh-tokens)/2)})
	mixed := work{
		tokens: decodes.tokens + float64(copies*tokens), sampled: decodes.sampled + copies/chunks, cache: decodes.cache + float64(copies*chunk.cache),
		attention: decodes.attention + copies*p.attention/chunks, index: decodes.index + copies*p.index/chunks, prefill: true,
	}
	return stepTime(l.f, l.a, l.c, mixed).Seconds - l.decode.Seconds
}

// solve finds the x at which n requests run, or at which the token budget is
// spent, by Chandrupatla's method (Advances in Engineering Software 28, 1997):
// bisection, and inverse quadratic interpolation where it is safe.
func (l *loop) solve() {
	fresh := 0.0
	for i := range l.prompts {
		fresh += float64(l.prompts[i].weight * l.prompts[i].fresh)
	}
	// A first token takes a step at least, and each other one the others' part of it.
	high := min(l.n/(float64(l.later*l.others())+1), l.budget/(fresh+l.later))
	a, atA := high, l.at(high)-l.n
	if atA <= 0 {
		return
	}
	b, atB := 0.0, -l.n
	t := atA / (atA - atB)
	for range 100 {
		x := a + float64(t*(b-a))
		c, atC := a, atA
		atX := l.at(x) - l.n
		if (atX > 0) != (atA > 0) {
			c, atC = b, atB
			b, atB = a, atA
		}
		a, atA = x, atX
		width := 1e-10 * high / math.Abs(b-a)
		if math.Abs(atA) < 1e-10*l.n {
			return
		}
		if width > 0.5 {
			break
		}
		t = 0.5
		if xi, phi := (a-b)/(c-b), (atA-atB)/(atC-atB); phi*phi < xi && (1-phi)*(1-phi) < 1-xi {
			t = atA/(atB-atA)*atC/(atB-atC) + (c-a)/(b-a)*atA/(atC-atA)*atB/(atC-atB)
		}
		t = min(1-width, max(width, t))
	}
	// At a jump, where a longer prompt takes one more step, the rest waits.
	if atA > 0 {
		l.at(b)
	}
}
