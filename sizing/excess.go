package sizing

import "math"

// excess is a random amount above 0 of a known mean and variance, taken as a
// gamma distribution. Its quantiles follow from those of the normal distribution
// by the cube-root transformation (Wilson and Hilferty 1931): with shape k =
// mean²/variance, (x/mean)^⅓ is normal with mean 1 − 1/(9k) and variance 1/(9k).
type excess struct{ mean, variance float64 }

// below is the share of the distribution up to x.
func (e excess) below(x float64) float64 {
	switch {
	case x < 0:
		return 0
	case e.mean <= 0:
		return 1
	}
	v := e.variance / (9 * e.mean * e.mean)
	if v < 1e-12 {
		return atMost(e.mean, x)
	}
	return normal((math.Cbrt(x/e.mean) - 1 + v) / math.Sqrt(v))
}

// at is the quantile whose normal counterpart is z.
func (e excess) at(z float64) float64 {
	if e.mean <= 0 {
		return 0
	}
	v := e.variance / (9 * e.mean * e.mean)
	root := max(0, 1-v+z*math.Sqrt(v))
	return e.mean * root * root * root
}
