package stats

import (
	"iter"
	"math"
)

// Histogram counts values in buckets whose width is at most 1/1024 (0.098 %) of
// their lower edge, at any scale: each power of two is cut into 1,024 equal
// parts, which are the ten leading bits of a float64's fraction. It takes over
// where raw samples would no longer fit in memory. Count, minimum, maximum,
// mean and variance are exact. The zero Histogram is empty and ready for use.
type Histogram struct {
	octaves [4096]*[1024]uint64 // by order-preserving sign and exponent bits, then fraction
	n       uint64
	moments moments
	low     float64
	high    float64
}

// MaxRelativeError bounds how far a percentile of a Histogram is from the exact
// one, relative to the exact one: half the width of the widest bucket.
const MaxRelativeError = 1.0 / 2048

// Add counts v once.
func (h *Histogram) Add(v float64) { h.AddN(v, 1) }

// AddN counts v n times. v must not be NaN.
func (h *Histogram) AddN(v float64, n int) {
	if n <= 0 {
		return
	}
	key := orderedBits(v)
	octave := h.octaves[key>>52]
	if octave == nil {
		octave = new([1024]uint64)
		h.octaves[key>>52] = octave
	}
	octave[key>>42&1023] += uint64(n)
	if h.n == 0 {
		h.low, h.high = v, v
		h.moments.shift = v
	}
	h.low, h.high = min(h.low, v), max(h.high, v)
	h.n += uint64(n)
	h.moments.add(v, n)
}

// Percentile is the type 7 percentile, off by at most MaxRelativeError of the
// larger of the two order statistics around it; NaN when the histogram is empty.
func (h *Histogram) Percentile(p float64) float64 { return h.percentiles(p)[0] }

// percentiles walks the buckets once per percentile.
func (h *Histogram) percentiles(ps ...float64) []float64 {
	out := make([]float64, len(ps))
	for i, p := range ps {
		out[i] = interpolate(int(h.n), p, h.order)
	}
	return out
}

// order is the i-th smallest value, as the middle of its bucket.
func (h *Histogram) order(i int) float64 {
	switch {
	case i <= 0:
		return h.low
	case uint64(i) >= h.n-1:
		return h.high
	}
	var seen uint64
	for middle, count := range h.buckets() {
		if seen += count; uint64(i) < seen {
			return min(max(middle, h.low), h.high)
		}
	}
	return h.high
}

// buckets yields the middle and the count of each bucket that is not empty, in
// ascending order.
func (h *Histogram) buckets() iter.Seq2[float64, uint64] {
	return func(yield func(float64, uint64) bool) {
		for o, octave := range h.octaves {
			if octave == nil {
				continue
			}
			for c, count := range octave {
				if count == 0 {
					continue
				}
				key := uint64(o)<<52 | uint64(c)<<42
				lower := fromOrderedBits(key)
				upper := fromOrderedBits(key | (1<<42 - 1))
				if !yield(lower+float64((upper-lower)/2), count) {
					return
				}
			}
		}
	}
}

// orderedBits maps a float64 to an integer that sorts like it.
func orderedBits(v float64) uint64 {
	bits := math.Float64bits(v + 0) // −0 becomes 0
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func fromOrderedBits(key uint64) float64 {
	if key>>63 == 1 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}
