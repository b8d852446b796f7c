package sizing

import (
	"math"

	"gonum.org/v1/gonum/mathext"

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
	work      []float64 // prefill work per input point

	capacity float64 // sequences at once, by cache and by max_num_seqs
	kvBound  bool    // the cache is what limits capacity
	batched  float64 // token budget of a step
}

// state is the engine at one rate, all times in seconds.
//
// Decode: with B sequences a step without prefill takes D(B). Prefill work w
// per request is spread over the steps, so that the mean step takes
// T = D(B) + λ·w·T, and by Little's law B = λ·output·T. The smallest solution is
// found by iteration from B = 0.
//
// First token: prompts queue for the token budget. A prompt of u uncached
// tokens occupies the engine for w(u) and its share u/(budget − B) of a step,
// which gives a queue M/G/1 with utilization ρ and mean wait
// λ·E[S²] / (2·(1 − ρ)) (Pollaczek–Khinchine); the wait's tail is taken as
// exponential with weight ρ. To it add the rest of the running step, D/2, and
// the prompt's own steps.
type state struct {
	rate   float64 // per pipeline batch
	batch  float64
	decode cost.Step
	step   float64 // T, the mean TPOT
	stable bool
	full   bool // the batch does not fit with its fluctuation

	own      []weighted // time to first token without queueing, per input point
	service  float64    // E[S], the time that a prompt takes up
	square   float64    // E[S²]
	busy     float64    // ρ
	waitMean float64    // of those that wait
	workMean float64    // w
	workVar  float64    // E[w²]
}

// spread is how many standard deviations above the mean the batch must fit:
// the 99th percentile of a normal distribution.
var spread = mathext.NormalQuantile(0.99)

// at computes the state at a rate of requests per second.
func (r replica) at(rate float64) state {
	pipeline := float64(r.facts.Pipeline)
	s := state{rate: rate / pipeline}
	capacity := r.capacity / pipeline
	for i, w := range r.work {
		share := r.mix.inputs[i].weight
		s.workMean += share * w
		s.workVar += share * w * w
	}
	if s.rate*s.workMean >= 1 {
		return s
	}
	s.solveBatch(r, capacity)
	if s.batch > capacity {
		return s
	}
	s.full = s.batch+spread*math.Sqrt(s.batch) > capacity
	s.queuePrompts(r)
	s.stable = s.busy < 1
	return s
}

// newReplica computes what the uncached part of each prompt adds to steps.
func newReplica(r replica) replica {
	r.work = make([]float64, len(r.mix.inputs))
	for i, p := range r.mix.inputs {
		r.work[i] = cost.Marginal(r.facts, r.device, r.constants, cost.Prefill{Tokens: p.tokens - p.cached, Context: p.cached, Final: true})
	}
	return r
}

// solveBatch iterates B = λ·output·D(B)/(1 − λ·w). D grows with B, so that the
// iteration grows towards the smallest solution, or past the capacity.
func (s *state) solveBatch(r replica, capacity float64) {
	for range 10_000 {
		s.decode = r.decodeStep(s.batch)
		s.step = s.decode.Seconds / (1 - s.rate*s.workMean)
		next := s.rate * r.mix.output * s.step
		done := next-s.batch < 1e-9*max(1, next)
		s.batch = next
		if done || next > capacity {
			return
		}
	}
}

// decodeStep is a step of n sequences, of at least one: a lone sequence has a
// step to itself.
func (r replica) decodeStep(n float64) cost.Step {
	return cost.StepTime(r.facts, r.device, r.constants, cost.Batch{Decode: []cost.Decode{{Sequences: max(1, n), Context: r.mix.context()}}})
}

// budget is how many tokens of prompts a step takes beside its decodes.
func (r replica) budget(s state) float64 { return max(1, r.batched-s.batch) }

// queuePrompts fills in the queue for prefill.
func (s *state) queuePrompts(r replica) {
	budget := r.budget(*s)
	s.own = make([]weighted, len(r.mix.inputs))
	for i, p := range r.mix.inputs {
		w, tokens := r.work[i], p.tokens-p.cached
		occupied := w + s.decode.Seconds*tokens/budget
		s.service += p.weight * occupied
		s.square += p.weight * occupied * occupied
		s.own[i] = weighted{p.weight, s.decode.Seconds/2 + w + s.decode.Seconds*math.Ceil(tokens/budget)}
	}
	s.busy = s.rate * s.service
	if s.busy < 1 {
		s.waitMean = s.square / (2 * s.service * (1 - s.busy))
	}
}

// ownMean is the mean time to first token without queueing.
func (s state) ownMean() float64 {
	sum := 0.0
	for _, own := range s.own {
		sum += own.weight * own.value
	}
	return sum
}

// ttft returns the mean time to first token.
func (s state) ttft() float64 {
	return s.ownMean() + s.busy*s.waitMean
}

// ttftQuantile inverts the distribution: the mixture over prompt lengths of
// their own time plus an exponential wait with weight ρ.
func (s state) ttftQuantile(p float64) float64 {
	below := func(t float64) float64 {
		sum := 0.0
		for _, own := range s.own {
			if t >= own.value {
				sum += own.weight * (1 - s.busy*math.Exp(-(t-own.value)/max(s.waitMean, 1e-12)))
			}
		}
		return sum
	}
	return invert(below, p, s.own[len(s.own)-1].value)
}

// invert finds where a distribution reaches p, from a first guess.
func invert(below func(float64) float64, p, guess float64) float64 {
	low, high := 0.0, guess
	for below(high) < p && high < 1e6 {
		low, high = high, high*2
	}
	for high-low > 1e-8*high {
		middle := (low + high) / 2
		if below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
