package sizing

import "math"

// limits is the objective that a rate must meet; a zero bound does not apply.
type limits struct {
	ttft, tpot, e2e float64
	quantile        float64
}

// What bounds a replica by its capacity.
const (
	boundByCache     = "KV cache"
	boundBySequences = "max_num_seqs"
)

// stops names the first thing that a state violates, "" when it is fine.
func (l limits) stops(r replica, s state) string {
	switch {
	case !s.stable && s.batch <= r.capacity/float64(r.facts.Pipeline):
		return "prefill throughput"
	case !s.stable || s.full:
		if r.kvBound {
			return boundByCache
		}
		return boundBySequences
	case l.tpot > 0 && s.decoding(r).tpotBelow(r.mix.later, l.tpot) < l.quantile:
		return "TPOT objective"
	case l.ttft > 0 && s.ttftBelow(l.ttft) < l.quantile:
		return "TTFT objective"
	case l.e2e > 0 && s.latency(r).below(l.e2e) < l.quantile:
		return "E2E objective"
	}
	return ""
}

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
// the rate, so that bisection does, below the rate at which nothing but prefill
// would be done and that at which a full batch of the shortest steps would be.
func (l limits) search(r replica, precision float64) (rate float64, bound string) {
	idle := r.at(idleRate)
	if bound := l.stops(r, idle); bound != "" {
		return 0, bound
	}
	high := r.capacity / (idle.batch / idle.rate)
	if idle.workMean > 0 {
		high = min(high, float64(r.facts.Pipeline)/idle.workMean)
	}
	if bound = l.stops(r, r.at(high)); bound == "" {
		return high, "nothing"
	}
	low := max(idleRate, high/2)
	for low > idleRate {
		stop := l.stops(r, r.at(low))
		if stop == "" {
			break
		}
		high, bound, low = low, stop, max(idleRate, low/4)
	}
	for high-low > precision*high {
		middle := math.Sqrt(low * high)
		if stop := l.stops(r, r.at(middle)); stop == "" {
			low = middle
		} else {
			high, bound = middle, stop
		}
	}
	return low, bound
}
