package model

import "math"

// Exp returns e^x in float32 within 2 units in the last place, the same to the
// bit on every machine (math.Exp is assembly on some and differs). Results below
// the smallest normal number are 0, as far as softmax and SiLU care; x above
// 88.7 gives +Inf.
//
// The method is the classic one of Cephes' expf: x = n·ln 2 + r with ln 2 in two
// parts, a polynomial of degree 5 in r, and n into the exponent.
func Exp(x float32) float32 {
	switch {
	case x > 88.72:
		return float32(math.Inf(1))
	case x < -87.33:
		return 0
	case x != x:
		return x
	}
	const (
		shift  = 3 << 22 // 1.5·2²³: adding it rounds to an integer
		log2e  = 1.44269504088896341
		ln2Hi  = 0.693359375
		ln2Lo  = -2.12194440e-4
		coeff5 = 1.9875691500e-4
		coeff4 = 1.3981999507e-3
		coeff3 = 8.3334519073e-3
		coeff2 = 4.1665795894e-2
		coeff1 = 1.6666665459e-1
		coeff0 = 5.0000001201e-1
	)
	n := float32(float32(x*log2e)+shift) - shift
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
