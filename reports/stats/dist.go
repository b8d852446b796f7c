package stats

import (
	"fmt"
	"math"
	"slices"
)

// Dist is the summary of one metric as reports show and store it. Values are in
// the unit of the samples; by convention of the JSON schema that is seconds.
type Dist struct {
	N      int      `json:"n"`
	Mean   float64  `json:"mean"`
	StdDev *float64 `json:"stddev,omitempty"` // of the sample, divisor n−1; absent below two values
	Min    float64  `json:"min"`
	P50    float64  `json:"p50"`
	P90    float64  `json:"p90"`
	P95    float64  `json:"p95"`
	P99    float64  `json:"p99"`
	Max    float64  `json:"max"`
	// Thin names the percentiles that have fewer than five samples beyond them.
	Thin []string `json:"thin,omitempty"`
	// Approximate is set when percentiles come from a Histogram.
	Approximate bool `json:"approximate,omitempty"`
}

// Dist summarizes the sample, each value rounded to a multiple of 1/perUnit (1e9
// for seconds measured in nanoseconds; 0 rounds nothing), which drops the digits
// that floating point invents. It is nil when there are no values: nothing
// measured is absent, not zero.
func (s *Sample) Dist(perUnit float64) *Dist {
	n := s.N()
	if n == 0 {
		return nil
	}
	round := func(v float64) float64 {
		if perUnit == 0 {
			return v
		}
		return math.Round(v*perUnit) / perUnit
	}
	m := s.moments()
	d := &Dist{
		N:           n,
		Mean:        round(m.mean()),
		Min:         round(s.Percentile(0)),
		P50:         round(s.Percentile(50)),
		P90:         round(s.Percentile(90)),
		P95:         round(s.Percentile(95)),
		P99:         round(s.Percentile(99)),
		Max:         round(s.Percentile(100)),
		Approximate: s.Approximate(),
	}
	if sd := m.stddev(); !math.IsNaN(sd) {
		sd = round(sd)
		d.StdDev = &sd
	}
	for _, p := range []float64{50, 90, 95, 99} {
		if Thin(n, p) {
			d.Thin = append(d.Thin, fmt.Sprintf("p%g", p))
		}
	}
	return d
}

// IsThin reports whether the named percentile ("p99") is marked as thin.
func (d *Dist) IsThin(name string) bool {
	return slices.Contains(d.Thin, name)
}
