package workload

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// lengths draws token counts from one distribution.
type lengths struct {
	d         profiles.Distribution
	mu, sigma float64 // of the logarithm, lognormal only
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

func newLengths(what string, d profiles.Distribution) (lengths, error) {
	l := lengths{d: d}
	switch d.Kind {
	case profiles.Fixed:
		if d.Mean < 1 {
			return l, fmt.Errorf("%s of %g tokens, expected at least 1", what, d.Mean)
		}
	case profiles.Uniform:
		if d.Min < 1 || d.Max < d.Min {
			return l, fmt.Errorf("%s uniform from %g to %g tokens, expected 1 ≤ min ≤ max", what, d.Min, d.Max)
		}
	case profiles.Normal:
		if d.Mean < 1 || d.StdDev < 0 {
			return l, fmt.Errorf("%s normal with mean %g and standard deviation %g, expected a mean of at least 1 token", what, d.Mean, d.StdDev)
		}
	case profiles.Lognormal:
		mu, sigma, err := lognormal(d.Mean, d.P99)
		if err != nil {
			return l, fmt.Errorf("%s: %w", what, err)
		}
		l.mu, l.sigma = mu, sigma
	default:
		return l, fmt.Errorf("%s has the unknown distribution %q, expected fixed, uniform, normal or lognormal", what, d.Kind)
	}
	if d.Max > 0 && d.Max < max(d.Min, 1) {
		return l, fmt.Errorf("%s between %g and %g tokens, expected 1 ≤ min ≤ max", what, d.Min, d.Max)
	}
	return l, nil
}

// lognormal finds mu and sigma of a lognormal distribution from what people
// know of their traffic, its mean and its 99th percentile:
//
//	mean = exp(mu + sigma²/2)      p99 = exp(mu + z99·sigma)
//	ln(p99/mean) = z99·sigma − sigma²/2
//
// which has solutions up to p99/mean = exp(z99²/2) ≈ 14.97. Of the two sigmas
// the smaller is taken; the larger one describes a distribution nearly all of
// which lies below the first token.
func lognormal(mean, p99 float64) (mu, sigma float64, err error) {
	if !(mean >= 1) || !(p99 >= mean) || math.IsInf(p99, 0) {
		return 0, 0, fmt.Errorf("lognormal with mean %g and p99 %g, expected 1 ≤ mean ≤ p99", mean, p99)
	}
	d := z99*z99 - 2*math.Log(p99/mean)
	if d < 0 {
		return 0, 0, fmt.Errorf("lognormal with mean %g and p99 %g does not exist: p99 can be at most %.1f times the mean", mean, p99, math.Exp(z99*z99/2))
	}
	sigma = z99 - math.Sqrt(d)
	return math.Log(mean) - sigma*sigma/2, sigma, nil
}

// draw returns a length, at least 1 and within Min and Max where they are set.
func (l *lengths) draw(r random) int {
	v := l.d.Mean
	switch l.d.Kind {
	case profiles.Uniform:
		v = math.Floor(l.d.Min + r.uniform()*(math.Floor(l.d.Max)-l.d.Min+1))
	case profiles.Normal:
		v = l.d.Mean + l.d.StdDev*r.normal()
	case profiles.Lognormal:
		v = math.Exp(l.mu + l.sigma*r.normal())
	}
	if l.d.Max > 0 {
		v = min(v, l.d.Max)
	}
	return int(math.Round(max(v, l.d.Min, 1)))
}
