package sizing

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// replica is one engine under a stationary stream of requests. A pipeline of p
// stages works on p batches at once: each is modeled as an engine of its own
// with a p-th of the load and of the capacity, whose steps take the way through
// all stages.
type replica struct {
	facts     cost.Facts
	device    *profiles.Accelerator
	constants cost.Constants
	mix       mix
	prompts   []prompt // one per input point

	capacity float64 // sequences at once, by cache and by max_num_seqs
	kvBound  bool    // the cache is what limits capacity
	batched  float64 // token budget of a step

	saturated *float64 // rate per pipeline batch with all places taken, once it is known

	transfer []float64    // of a replica that only prefills: seconds to send the cache, per input point
	front    *promptQueue // of a replica that only decodes: the way to the first token
	receive  float64      // of a replica that only decodes: mean seconds to receive a cache
}

// state is the engine at one rate, all times in seconds.
//
// A step lasts D(B + 1) for its decodes, which is what a sequence beside B
// others sees, and the prefill work of the prompts that it carries. With ρ, the
// share of all time that is prefill work, the mean step is T = D/(1 − ρ). The
// batch is what Little's law gives for the time between a request's first token
// and its last; that grows with the batch, so that the smallest solution is
// found by iteration from 0.
//
// promptQueue says how long a first token takes, decoding how long the others.
type state struct {
	rate  float64 // per pipeline batch
	meets float64 // rate of the prompts that a request meets: those of all other places
	batch float64 // B, sequences in decode, on average
	share float64 // ρ

	decode cost.Step
	step   float64 // T
	stable bool
	full   bool // requests come faster than all places serve them
	closed bool // a fixed number of clients

	prompts promptQueue
	delay   float64 // by which the prompts that a request leaves behind hold its tokens up, if it has many
	running excess  // sequences that hold blocks
	held    excess  // places that they hold: not all take the same
	slope   float64 // of T over B
	settle  float64 // share of a deviation of the batch that each output length takes away

	work                 []float64 // prefill work per input point
	workMean, workSquare float64   // E[w], E[w²]
	settled              float64   // E[1 − ρ^m], m the tokens after the first
}

// leastSettle bounds the variance of the batch at 20 times that of independent
// sequences, where a batch would take 20 outputs' time to forget a deviation and a
// stationary variance says nothing of a run. It is out of the way of loads that
// meet an objective: in the comparison with events (queue_test.go) a deviation
// loses at least 0.25 of itself per output.
const leastSettle = 0.05

// prompt is the part of prompts that is computed, in tokens, and what it brings
// into a step.
type prompt struct {
	weight, tokens float64
	chunk          cost.Chunk
}

// newReplica computes what the uncached part of each prompt brings into steps.
func newReplica(r replica) replica {
	r.saturated = new(float64)
	r.prompts = make([]prompt, len(r.mix.inputs))
	for i, p := range r.mix.inputs {
		tokens := p.tokens - p.cached
		r.prompts[i] = prompt{p.weight, tokens, cost.NewChunk(r.facts, r.device, r.constants, cost.Prefill{Tokens: tokens, Context: p.cached, Final: true})}
	}
	return r
}

// at computes the state at a rate of requests per second.
func (r replica) at(rate float64) state { return r.above(rate, 0) }

// above is at, when the batch is known to be at least as large.
func (r replica) above(rate, batch float64) state {
	pipeline := float64(r.facts.Pipeline)
	s := state{rate: rate / pipeline}
	s.meets = s.rate * r.others()
	if s.rate*r.receive > busiestTransfer {
		return s
	}
	if !s.solveBatch(r, batch) {
		return s
	}
	s.stable = true
	s.fluctuate(r)
	s.queueSlots(r)
	return s
}

// others is the share of the arriving prompts that can be at work beside a request:
// with few places, its own keeps one of them from being taken. A replica that only
// prefills has a prompt's place free when the prompt is done.
func (r replica) others() float64 {
	if r.transfer != nil {
		return 1
	}
	return max(0, 1-float64(r.facts.Pipeline)/r.capacity)
}

// addPrompts computes the work of the prompts beside the decodes of a step.
func (s *state) addPrompts(r replica) {
	s.workMean, s.workSquare = 0, 0
	if r.front != nil {
		return
	}
	if s.work == nil {
		s.work = make([]float64, len(r.prompts))
	}
	budget := r.budget(*s)
	for i := range r.prompts {
		p := &r.prompts[i]
		w := p.chunk.Beside(&s.decode, max(1, p.tokens/budget))
		s.work[i] = w
		s.workMean += p.weight * w
		s.workSquare += p.weight * w * w
	}
}

// solveBatch finds the smallest batch that Little's law gives back, and reports
// whether there is one within the capacity. Iteration from a smaller one grows
// towards it. The secant through the last two batches goes there faster, and not
// past it where waiting makes the batch grow ever faster; where it goes past it, as
// with experts that few more tokens touch, it may miss the solution: then shorter
// leaps look again.
func (s *state) solveBatch(r replica, batch float64) bool {
	return s.iterate(r, batch, math.Inf(1)) || s.iterate(r, batch, 4)
}

// iterate is one attempt, in leaps of at most so many times the growth.
func (s *state) iterate(r replica, batch, leap float64) bool {
	capacity := r.capacity / float64(r.facts.Pipeline)
	// growth is what Little's law gives beyond a batch.
	growth := func(batch float64) float64 {
		switch {
		case !s.load(r, batch):
			return math.Inf(1)
		case r.transfer != nil:
			return 0
		}
		return max(0, s.rate*((r.mix.output-1)*s.step+s.delay*s.settled)) - batch
	}
	last, lastGrowth := batch, growth(batch)
	now := batch + lastGrowth
	for range 1000 {
		if math.Abs(lastGrowth) < 1e-8*max(1, last) {
			return true
		}
		if now > capacity {
			s.batch, s.full = now, true
			return false
		}
		g := growth(now)
		if math.IsInf(g, 1) {
			return false
		}
		next := now + g
		if g < lastGrowth {
			secant := now + g*(now-last)/(lastGrowth-g)
			if g > 0 {
				secant = min(secant, now+leap*g)
			}
			if secant < capacity && (g < 0 || secant > now) {
				next = secant
			}
		}
		last, lastGrowth, now = now, g, next
	}
	return true
}

// load computes the times beside a batch; false when prompts queue up for ever.
func (s *state) load(r replica, batch float64) bool {
	s.batch = batch
	s.decode = r.decodeStep(batch)
	s.addPrompts(r)
	if s.share = s.meets * s.workMean; s.share >= 1 {
		return false
	}
	if s.settled == 0 && r.mix.output > 1 { // one token alone has none after it to be late
		s.settled, _ = r.mix.settled(s.share)
	}
	s.step = s.decode.Seconds / (1 - s.share)
	if r.front != nil {
		s.prompts = *r.front
		return true
	}
	if !s.queuePrompts(r) {
		return false
	}
	s.delay = (s.prompts.backlog.mean - s.share*s.step) / (1 - s.share)
	return true
}

// decodeStep is a step of a sequence beside n others.
func (r replica) decodeStep(n float64) cost.Step {
	if r.transfer != nil {
		return r.emptyStep()
	}
	n = min(n, max(0, r.capacity/float64(r.facts.Pipeline)-1))
	return cost.StepTime(r.facts, r.device, r.constants, cost.Batch{Decode: []cost.Decode{{Sequences: 1 + n, Context: r.mix.context()}}})
}

// fluctuate computes how the number of sequences in the engine varies. At a
// constant length of steps it is Poisson. Longer steps hold more sequences, which
// make longer steps: of a deviation an output's length takes away only
// 1 − B·T′/T, so that the variance is the mean over this (the birth and death
// process of processor sharing, which does not depend on the distribution of
// outputs). And each prompt is a burst: one that works for w keeps h·w sequences
// from ending meanwhile, with h = B/(D·output), beside the one that it becomes.
func (s *state) fluctuate(r replica) {
	d := s.decode.Seconds
	width := 1 + 0.01*s.batch
	s.slope = (r.decodeStep(s.batch+width).Seconds - d) / width / (1 - s.share)
	s.settle = max(leastSettle, 1-s.slope*s.batch/s.step)
	held := s.batch / (d * r.mix.output)
	prefilling := s.rate * s.prompts.ownMean
	s.running = excess{
		mean:     s.batch + prefilling,
		variance: s.batch/s.settle*(1+held*s.workMean+held*held*s.workSquare/2) + prefilling,
	}
}

// tpot is the mean over requests of the time per token after the first.
func (s state) tpot(r replica) float64 {
	_, perToken := r.mix.settled(s.share)
	return s.step + s.delay*perToken
}

// e2e is the mean end-to-end latency; the time after the first token follows
// from the batch by Little's law.
func (s state) e2e() float64 { return s.ttft() + s.batch/s.rate }
