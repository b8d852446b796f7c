package stats

import (
	"iter"
	"math"
	"slices"
)

// MaxRaw is the number of different values that a Sample keeps; beyond it a
// Histogram takes over. Equal ones are found once there are twice as many (160 MB).
const MaxRaw = 10_000_000

// Sample collects the values of one metric. Up to its limit it keeps them all,
// and everything computed from them is exact and independent of the order in
// which they came, and of whether equal ones came one by one or together; above
// it a Histogram takes over, and Approximate says so.
// The zero Sample is empty and keeps MaxRaw values.
type Sample struct {
	// Limit is the number of different values kept; 0 means MaxRaw. Whether there
	// are more does not depend on how they came. Up to twice as many are held for a
	// while before equal ones become one.
	Limit int
	n     int
	kept  int
	// Values come into blocks, which are never copied while they grow; those that
	// were added several at a time come into counted.
	blocks  [][]float64
	counted []weighted
	// What sort has put in order: upTo[i] is the number of values up to sorted[i],
	// itself included. Without upTo each counts once.
	sorted []float64
	upTo   []int
	spill  *Histogram
}

// weighted is a value that was seen n times.
type weighted struct {
	value float64
	n     int
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
	if s.spill == nil && s.kept >= 2*s.limit() {
		s.bound()
	}
	s.n += n
	switch {
	case s.spill != nil:
		s.spill.AddN(v, n)
		return
	case n == 1:
		s.push(v)
	default:
		s.counted = append(s.counted, weighted{v, n})
	}
	s.kept++
}

func (s *Sample) limit() int {
	if s.Limit == 0 {
		return MaxRaw
	}
	return s.Limit
}

// bound makes equal values one when there are more than the limit, and moves them
// into a histogram when that many differ.
func (s *Sample) bound() {
	if s.spill != nil || s.kept <= s.limit() {
		return
	}
	s.sort()
	different := 0
	for range s.runs() {
		different++
	}
	switch {
	case different > s.limit():
		s.spillOver()
	case s.upTo == nil:
		s.merge(s.sorted)
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

// spillOver moves the values into a histogram.
func (s *Sample) spillOver() {
	h := new(Histogram)
	for v, n := range s.runs() {
		h.AddN(v, n)
	}
	s.spill = h
	s.blocks, s.counted, s.sorted, s.upTo = nil, nil, nil, nil
}

// sort puts all values in order.
func (s *Sample) sort() {
	if len(s.blocks) == 0 && len(s.counted) == 0 {
		return
	}
	var single []float64
	if s.upTo == nil {
		single = s.sorted
	} else {
		for i, v := range s.sorted {
			before := 0
			if i > 0 {
				before = s.upTo[i-1]
			}
			s.counted = append(s.counted, weighted{v, s.upTo[i] - before})
		}
	}
	if len(s.blocks) > 0 {
		n := len(single)
		for _, block := range s.blocks {
			n += len(block)
		}
		all := append(make([]float64, 0, n), single...)
		for i, block := range s.blocks {
			all = append(all, block...)
			s.blocks[i] = nil
		}
		slices.Sort(all)
		single, s.blocks = all, nil
	}
	s.sorted, s.upTo = single, nil
	if len(s.counted) > 0 {
		s.merge(single)
	}
}

// merge puts the values that were added one by one, which are in order, and those
// that were added together into one order, equal ones as one.
func (s *Sample) merge(single []float64) {
	slices.SortFunc(s.counted, func(a, b weighted) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	room := max(len(s.counted), min(len(single), s.limit()))
	s.sorted, s.upTo = make([]float64, 0, room), make([]int, 0, room)
	total := 0
	take := func(v float64, n int) {
		total += n
		if last := len(s.sorted) - 1; last >= 0 && s.sorted[last] == v {
			s.upTo[last] = total
			return
		}
		s.sorted, s.upTo = append(s.sorted, v), append(s.upTo, total)
	}
	for _, c := range s.counted {
		for len(single) > 0 && single[0] < c.value {
			take(single[0], 1)
			single = single[1:]
		}
		take(c.value, c.n)
	}
	for _, v := range single {
		take(v, 1)
	}
	s.counted, s.kept = nil, len(s.sorted)
}

// runs yields each value and how often it was seen, in ascending order. The sample
// must not have spilled over.
func (s *Sample) runs() iter.Seq2[float64, int] {
	s.sort()
	return func(yield func(float64, int) bool) {
		for i := 0; i < len(s.sorted); {
			v, n := s.sorted[i], 0
			if s.upTo != nil {
				n = s.upTo[i]
				if i > 0 {
					n -= s.upTo[i-1]
				}
				i++
			} else {
				from := i
				for i < len(s.sorted) && s.sorted[i] == v {
					i++
				}
				n = i - from
			}
			if !yield(v, n) {
				return
			}
		}
	}
}

// N is the number of values.
func (s *Sample) N() int { return s.n }

// Approximate reports whether a histogram has taken over.
func (s *Sample) Approximate() bool {
	s.bound()
	return s.spill != nil
}

// Percentile is the type 7 percentile; NaN without values.
func (s *Sample) Percentile(p float64) float64 {
	s.bound()
	if s.spill != nil {
		return s.spill.Percentile(p)
	}
	s.sort()
	return interpolate(s.n, p, s.order)
}

// order is the i-th smallest value, from 0, of those that are in order.
func (s *Sample) order(i int) float64 {
	if s.upTo == nil {
		return s.sorted[i]
	}
	at, _ := slices.BinarySearch(s.upTo, i+1)
	return s.sorted[at]
}

// Mean is the arithmetic mean; NaN without values.
func (s *Sample) Mean() float64 { return s.moments().mean() }

func (s *Sample) moments() moments {
	s.bound()
	if s.spill != nil {
		return s.spill.moments
	}
	s.sort() // so that the sums do not depend on the order of arrival
	var m moments
	if s.n > 0 {
		m.shift = s.order(s.n / 2)
	}
	for v, n := range s.runs() {
		m.add(v, n)
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

// add rounds every product, so that no compiler joins it with the sum: the result
// is the same on every machine.
func (m *moments) add(v float64, n int) {
	weight, distance := float64(n), v-m.shift
	m.n += weight
	off := float64(weight * distance)
	m.sum += off
	m.squares += float64(off * distance)
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
	return math.Sqrt(max(m.squares-float64(m.sum*m.sum)/m.n, 0) / (m.n - 1))
}
