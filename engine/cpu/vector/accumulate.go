package vector

// Width is how many outputs a kernel computes at once.
const Width = 16

// Accumulate adds to each dst[j] the sum over i, ascending, of a[i]·b[i·stride+j].
func Accumulate(dst, a, b []float32, stride int) {
	AccumulateRows(dst, len(dst), a, len(a), b, stride, 1, len(a), len(dst))
}

// AccumulateRows adds to each of the given number of rows and outputs
// dst[r·dstStride+j] the sum over i < n, ascending, of a[r·aStride+i]·b[i·stride+j]:
// a product of matrices, row by row the same as Accumulate.
func AccumulateRows(dst []float32, dstStride int, a []float32, aStride int, b []float32, stride, rows, n, outputs int) {
	if rows < 1 || n < 1 {
		return
	}
	_, _, _ = dst[(rows-1)*dstStride+outputs-1], a[(rows-1)*aStride+n-1], b[(n-1)*stride+outputs-1]
	vectors := 0
	if current >= AVX2 {
		vectors = outputs &^ (Width - 1)
	}
	for r := 0; r < rows && vectors > 0; {
		kernel, step := accumulate1, 1
		switch left := rows - r; {
		case left >= 4:
			kernel, step = accumulate4, 4
		case left == 3:
			kernel, step = accumulate3, 3
		case left == 2:
			kernel, step = accumulate2, 2
		}
		for j := 0; j < vectors; j += Width {
			kernel(&dst[r*dstStride+j], dstStride, &a[r*aStride], aStride, &b[j], n, stride)
		}
		r += step
	}
	if vectors < outputs {
		for r := range rows {
			accumulatePlain(dst[r*dstStride:][vectors:outputs], a[r*aStride:][:n], b[vectors:], stride)
		}
	}
}

// accumulatePlain is Accumulate in plain Go. Four sums at a time hide the latency of
// the additions; more would not fit into the registers that the compiler uses. The
// conversions keep it from fusing multiply and add, which would round differently on
// some machines.
func accumulatePlain(dst, a, b []float32, stride int) {
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
