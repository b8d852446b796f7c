package sizing

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// decoding is the time from a request's first token to its last as a function of
// m, the number of tokens after the first. All times are in seconds.
//
// Each step lasts D and the work of the prompts that came during the step before.
// One second of work is thus followed by ρ seconds in the next step, ρ² in the
// one after, together (1 − ρ^i)/(1 − ρ) seconds over i steps. So the m steps take
// m·T on average, and the prompts that were waiting at the first token delay
// them by this share. Three things make requests differ: the prompts that arrive
// (a compound Poisson sum), those that waited, and the size of the batch that
// the request met, which other requests of its time share.
type decoding struct {
	floor  float64 // a step alone and without prompts, per step
	mean   float64 // T
	share  float64 // ρ
	fade   float64 // ln ρ
	delay  float64
	noise  float64 // variance per step, from arriving prompts
	waited float64 // variance from prompts that waited
	batch  float64 // variance of the step's length, from the batch
	memory float64 // steps over which a deviation of the batch lasts
}

func (s state) decoding(r replica) decoding {
	if s.closed { // bursts do not add up
		return decoding{floor: s.decode.Seconds, mean: s.step, fade: math.Inf(-1), noise: s.rate * s.workSquare * s.step, memory: 1}
	}
	idle := 1 - s.share
	noise := s.meets * s.workSquare / (idle * idle)
	backlog := s.prompts.backlog
	return decoding{
		floor: r.decodeStep(0).Seconds, mean: s.step, share: s.share, fade: math.Log(s.share), delay: s.delay,
		noise:  noise * s.step,
		waited: backlog.variance/(idle*idle) + noise*max(0, backlog.mean-s.share*s.step)/idle,
		batch:  s.slope * s.slope * s.running.variance,
		memory: r.mix.output / s.settle,
	}
}

// beyond is what m steps take beyond their floor.
func (d decoding) beyond(m float64) excess {
	left := 0.0
	if x := m * d.fade; x > -40 {
		left = math.Exp(x)
	}
	gone := 1 - left
	// The sum over i ≤ m of (1 − ρ^i)².
	steps := m - 2*d.share*gone/(1-d.share) + d.share*d.share*(1-left*left)/(1-d.share*d.share)
	// The variance of the mean over m steps of what is forgotten exponentially.
	x := max(1e-3, m/d.memory)
	lasting := 2 * (x - 1 + math.Exp(-x)) / (x * x)
	return excess{
		mean:     m*(d.mean-d.floor) + max(0, d.delay*gone),
		variance: steps*d.noise + gone*gone*d.waited + m*m*lasting*d.batch,
	}
}

// tpotBelow is the share of requests whose TPOT is at most t, over all lengths.
func (d decoding) tpotBelow(points []weighted, t float64) float64 {
	sum := 0.0
	for _, o := range points {
		sum += o.weight * d.beyond(o.value).below(o.value*(t-d.floor))
	}
	return sum
}

// tpotQuantile inverts the distribution.
func (s state) tpotQuantile(r replica, p float64) float64 {
	d := s.decoding(r)
	return invert(func(t float64) float64 { return d.tpotBelow(r.mix.later, t) }, p, s.step)
}

// latency is the distribution of end-to-end latency: the first token's time and
// the time of the others, which are taken as independent, added up per number of
// tokens.
type latency struct {
	decoding decoding
	floor    float64 // shortest own prefill, the steps before it, and the time outside of the engine
	first    excess  // time to first token beyond it
	outputs  lengths
}

func (s state) latency(r replica) latency {
	q := s.prompts
	l := latency{decoding: s.decoding(r), floor: q.own[0].value + q.outside, outputs: r.mix.outputs}
	l.first = excess{q.first.mean - l.floor, q.first.variance}
	return l
}

// lucks are normal deviations by slices of probability, each represented by its middle.
var lucks = func() []weighted {
	var w []weighted
	for _, c := range cuts(9, 2) {
		w = append(w, weighted{c.weight(), mathext.NormalQuantile(c.middle())})
	}
	return w
}()

// total is the time of a request with m tokens after the first, beyond its floor.
func (l latency) total(m float64) excess {
	e := l.first
	if m > 0 {
		d := l.decoding.beyond(m)
		e.mean, e.variance = e.mean+d.mean, e.variance+d.variance
	}
	return e
}

// below is the share of requests that take at most t.
func (l latency) below(t float64) float64 {
	if n, constant := l.outputs.constant(); constant {
		m := max(0, n-1)
		return l.total(m).below(t - l.floor - m*l.decoding.floor)
	}
	sum := 0.0
	for _, z := range lucks {
		sum += z.weight * l.outputs.below(1+l.tokens(t, z.value))
	}
	return sum
}

// tokens is the largest m whose time at z deviations is at most t, negative when
// that of the first token alone is longer. All but the deviation is nearly
// linear in m, so that a few of Newton's steps find it.
func (l latency) tokens(t, z float64) float64 {
	at := func(m float64) float64 { return l.floor + m*l.decoding.floor + l.total(m).at(z) }
	left := t - at(0)
	if left < 0 {
		return -1
	}
	m := left / l.decoding.mean
	for range 8 {
		step := (t - at(m)) / l.decoding.mean
		m = max(0, m+step)
		if math.Abs(step) < 1e-6*m {
			break
		}
	}
	return m
}

// quantile inverts the distribution.
func (l latency) quantile(p float64) float64 {
	return invert(l.below, p, l.floor+l.first.mean)
}
