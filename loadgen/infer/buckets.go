package infer

import (
	"math"
	"slices"

	"github.com/llmctl/llmctl/profiles"
)

// fit describes the lengths of a histogram: its mean is exact, the rest is what
// the buckets tell. It is lognormal when no bound is further off than
// maxDistance, else quantiles, interpolated within buckets.
func (h histogram) fit() (d profiles.Distribution, how string) {
	if len(h.bounds) == 0 {
		return profiles.Distribution{Kind: profiles.Fixed, Mean: round(h.mean())}, "the mean alone, since there are no buckets"
	}
	if i := slices.Index(h.upTo, h.count); i >= 0 && (i == 0 || h.upTo[i-1] == 0) {
		return profiles.Distribution{Kind: profiles.Fixed, Mean: round(h.mean())}, "the mean alone, since all are in one bucket"
	}
	sigma, distance := h.lognormal()
	mu := math.Log(h.mean()) - sigma*sigma/2
	allowed := max(maxDistance, ksCritical/math.Sqrt(h.count))
	if d, ok := lognormal(mu, sigma); ok && distance <= allowed {
		return d, "lognormal, " + off(distance)
	}
	return empirical(h.quantiles()), "quantiles from the buckets, since lognormal is " + off(distance)
}

// lognormal is the σ whose distribution of the same mean is nearest to the
// counts, and how far the furthest bound is off. The distance has one valley in
// practice; a grid finds it and thirds of the interval around it the rest.
func (h histogram) lognormal() (sigma, distance float64) {
	const step, widest = 0.05, 2.3
	distance = math.Inf(1)
	for s := step; s < widest; s += step {
		if d := h.distance(s); d < distance {
			sigma, distance = s, d
		}
	}
	low, high := max(0.01, sigma-step), sigma+step
	for range 40 {
		a, b := low+(high-low)/3, high-(high-low)/3
		if h.distance(a) < h.distance(b) {
			high = b
		} else {
			low = a
		}
	}
	return (low + high) / 2, h.distance((low + high) / 2)
}

func (h histogram) distance(sigma float64) (distance float64) {
	mu := math.Log(h.mean()) - sigma*sigma/2
	for i, bound := range h.bounds {
		distance = max(distance, math.Abs(h.upTo[i]/h.count-lognormalShare(math.Floor(bound)+0.5, mu, sigma)))
	}
	return distance
}

// quantiles are the middles of hundredths, which within a bucket lie evenly on a
// logarithmic scale; what is above the last bound goes up to twice of it. They
// are scaled to the mean.
func (h histogram) quantiles() []float64 {
	values := make([]float64, quantiles)
	total := 0.0
	for i := range values {
		values[i] = h.quantile((float64(i) + 0.5) / quantiles)
		total += values[i]
	}
	scale := h.mean() * quantiles / total
	for i := range values {
		values[i] = max(1, math.Round(values[i]*scale))
	}
	return values
}

func (h histogram) quantile(q float64) float64 {
	want := q * h.count
	lower, below := 1.0, 0.0
	for i, bound := range h.bounds {
		if h.upTo[i] >= want && h.upTo[i] > below {
			return between(lower, max(lower, bound), (want-below)/(h.upTo[i]-below))
		}
		lower, below = max(lower, bound), h.upTo[i]
	}
	return between(lower, 2*lower, (want-below)/max(1, h.count-below))
}

func between(low, high, part float64) float64 { return low * math.Pow(high/low, part) }
