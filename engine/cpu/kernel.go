package cpu

// width is how many outputs a vector kernel computes at once: two AVX2
// registers.
const width = 16

// accumulate adds to each dst[j] the sum over i, ascending, of a[i]·b[i·stride+j].
// It is the only arithmetic of matrix products and attention. Outputs are
// independent of each other, so a vector unit can compute many at once without
// changing a single sum.
func accumulate(dst, a, b []float32, stride int) {
	j := 0
	if hasVector && len(a) > 0 {
		for ; j+width <= len(dst); j += width {
			_ = b[(len(a)-1)*stride+j+width-1]
			accumulateVector(&dst[j], &a[0], &b[j], len(a), stride)
		}
	}
	accumulateScalar(dst[j:], a, b[min(j, len(b)):], stride)
}

// accumulate4 is accumulate for four rows of a, aStride apart, each with n
// elements, and four rows of width outputs, dstStride apart; b is read once for
// all.
func accumulate4(dst []float32, dstStride int, a []float32, aStride int, b []float32, n, stride int) {
	if hasVector && n > 0 {
		_, _, _ = dst[3*dstStride+width-1], a[3*aStride+n-1], b[(n-1)*stride+width-1]
		accumulateVector4(&dst[0], dstStride, &a[0], aStride, &b[0], n, stride)
		return
	}
	for r := range 4 {
		accumulateScalar(dst[r*dstStride:][:width], a[r*aStride:][:n], b, stride)
	}
}

// accumulateScalar is accumulate in plain Go. Four sums at a time hide the
// latency of the additions; more would not fit into the registers that the
// compiler uses. The conversions keep it from fusing multiply and add, which
// would round differently on some machines.
func accumulateScalar(dst, a, b []float32, stride int) {
	j := 0
	for ; j+4 <= len(dst); j += 4 {
		d := dst[j:][:4]
		s0, s1, s2, s3 := d[0], d[1], d[2], d[3]
		at := j
		for _, x := range a {
			w := b[at:][:4]
			s0 += float32(x * w[0])
			s1 += float32(x * w[1])
			s2 += float32(x * w[2])
			s3 += float32(x * w[3])
			at += stride
		}
		d[0], d[1], d[2], d[3] = s0, s1, s2, s3
	}
	for ; j < len(dst); j++ {
		s := dst[j]
		for i, x := range a {
			s += float32(x * b[i*stride+j])
		}
		dst[j] = s
	}
}
