package record

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// histogramJSON is a Histogram in a file. JSON has no infinity, so the last
// bound, which always is +Inf, is left out.
type histogramJSON struct {
	Bounds []float64 `json:"bounds"`
	Counts []float64 `json:"counts"`
	Sum    float64   `json:"sum"`
}

// MarshalJSON implements json.Marshaler.
func (h Histogram) MarshalJSON() ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	return json.Marshal(histogramJSON{h.Bounds[:len(h.Bounds)-1], h.Counts, h.Sum})
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var in histogramJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*h = Histogram{append(in.Bounds, math.Inf(1)), in.Counts, in.Sum}
	return h.check()
}

// check reports what can not be right in a histogram.
func (h *Histogram) check() error {
	switch {
	case len(h.Bounds) == 0 || len(h.Bounds) != len(h.Counts):
		return fmt.Errorf("a histogram has %d bounds and %d counts", len(h.Bounds), len(h.Counts))
	case !slices.IsSorted(h.Bounds) || !math.IsInf(h.Bounds[len(h.Bounds)-1], 1):
		return fmt.Errorf("the bounds of a histogram do not ascend to infinity: %v", h.Bounds)
	case !slices.IsSorted(h.Counts) || math.IsNaN(h.Sum) || math.IsInf(h.Sum, 0):
		return fmt.Errorf("the counts of a histogram do not ascend, or its sum %v is no number", h.Sum)
	}
	return nil
}

// Valid reports whether bounds ascend to +Inf, counts do not descend, and the
// sum is a number.
func (h *Histogram) Valid() bool { return h.check() == nil }

// Sub returns what h counted since an earlier state of it, whose bounds must be
// the same. ok is false when they are not, or when a count has fallen.
func (h *Histogram) Sub(earlier *Histogram) (grown *Histogram, ok bool) {
	if !slices.Equal(h.Bounds, earlier.Bounds) {
		return nil, false
	}
	grown = &Histogram{Bounds: h.Bounds, Counts: make([]float64, len(h.Counts)), Sum: h.Sum - earlier.Sum}
	for i := range h.Counts {
		grown.Counts[i] = h.Counts[i] - earlier.Counts[i]
	}
	return grown, grown.Counts[0] >= 0 && slices.IsSorted(grown.Counts)
}

// Add returns the two together; ok is false when their bounds differ.
func (h *Histogram) Add(other *Histogram) (both *Histogram, ok bool) {
	if !slices.Equal(h.Bounds, other.Bounds) {
		return nil, false
	}
	both = &Histogram{Bounds: h.Bounds, Counts: make([]float64, len(h.Counts)), Sum: h.Sum + other.Sum}
	for i := range h.Counts {
		both.Counts[i] = h.Counts[i] + other.Counts[i]
	}
	return both, true
}

// Quantile estimates the q-quantile as Prometheus' histogram_quantile does:
// values are taken to lie evenly in their bucket, which begins at the bound
// before it, or at 0. ok is false without values, and where the quantile lies
// beyond the last finite bound, of which nothing is known.
func (h *Histogram) Quantile(q float64) (v float64, ok bool) {
	total := h.Count()
	if total <= 0 {
		return 0, false
	}
	rank := float64(q * total)
	i, _ := slices.BinarySearch(h.Counts, rank)
	for i < len(h.Counts) && h.Counts[i] == 0 { // q = 0 begins at the first bucket that holds something
		i++
	}
	if i >= len(h.Counts)-1 {
		return 0, false
	}
	low, below := 0.0, 0.0
	if i > 0 {
		low, below = h.Bounds[i-1], h.Counts[i-1]
	}
	low = min(low, h.Bounds[i])
	return low + float64((h.Bounds[i]-low)*(rank-below)/(h.Counts[i]-below)), true
}
