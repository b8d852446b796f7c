package portable

import "math"

// sineCoefficients are those of the Taylor series of sin(πx)/x in x², from
// that of x^24 to that of x^0. The first one left out adds less than 2^-60 for
// x up to ½.
var sineCoefficients = func() (c [13]float64) {
	term := math.Pi
	for n := range c {
		c[len(c)-1-n] = term
		term = -float64(term*(math.Pi*math.Pi)) / float64((2*n+2)*(2*n+3))
	}
	return c
}()

// SinPi returns sin(π·x). Taking the period out of the argument is exact, which
// it would not be in radians.
func SinPi(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.NaN()
	}
	if math.Abs(x) > 1 {
		x = math.Remainder(x, 2) // in [−1, 1]
	}
	switch {
	case x > 0.5:
		x = 1 - x
	case x < -0.5:
		x = -1 - x
	}
	return float64(x * polynomial(float64(x*x), sineCoefficients[:]))
}
