package workload

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/portable"
	"github.com/llmctl/llmctl/profiles"
)

// lengths draws counts, of tokens or of turns, from one distribution.
type lengths struct {
	d         profiles.Distribution
	mu, sigma float64 // of the logarithm, lognormal only
	zipf      zipfian // zipf only
}

func newLengths(what string, d profiles.Distribution) (lengths, error) {
	l := lengths{d: d}
	if err := d.Validate(); err != nil {
		return l, fmt.Errorf("%s: %w", what, err)
	}
	switch d.Kind {
	case profiles.Lognormal:
		l.mu, l.sigma = d.LogParameters()
	case profiles.Zipf:
		l.zipf = newZipfian(math.Floor(d.Max-d.Min)+1, d.Exponent)
	}
	return l, nil
}

// draw returns a count, at least 1.
func (l *lengths) draw(r random) int {
	if l.d.Kind == profiles.Zipf {
		return int(l.d.Min + l.zipf.draw(&r) - 1)
	}
	return l.quantile(r.uniform())
}

// quantile is the count for u in (0, 1), for kinds that are drawn by inversion:
// evenly spread values of u give the distribution.
func (l *lengths) quantile(u float64) int {
	v := l.d.Mean
	switch l.d.Kind {
	case profiles.Uniform:
		v = math.Floor(l.d.Min + float64(u*(math.Floor(l.d.Max)-l.d.Min+1)))
	case profiles.Normal:
		v = l.d.Mean + float64(l.d.StdDev*portable.NormalQuantile(u))
	case profiles.Lognormal:
		v = portable.Exp(l.mu + float64(l.sigma*portable.NormalQuantile(u)))
	case profiles.Geometric:
		v = geometric(l.d.Mean, u)
	case profiles.Empirical:
		values := l.d.Samples.Values
		v = values[min(int(u*float64(len(values))), len(values)-1)]
	}
	return int(math.Round(max(v, 1)))
}

// geometric is the number of trials up to the first success, each of which has
// a chance of 1/mean; a larger u gives a smaller number.
func geometric(mean, u float64) float64 {
	if mean == 1 {
		return 1
	}
	return 1 + math.Floor(portable.Log(u)/portable.Log(1-1/mean))
}

// mean returns the mean of what draw returns and limit cuts. Where rounding and
// the lower bound of 1 leave no formula, it is that of many quantiles.
func (l *lengths) mean(limit int) float64 {
	sum := 0.0
	switch l.d.Kind {
	case profiles.Fixed:
		return math.Round(l.d.Mean)
	case profiles.Geometric:
		return l.d.Mean
	case profiles.Zipf:
		weights := 0.0
		for k := 1.0; k <= min(l.zipf.n, float64(limit)); k++ {
			weight := power(k, -l.d.Exponent)
			weights += weight
			sum += float64(weight * (l.d.Min + k - 1))
		}
		return sum / weights
	case profiles.Empirical:
		for _, v := range l.d.Samples.Values {
			sum += math.Round(v)
		}
		return sum / float64(len(l.d.Samples.Values))
	case profiles.Uniform:
		if l.d.Min == math.Trunc(l.d.Min) {
			return (l.d.Min + math.Floor(l.d.Max)) / 2
		}
	}
	const n = 1 << 16
	for i := range n {
		sum += float64(min(l.quantile((float64(i)+0.5)/n), limit))
	}
	return sum / n
}
