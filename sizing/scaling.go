package sizing

import "math"

// Scaling is what the metrics of a replica read, on average, at the load at
// which the planned fleet is just right: an autoscaler that holds them there
// keeps the planned fleet at the planned load, and one in proportion at others.
type Scaling struct {
	RPS     float64 `json:"rps"`      // of a replica: at most the target utilization of its largest rate
	Running float64 `json:"running"`  // requests in the engine, prompts included
	Waiting float64 `json:"waiting"`  // requests that wait for a place
	KVUsage float64 `json:"kv_usage"` // share of the pool's blocks that running requests hold

	// StartInTime is how many requests can wait at a replica and still be
	// answered in time: the largest rate × what the TTFT objective leaves beyond
	// a lone request's; 0 without a TTFT objective.
	StartInTime float64 `json:"start_in_time,omitempty"`
	LoneTTFT    float64 `json:"lone_ttft_s"` // of a lone request, at the attainment
}

// scaling reads a replica at its largest planned rate, or at less where that would
// keep fewer replicas than are planned.
func (s *situation) scaling(r replica, l load, lay layout, m Memory, maxRate float64) *Scaling {
	in := s.inputs
	rate := s.restingRate(r, l)
	st := r.at(rate)
	if !st.stable {
		st = l.operating // clients that wait for answers hold what arrivals would let grow without an end
	}
	q := Scaling{
		RPS:      rate,
		Running:  inEngine(r, st),
		Waiting:  rate * max(0, st.prompts.first.mean-st.prompts.ownMean),
		LoneTTFT: r.at(idleRate).ttftQuantile(s.limits.quantile),
	}
	q.KVUsage = kvUsage(q.Running/float64(in.DataParallel), float64(m.KVCacheBlocks), lay, r.mix)
	if s.limits.ttft > 0 {
		q.StartInTime = maxRate * max(0, s.limits.ttft-q.LoneTTFT)
	}
	return &q
}

// restingRate is the rate of a replica at which metrics are read. With n planned
// replicas that each have R requests in the engine, a threshold T keeps
// ⌈n·R ÷ T⌉ of them. At the target utilization T may be far above R, because the
// batch grows faster than the rate; up to R·n ÷ (n − ½), n replicas stay. Of
// accelerators that are given the rate is that of the load that was asked for.
func (s *situation) restingRate(r replica, l load) float64 {
	n := float64(l.replicas)
	high := l.perReplica * float64(l.needed) / n
	low := min(high, l.rate)
	if s.inputs.Count > 0 {
		return low
	}
	most := inEngine(r, r.at(low)) * n / (n - 0.5)
	if n < 2 || low == high || inEngine(r, r.at(high)) <= most {
		return high
	}
	for high-low > 1e-3*high {
		if middle := (low + high) / 2; inEngine(r, r.at(middle)) <= most {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// inEngine is how many requests are in a replica, those whose prompt is being
// worked on included.
func inEngine(r replica, st state) float64 {
	return (st.batch + st.rate*st.prompts.ownMean) * float64(r.facts.Pipeline)
}

// kvUsage is the share of blocks that n running sequences hold: their own, and
// each shared prefix that at least one of them has, which of g prefixes drawn n
// times are g·(1 − (1 − 1/g)ⁿ). Blocks that are cached and held by nobody count
// as free.
func kvUsage(n, blocks float64, l layout, x mix) float64 {
	held := n * l.average(x.context())
	if x.common > 0 {
		groups := max(1, float64(x.groups))
		held -= n * l.shared(x.common, x.context())
		held += groups * (1 - math.Pow(1-1/groups, n)) * l.prefix(x.common)
	}
	return min(1, held/blocks)
}
