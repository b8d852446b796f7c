package sizing

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// limits is the objective that a rate must meet; a zero bound does not apply.
type limits struct {
	ttft, tpot, e2e float64
	quantile        float64
	each            []limits // of several objectives, each with its own quantile; the fields above are the strictest
}

// mostCertain is the largest quantile: a share of all requests can not be promised
// for a random queue.
const mostCertain = 0.9999

// ownLimits is one objective.
func ownLimits(o profiles.SLO) limits {
	return limits{
		ttft: stricter(o.TTFT.Seconds(), o.TTFO), tpot: o.TPOT.Seconds(), e2e: o.E2E.Seconds(),
		quantile: min(o.Target(), mostCertain),
	}
}

// objectives are the limits one by one.
func (l limits) objectives() []limits {
	if len(l.each) > 0 {
		return l.each
	}
	return []limits{l}
}

// What bounds a replica by its capacity.
const (
	boundByCache     = "KV cache"
	boundBySequences = "max_num_seqs"
)

// fullestCache is the largest load of the places that a cache gives. An engine admits
// a prompt when there are blocks for it, and not for its output: near 1, where
// others always wait, sequences that grow find no block and are preempted, which
// nothing here forecasts. In events the p99 of TPOT is then half as long again as
// without (docs/latency.md).
const fullestCache = 0.9

// stops names the first thing that a state violates, "" when it is fine.
func (l limits) stops(r replica, s state) string {
	switch {
	case !s.stable && s.rate*r.receive > busiestTransfer:
		return "transfer of caches"
	case s.full, r.kvBound && s.prompts.slots.load > fullestCache:
		return r.places()
	case !s.stable:
		return "prefill throughput"
	}
	for _, o := range l.objectives() {
		switch {
		case o.tpot > 0 && s.decoding(r).tpotBelow(r.mix.later, o.tpot) < o.quantile:
			return "TPOT objective"
		case o.ttft > 0 && s.ttftBelow(o.ttft) < o.quantile:
			return s.slowest(r, "TTFT objective", func(s state) bool { return s.ttftBelow(o.ttft) >= o.quantile })
		case o.e2e > 0 && s.latency(r).below(o.e2e) < o.quantile:
			return s.slowest(r, "E2E objective", func(s state) bool { return s.latency(r).below(o.e2e) >= o.quantile })
		}
	}
	return ""
}

// slowest is what breaks an objective: places, if it would hold without the wait
// for one.
func (s state) slowest(r replica, objective string, holds func(state) bool) string {
	q := s.prompts.slots
	if q.waits == 0 {
		return objective
	}
	s.prompts.first, s.prompts.slots = q.without, slotQueue{}
	if holds(s) {
		return r.places()
	}
	return objective
}

// places names what limits the sequences at once.
func (r replica) places() string {
	if r.kvBound {
		return boundByCache
	}
	return boundBySequences
}

// mostRate is beyond what any replica serves, in requests per second.
const mostRate = 1e9

// idleRate is a load so small that requests do not meet.
const idleRate = 1e-6

// maxRate is the largest rate that meets the limits, and what stops a higher
// one. It is 0 when even a lone request violates them.
func (l limits) maxRate(r replica) (rate float64, bound string) { return l.search(r, 1e-4) }

// quickRate is maxRate within 3%, at a fraction of its price: a search among
// many configurations needs no more.
func (r replica) quickRate(l limits) (rate float64, bound string) {
	r.mix.later = condense(r.mix.later, 6)
	return l.search(r, 0.02)
}

// search finds the largest rate to a relative precision. All latencies grow with
// the rate, so that bisection does, from the rate at which nothing but prefill
// would be done or that at which a full batch of the shortest steps would be.
func (l limits) search(r replica, precision float64) (rate float64, bound string) {
	idle := r.at(idleRate)
	if bound := l.stops(r, idle); bound != "" {
		return 0, bound
	}
	high := r.capacity / (idle.batch / idle.rate)
	if idle.workMean > 0 {
		high = min(high, float64(r.facts.Pipeline)/idle.workMean)
	}
	high = min(high, mostRate)
	for {
		if bound = l.stops(r, r.at(high)); bound != "" {
			break
		}
		if high *= 2; high > mostRate {
			return high / 2, "nothing"
		}
	}
	low := max(idleRate, high/2)
	batch := idle.batch
	for low > idleRate {
		s := r.above(low, batch)
		stop := l.stops(r, s)
		if stop == "" {
			batch = s.batch
			break
		}
		high, bound, low = low, stop, max(idleRate, low/4)
	}
	for high-low > precision*high {
		middle := math.Sqrt(low * high)
		s := r.above(middle, batch)
		if stop := l.stops(r, s); stop == "" {
			low, batch = middle, s.batch
		} else {
			high, bound = middle, stop
		}
	}
	return low, bound
}
