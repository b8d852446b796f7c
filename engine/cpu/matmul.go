package cpu

// matmul computes dst = x·wᵀ for rows tokens: dst[r·out+o] is the sum over i,
// ascending, of x[r·in+i]·w[o·in+i]. Each group of weights is read once for all
// rows of x, so rows should be few enough to stay in the first-level cache.
func matmul(dst, x, w []float32, rows, in, out int) {
	o := 0
	for ; o+4 <= out; o += 4 {
		w0, w1, w2, w3 := w[o*in:][:in], w[(o+1)*in:][:in], w[(o+2)*in:][:in], w[(o+3)*in:][:in]
		for r := range rows {
			d := dst[r*out+o:][:4]
			d[0], d[1], d[2], d[3] = dot1x4(x[r*in:][:in], w0, w1, w2, w3)
		}
	}
	for ; o < out; o++ {
		for r := range rows {
			dst[r*out+o] = dot(x[r*in:][:in], w[o*in:][:in])
		}
	}
}

// dot1x4 multiplies x with four rows of weights. Four independent sums hide the
// latency of the additions; more of them would not fit into the registers that
// the compiler uses.
func dot1x4(x, w0, w1, w2, w3 []float32) (s0, s1, s2, s3 float32) {
	w0, w1, w2, w3 = w0[:len(x)], w1[:len(x)], w2[:len(x)], w3[:len(x)]
	for i, a := range x {
		s0 += float32(a * w0[i])
		s1 += float32(a * w1[i])
		s2 += float32(a * w2[i])
		s3 += float32(a * w3[i])
	}
	return s0, s1, s2, s3
}

func dot(x, w []float32) (s float32) {
	w = w[:len(x)]
	for i, a := range x {
		s += float32(a * w[i])
	}
	return s
}
