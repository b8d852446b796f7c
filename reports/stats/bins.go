package stats

import "github.com/llmctl/llmctl/internal/portable"

// Bins is a coarse histogram for the eye: equal steps from Min to Max, in the
// logarithm of the value when Log is set.
type Bins struct {
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Log    bool    `json:"log"`
	Counts []int   `json:"counts"`
}

// Bins sorts the sample into count bins. Latencies spread over decades, so the
// steps are logarithmic when all values are positive. It is nil when there are
// no values or count is not positive.
func (s *Sample) Bins(count int) *Bins {
	if s.N() == 0 || count <= 0 {
		return nil
	}
	b := &Bins{Min: s.Percentile(0), Max: s.Percentile(100), Counts: make([]int, count)}
	b.Log = b.Min > 0
	if s.spill != nil {
		for middle, n := range s.spill.buckets() {
			b.Counts[b.index(middle)] += int(n)
		}
		return b
	}
	for v, n := range s.runs() {
		b.Counts[b.index(v)] += n
	}
	return b
}

// index is the bin of v, which lies in [Min, Max] up to the width of a bucket.
func (b *Bins) index(v float64) int {
	low, high, at := b.Min, b.Max, v
	if b.Log {
		low, high, at = portable.Log(low), portable.Log(high), portable.Log(at)
	}
	if high <= low {
		return 0
	}
	i := int((at - low) / (high - low) * float64(len(b.Counts)))
	return min(max(i, 0), len(b.Counts)-1)
}
