package sizing

import "math"

// limits is the objective that a rate must meet; a zero bound does not apply.
type limits struct {
	ttft, tpot, e2e float64
	quantile        float64
}

// stops names the first thing that a state violates, "" when it is fine.
func (l limits) stops(r replica, s state) string {
	switch {
	case !s.stable && s.batch <= r.capacity/float64(r.facts.Pipeline):
		return "prefill throughput"
	case !s.stable || s.full:
		if r.kvBound {
			return "KV cache"
		}
		return "max_num_seqs"
	case l.tpot > 0 && s.tpotQuantile(r, l.quantile) > l.tpot:
		return "TPOT objective"
	case l.ttft > 0 && s.ttftQuantile(l.quantile) > l.ttft:
		return "TTFT objective"
	case l.e2e > 0 && s.latency(r).below(l.e2e) < l.quantile:
		return "E2E objective"
	}
	return ""
}

// idleRate is a load so small that requests do not meet.
const idleRate = 1e-6

// maxRate is the largest rate that meets the limits, and what stops a higher
// one. It is 0 when even a lone request violates them. All latencies grow with
// the rate, so that bisection finds it.
func (l limits) maxRate(r replica) (rate float64, bound string) {
	if bound := l.stops(r, r.at(idleRate)); bound != "" {
		return 0, bound
	}
	low, high := idleRate, 1.0
	for l.stops(r, r.at(high)) == "" {
		low, high = high, high*2
		if high > 1e9 {
			return low, "nothing"
		}
	}
	for high-low > 1e-4*high {
		middle := math.Sqrt(low * high)
		if l.stops(r, r.at(middle)) == "" {
			low = middle
		} else {
			high = middle
		}
	}
	return low, l.stops(r, r.at(high))
}
