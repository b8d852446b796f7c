//go:build !amd64

package cpu

// hasVector is false where there are no vector kernels.
const hasVector = false

func accumulateVector(dst, a, b *float32, n, stride int) {
	panic("cpu: no vector kernel")
}

func accumulateVector4(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int) {
	panic("cpu: no vector kernel")
}
