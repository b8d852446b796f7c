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
	Limit int
	n     int
	// Values come into blocks, which are never copied while they grow; sort
	// moves them into one slice.
	blocks [][]float64
	raw    []float64 // sorted; valid when blocks is empty
	spill  *Histogram
}

// blockSize is the number of values in a full block (128 KiB).
const blockSize = 1 << 14

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
	if s.spill == nil && s.n+n > limit {
		s.spillOver()
	}
	s.n += n
	if s.spill != nil {
		s.spill.AddN(v, n)
		return
	}
	for range n {
		s.push(v)
	}
}

// push appends one value to the last block.
func (s *Sample) push(v float64) {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last]) == blockSize {
		var block []float64
		if last >= 0 {
			block = make([]float64, 0, blockSize)
		}
		s.blocks = append(s.blocks, block)
		last++
	}
	s.blocks[last] = append(s.blocks[last], v)
}

// spillOver moves the raw values into a histogram.
func (s *Sample) spillOver() {
	s.spill = new(Histogram)
	for _, block := range append(s.blocks, s.raw) {
		for _, v := range block {
			s.spill.Add(v)
		}
	}
	s.blocks, s.raw = nil, nil
}

// sort makes raw hold all values, in order.
func (s *Sample) sort() {
	if len(s.blocks) == 0 {
		return
	}
	all := append(make([]float64, 0, s.n), s.raw...)
	for i, block := range s.blocks {
		all = append(all, block...)
		s.blocks[i] = nil
	}
	slices.Sort(all)
	s.raw, s.blocks = all, nil
}

// N is the number of values.
func (s *Sample) N() int { return s.n }

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
	s.sort() // so that the sums do not depend on the order of arrival
	var m moments
	if n := len(s.raw); n > 0 {
		m.shift = s.raw[n/2]
	}
	for _, v := range s.raw {
		m.add(v, 1)
	}
	return m
}

// moments accumulates mean and variance in one pass. Sums are of distances from
// one of them, which keeps the digits that sums of the values themselves
// would lose (shifted data; Chan, Golub and LeVeque, "Algorithms for computing
// the sample variance", The American Statistician 37(3), 1983), and need no
// division per value.
type moments struct {
	n       float64
	shift   float64
	sum     float64 // of v − shift
	squares float64 // of (v − shift)²
}

func (m *moments) add(v float64, n int) {
	weight, distance := float64(n), v-m.shift
	m.n += weight
	m.sum += weight * distance
	m.squares += weight * distance * distance
}

func (m moments) mean() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.shift + m.sum/m.n
}

// stddev is the sample standard deviation (divisor n−1): the requests of a run
// are a sample of what the target would do, not all of it. NaN below two values.
func (m moments) stddev() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return math.Sqrt(max(m.squares-m.sum*m.sum/m.n, 0) / (m.n - 1))
}
