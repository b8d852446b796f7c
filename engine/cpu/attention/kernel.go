package attention

import "github.com/llmctl/llmctl/engine/cpu/vector"

func scoreBlock(dst []float32, stride int, q, k []float32, rows, dim, size int) {
	for r := range rows {
		clear(dst[r*stride:][:size])
	}
	vector.AccumulateRows(dst, stride, q, dim, k, size, rows, dim, size)
}

func mixBlock(dst, w []float32, stride int, v []float32, rows, n, dim int) {
	vector.AccumulateRows(dst, dim, w, stride, v, dim, rows, n, dim)
}
