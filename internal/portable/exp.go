package portable

import "math"

// ln2 in two parts, the first of which has 21 zeros at its end: its product
// with an exponent is exact.
const (
	ln2High = 0x1.62e42feep-1
	ln2Low  = math.Ln2 - ln2High
)

// artanh holds coefficients, from that of z^6 to that of z^0, for which
// s·z·artanh(z) with z = s² is 2·artanh(s) − 2s for |s| up to 0.1716, with a
// relative error below 2^-58: the constants Lg7 to Lg1 of e_log.c in FDLIBM
// (Sun Microsystems 1993, netlib.org/fdlibm).
var artanh = [...]float64{
	1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
	2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01,
}

// Log returns the natural logarithm of x: −Inf of 0, NaN below. With x = m·2^e
// and m between √½ and √2 it is e·ln 2 + 2·artanh((m−1)/(m+1)).
func Log(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log(x)
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	tail := float64(float64(s*z)*polynomial(z, artanh[:])) + float64(float64(e)*ln2Low)
	return float64(float64(e)*ln2High) + (2*s + tail)
}

// reciprocalFactorials are 1/14!, 1/13!, … 1/0!.
var reciprocalFactorials = func() (f [15]float64) {
	product := 1.0
	for n := range f {
		product *= max(1, float64(n))
		f[len(f)-1-n] = 1 / product
	}
	return f
}()

// Exp returns e^x. With x = k·ln 2 + r and |r| at most ½·ln 2 it is 2^k times
// the Taylor series of e^r.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	k := math.Round(x / math.Ln2)
	r := (x - float64(k*ln2High)) - float64(k*ln2Low)
	return math.Ldexp(polynomial(r, reciprocalFactorials[:]), int(k))
}

// polynomial evaluates c[0]·x^(n−1) + … + c[n−1] for n ≥ 2, every other term in
// one of two sums, whose steps a processor takes at the same time.
func polynomial(x float64, c []float64) float64 {
	square := float64(x * x)
	last := len(c) - 1
	odd, even := c[(last+1)%2], c[last%2]
	for i := 2 + (last+1)%2; i < last; i += 2 {
		odd = float64(odd*square) + c[i]
	}
	for i := 2 + last%2; i <= last; i += 2 {
		even = float64(even*square) + c[i]
	}
	return float64(odd*x) + even
}
