package profiles

import (
	"math"
	"sort"
)

// Average is the mean of the distribution: of a normal one before it is cut at
// 1, of the others exactly. It is 0 for the zero Distribution.
func (d Distribution) Average() float64 {
	switch d.Kind {
	case Uniform:
		return (d.Min + d.Max) / 2
	case Zipf:
		n := d.Max - d.Min + 1
		// The k-th value is Min + k − 1.
		return d.Min - 1 + zipfSum(d.Exponent-1, n)/zipfSum(d.Exponent, n)
	case Empirical:
		if d.Samples == nil || len(d.Samples.Values) == 0 {
			return 0
		}
		return d.Samples.mean()
	}
	return d.Mean
}

// Quantile is the smallest value that a share p of a zipf, geometric or empirical
// distribution does not exceed, 0 ≤ p ≤ 1. The geometric one has no largest value:
// p is cut to one in 10⁹ less than 1. Other kinds, which are continuous, have the
// formulas of who draws from them; here it is their mean.
func (d Distribution) Quantile(p float64) float64 {
	p = min(1, max(0, p))
	switch d.Kind {
	case Zipf:
		n := d.Max - d.Min + 1
		goal := p * zipfSum(d.Exponent, n)
		// Searching over halves finds any of a billion values in 30 steps.
		k := sort.Search(int(n)-1, func(k int) bool { return zipfSum(d.Exponent, float64(k+1)) >= goal })
		return d.Min + float64(k)
	case Geometric:
		if d.Mean <= 1 {
			return 1
		}
		// P(X ≤ k) = 1 − (1 − 1/mean)^k.
		return max(1, math.Ceil(math.Log1p(-min(p, 1-1e-9))/math.Log1p(-1/d.Mean)))
	case Empirical:
		return d.Samples.quantile(p)
	}
	return d.Mean
}

// Below is the share of values of at most v of a zipf, geometric or empirical
// distribution.
func (d Distribution) Below(v float64) float64 {
	switch d.Kind {
	case Zipf:
		if v < d.Min {
			return 0
		}
		n := d.Max - d.Min + 1
		return zipfSum(d.Exponent, min(n, math.Floor(v)-d.Min+1)) / zipfSum(d.Exponent, n)
	case Geometric:
		if v < 1 {
			return 0
		}
		if d.Mean <= 1 {
			return 1
		}
		return -math.Expm1(math.Floor(v) * math.Log1p(-1/d.Mean))
	case Empirical:
		values := d.Samples.Values
		return float64(sort.Search(len(values), func(i int) bool { return values[i] > v })) / float64(len(values))
	}
	if v >= d.Mean {
		return 1
	}
	return 0
}

// zipfExact is how many terms of a sum are added one by one. The formula for the
// others is then good to 13 digits.
const zipfExact = 64

// zipfSum is the sum of k^−s for k = 1 to n, a whole number: by the formula of
// Euler and Maclaurin beyond the first terms (Abramowitz and Stegun 1964, 23.1.30).
func zipfSum(s, n float64) float64 {
	sum := 0.0
	for k := 1.0; k <= min(n, zipfExact); k++ {
		sum += math.Pow(k, -s)
	}
	if n <= zipfExact {
		return sum
	}
	a := float64(zipfExact)
	integral := math.Log(n / a)
	if s != 1 {
		integral = (math.Pow(n, 1-s) - math.Pow(a, 1-s)) / (1 - s)
	}
	f := func(x float64) float64 { return math.Pow(x, -s) }
	slope := func(x float64) float64 { return -s * math.Pow(x, -s-1) }
	third := func(x float64) float64 { return -s * (s + 1) * (s + 2) * math.Pow(x, -s-3) }
	return sum + integral + (f(n)-f(a))/2 + (slope(n)-slope(a))/12 - (third(n)-third(a))/720
}
