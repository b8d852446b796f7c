package model

import "math"

// The method of Exp is the classic one of Cephes' expf: x = n·ln 2 + r with ln 2
// in two parts, a polynomial of degree 5 in r, and n into the exponent.
const (
	expLowest  = -87.33  // below, the result is no normal number
	expHighest = 88.72   // above, it is infinite
	rounder    = 3 << 22 // 1.5·2²³: adding it rounds to an integer
	log2e      = 1.44269504088896341
	ln2Hi      = 0.693359375
	ln2Lo      = -2.12194440e-4
	coeff5     = 1.9875691500e-4
	coeff4     = 1.3981999507e-3
	coeff3     = 8.3334519073e-3
	coeff2     = 4.1665795894e-2
	coeff1     = 1.6666665459e-1
	coeff0     = 5.0000001201e-1
)

// Exp returns e^x in float32 within 2 units in the last place, the same to the
// bit on every machine (math.Exp is assembly on some and differs). Results below
// the smallest normal number are 0, as far as softmax and SiLU care; x above
// 88.72 gives +Inf.
func Exp(x float32) float32 {
	switch {
	case x > expHighest:
		return float32(math.Inf(1))
	case x < expLowest:
		return 0
	case x != x:
		return x
	}
	n := float32(float32(x*log2e)+rounder) - rounder
	r := float32(x-float32(n*ln2Hi)) - float32(n*ln2Lo)
	p := float32(float32(coeff5*r) + coeff4)
	p = float32(p*r) + coeff3
	p = float32(p*r) + coeff2
	p = float32(p*r) + coeff1
	p = float32(p*r) + coeff0
	p = float32(p*float32(r*r)) + r + 1
	// n reaches 128 where the result still fits; split the scaling in two.
	half := int32(n) / 2
	return float32(p*power(half)) * power(int32(n)-half)
}

// power returns 2ⁿ for −126 ≤ n ≤ 127.
func power(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// ExpAll sets dst[i] to Exp((x[i]−top)·scale), for softmax: no x[i] may be above
// top or NaN, and scale is positive. dst may be x.
func ExpAll(dst, x []float32, top, scale float32) {
	dst = dst[:len(x)]
	i := 0
	if n := len(x) &^ 7; hasVector && n > 0 {
		expVector(&dst[0], &x[0], n, top, scale, &expTable)
		i = n
	}
	for ; i < len(x); i++ {
		dst[i] = Exp(float32((x[i] - top) * scale))
	}
}
