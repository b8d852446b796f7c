package vector

import "math"

// vectors is how many of n elements a kernel takes.
func vectors(n int) int {
	if current >= AVX2 {
		return n &^ 7
	}
	return 0
}

// Add adds x to dst.
func Add(dst, x []float32) {
	x = x[:len(dst)]
	n := vectors(len(dst))
	if n > 0 {
		addVector(&dst[0], &x[0], n)
	}
	for i := n; i < len(dst); i++ {
		dst[i] += x[i]
	}
}

// Scale writes x·factor to dst, which may be x.
func Scale(dst, x []float32, factor float32) {
	dst = dst[:len(x)]
	n := vectors(len(x))
	if n > 0 {
		scaleVector(&dst[0], &x[0], n, factor)
	}
	for i := n; i < len(x); i++ {
		dst[i] = x[i] * factor
	}
}

// Norm writes x/√(mean(x²)+ε)·weight to dst, which may be x: RMSNorm (Zhang and
// Sennrich 2019).
func Norm(dst, x, weight []float32, epsilon float32) {
	dst, weight = dst[:len(x)], weight[:len(x)]
	sum := float32(0)
	for _, v := range x {
		sum += float32(v * v)
	}
	factor := 1 / float32(math.Sqrt(float64(sum/float32(len(x))+epsilon)))
	n := vectors(len(x))
	if n > 0 {
		weighVector(&dst[0], &x[0], &weight[0], n, factor)
	}
	for i := n; i < len(x); i++ {
		dst[i] = float32(x[i]*factor) * weight[i]
	}
}

// Largest returns the largest element of x, −∞ if there is none.
func Largest(x []float32) float32 {
	top := float32(math.Inf(-1))
	n := vectors(len(x))
	if n > 0 {
		top = largestVector(&x[0], n)
	}
	for _, v := range x[n:] {
		if v > top {
			top = v
		}
	}
	return top
}

// Rotate turns the pairs (low[i], high[i]) by angles whose cosines and sines are given.
func Rotate(low, high, cos, sin []float32) {
	low, high, sin = low[:len(cos)], high[:len(cos)], sin[:len(cos)]
	n := vectors(len(cos))
	if n > 0 {
		rotateVector(&low[0], &high[0], &cos[0], &sin[0], n)
	}
	for i := n; i < len(cos); i++ {
		a, b, c, s := low[i], high[i], cos[i], sin[i]
		low[i] = float32(a*c) - float32(b*s)
		high[i] = float32(b*c) + float32(a*s)
	}
}
