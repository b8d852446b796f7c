//go:build !amd64

package vector

func accumulate1(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int) {
	none()
}

func accumulate2(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int) {
	none()
}

func accumulate3(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int) {
	none()
}

func accumulate4(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int) {
	none()
}

func addVector(dst, x *float32, n int)                           { none() }
func scaleVector(dst, x *float32, n int, factor float32)         { none() }
func weighVector(dst, x, weight *float32, n int, factor float32) { none() }
func rotateVector(low, high, cos, sin *float32, n int)           { none() }
func largestVector(x *float32, n int) float32                    { none(); return 0 }

// none is never reached: the level is Plain.
func none() { panic("vector: no vector kernels on this machine") }
