package vector

// Kernels that add to Width outputs of as many rows as their names say.
//
//go:noescape
func accumulate1(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int)

//go:noescape
func accumulate2(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int)

//go:noescape
func accumulate3(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int)

//go:noescape
func accumulate4(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int)

// Kernels for n elements, a positive multiple of 8.
//
//go:noescape
func addVector(dst, x *float32, n int)

//go:noescape
func scaleVector(dst, x *float32, n int, factor float32)

//go:noescape
func weighVector(dst, x, weight *float32, n int, factor float32)

//go:noescape
func largestVector(x *float32, n int) float32

//go:noescape
func rotateVector(low, high, cos, sin *float32, n int)
