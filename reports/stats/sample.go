package stats

import (
	"math"
	"slices"
)

// MaxRaw is the number of raw samples that a Sample keeps (80 MB); beyond it a
// Histogram takes over.
const MaxRaw = 10_000_000

// Sample collects the values of one metric. Up to its limit it keeps them all,
// and everything computed from them is exact and independent of the order in
// which they came; above it a Histogram takes over, and Approximate says so.
// The zero Sample is empty and keeps MaxRaw values.
type Sample struct {
	// Limit is the number of raw values kept; 0 means MaxRaw.
	Limit  int
	raw    []float64
	sorted bool
	spill  *Histogram
}

// Add adds v, which must not be NaN.
func (s *Sample) Add(v float64) { s.AddN(v, 1) }

// AddN adds v n times.
func (s *Sample) AddN(v float64, n int) {
	if n <= 0 {
		return
	}
	limit := s.Limit
	if limit == 0 {
		limit = MaxRaw
	}
	if s.spill == nil && len(s.raw)+n > limit {
		s.spillOver()
	}
	if s.spill != nil {
		s.spill.AddN(v, n)
		return
	}
	for range n {
		s.raw = append(s.raw, v)
	}
	s.sorted = false
}

// spillOver moves the raw values into a histogram, in ascending order so that
// the result depends as little as possible on the order of arrival.
func (s *Sample) spillOver() {
	s.sort()
	s.spill = new(Histogram)
	for _, v := range s.raw {
		s.spill.Add(v)
	}
	s.raw = nil
}

func (s *Sample) sort() {
	if !s.sorted {
		slices.Sort(s.raw)
		s.sorted = true
	}
}

// N is the number of values.
func (s *Sample) N() int {
	if s.spill != nil {
		return s.spill.N()
	}
	return len(s.raw)
}

// Approximate reports whether a histogram has taken over.
func (s *Sample) Approximate() bool { return s.spill != nil }

// Percentile is the type 7 percentile; NaN without values.
func (s *Sample) Percentile(p float64) float64 {
	if s.spill != nil {
		return s.spill.Percentile(p)
	}
	s.sort()
	return Percentile(s.raw, p)
}

// Mean is the arithmetic mean; NaN without values.
func (s *Sample) Mean() float64 { return s.moments().mean() }

func (s *Sample) moments() moments {
	if s.spill != nil {
		return s.spill.moments
	}
	s.sort()
	var m moments
	for _, v := range s.raw {
		m.add(v, 1)
	}
	return m
}

// moments accumulates mean and variance in one pass (Welford, "Note on a method
// for calculating corrected sums of squares and products", Technometrics 4(3),
// 1962, with the weighted step of West, CACM 22(9), 1979), which keeps its
// digits where a sum of squares would lose them.
type moments struct {
	n       float64
	average float64
	squares float64 // sum of squared distances from the mean
}

func (m *moments) add(v float64, n int) {
	weight := float64(n)
	m.n += weight
	delta := v - m.average
	m.average += delta * weight / m.n
	m.squares += weight * delta * (v - m.average)
}

func (m moments) mean() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.average
}

// stddev is the sample standard deviation (divisor n−1): the requests of a run
// are a sample of what the target would do, not all of it. NaN below two values.
func (m moments) stddev() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return math.Sqrt(max(m.squares, 0) / (m.n - 1))
}
