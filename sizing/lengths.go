package sizing

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/llmctl/llmctl/profiles"
)

// lengths is a distribution of token counts, cut to 1 and limit.
type lengths struct {
	profiles.Distribution
	limit     float64
	mu, sigma float64 // of a lognormal's logarithm
}

func newLengths(d profiles.Distribution, limit int) lengths {
	l := lengths{Distribution: d, limit: float64(limit)}
	if d.Kind == profiles.Lognormal {
		l.mu, l.sigma = d.LogParameters()
	}
	return l
}

// slice is the part of a distribution between two probabilities.
type slice struct{ low, high float64 }

func (s slice) weight() float64 { return s.high - s.low }
func (s slice) middle() float64 { return (s.low + s.high) / 2 }

// cuts divides a distribution so that its upper tail is seen: body equal slices
// up to the 90th percentile, then perDecade for each tenfold of rarity down to
// one in 100,000, and the rest.
func cuts(body, perDecade int) []slice {
	var cut []slice
	low := 0.0
	next := func(high float64) {
		cut = append(cut, slice{low, high})
		low = high
	}
	for i := 1; i <= body; i++ {
		next(0.9 * float64(i) / float64(body))
	}
	for i := 1; i <= 4*perDecade; i++ {
		next(1 - math.Pow(10, -1-float64(i)/float64(perDecade)))
	}
	next(1)
	return cut
}

// weighted is a value and its probability.
type weighted struct{ weight, value float64 }

// pointSlices are the parts that points stand for.
func pointSlices() []slice { return cuts(45, 8) }

// points stands for the distribution: one value per slice, all scaled so that
// their mean is the distribution's, within 1 and limit.
func (l lengths) points() []weighted {
	var points []weighted
	sum := 0.0
	for _, s := range pointSlices() {
		p := weighted{s.weight(), max(1, l.quantile(s.middle()))}
		points = append(points, p)
		sum += p.weight * p.value
	}
	scale := max(1, l.mean()) / sum
	for i := range points {
		points[i].value = max(1, min(l.limit, points[i].value*scale))
	}
	return points
}

// condense puts each few neighbours together.
func condense(points []weighted, few int) []weighted {
	var merged []weighted
	for i := 0; i < len(points); i += few {
		p := weighted{}
		for _, q := range points[i:min(i+few, len(points))] {
			p.value = (p.weight*p.value + q.weight*q.value) / (p.weight + q.weight)
			p.weight += q.weight
		}
		merged = append(merged, p)
	}
	return merged
}

// below is the share of requests of at most n tokens.
func (l lengths) below(n float64) float64 {
	switch {
	case n < 1:
		return 0
	case n >= l.limit:
		return 1
	}
	switch l.Kind {
	case profiles.Uniform:
		if l.Max > l.Min {
			return min(1, max(0, (n-l.Min)/(l.Max-l.Min)))
		}
		return atMost(l.Min, n)
	case profiles.Normal:
		if l.StdDev > 0 {
			return normal((n - l.Mean) / l.StdDev)
		}
	case profiles.Lognormal:
		if l.sigma > 0 {
			return normal((math.Log(n) - l.mu) / l.sigma)
		}
	case profiles.Zipf, profiles.Geometric, profiles.Empirical:
		return l.Below(n)
	}
	return atMost(l.Mean, n)
}

// atMost is the distribution of a constant; a billionth more is rounding.
func atMost(constant, n float64) float64 {
	if n >= constant*(1-1e-9) {
		return 1
	}
	return 0
}

// normal is the standard normal distribution.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// mean of the distribution before it is cut at 1.
func (l lengths) mean() float64 {
	return l.Average()
}

// quantile of the distribution before it is cut at limit.
func (l lengths) quantile(p float64) float64 {
	switch l.Kind {
	case profiles.Uniform:
		return l.Min + p*(l.Max-l.Min)
	case profiles.Normal:
		return max(1, l.Mean+l.StdDev*mathext.NormalQuantile(p))
	case profiles.Lognormal:
		return math.Exp(l.mu + l.sigma*mathext.NormalQuantile(p))
	}
	return l.Quantile(p)
}

// constant is the one length that all requests have, if they have.
func (l lengths) constant() (n float64, ok bool) {
	switch {
	case l.Kind == profiles.Uniform && l.Max > l.Min, l.Kind == profiles.Normal && l.StdDev > 0, l.Kind == profiles.Lognormal && l.sigma > 0,
		(l.Kind == profiles.Zipf || l.Kind == profiles.Geometric || l.Kind == profiles.Empirical) && l.Quantile(0) < l.Quantile(1):
		return 0, false
	}
	return max(1, min(l.limit, l.quantile(0.5))), true
}
