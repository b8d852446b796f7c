package attention

import (
	"unsafe"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
)

// maxKernelRows is how many rows a kernel takes at most.
const maxKernelRows = 4

// work is what a kernel on a few rows gets: a product of queries and K, or of weights
// and V. It reads blocks in the order of the table. Strides and offsets are in bytes.
type work struct {
	dst        *float32
	dstStride  int
	a          *float32 // queries or weights
	aStride    int
	base       *byte // K or V of the KV head in block 0
	table      *kv.Block
	blocks     int
	blockBytes int
	rowBytes   int       // from one element of the head to the next (K), or position (V)
	n          int       // elements of the head (K), or positions of each block (V)
	columns    int       // of vector.Width positions (K), or elements (V)
	scales     int       // from a block's beginning, or V's first position, to its scales
	skip       int       // what dst goes on behind a block's last column: back, or not at all
	last       *kv.Block // of the table: blocks behind those of this work are fetched ahead
}

// columns is how many vectors hold n elements.
func columns(n int) int { return (n + vector.Width - 1) / vector.Width }

// scoreRows sets dst[r·stride+i·size+p] to the product of query r and K at position p of
// block i of a table: sums over the head's elements in ascending order. q is
// [row][dim]. It may change up to vector.Width elements of a row behind the last.
func (w *work) scoreRows(d DType, dst []float32, stride int, q []float32, rows, dim, size int) {
	w.n, w.columns, w.rowBytes = dim, columns(size), size*d.size()
	w.skip = 4 * (size - w.columns*vector.Width)
	w.dstStride, w.aStride = 4*stride, 4*dim
	_ = dst[(rows-1)*stride+(w.blocks-1)*size+w.columns*vector.Width-1]
	_ = q[rows*dim-1]
	if vector.Current() == vector.Plain {
		for i := range w.blocks {
			for r := range rows {
				clear(dst[r*stride+i*size:][:size])
			}
			vector.AccumulateRows(dst[i*size:], stride, q, dim, w.block(i, dim*size), size, rows, dim, size)
		}
		return
	}
	for r := 0; r < rows; {
		n := few(rows - r)
		w.dst, w.a = &dst[r*stride], &q[r*dim]
		kernels[d].score[n-1](w)
		r += n
	}
}

// few is how many of some rows the next kernel takes.
func few(rows int) int {
	if rows == maxKernelRows+1 {
		return 3 // and 2, which are faster than 4 and 1
	}
	return min(rows, maxKernelRows)
}

// mixRows adds to dst[r·dstStride+d] the sum over n positions of each block of a table,
// ascending, of the weights a[r·aStride+…] and V. It may change elements of a row up to
// a multiple of vector.Width.
func (w *work) mixRows(d DType, dst []float32, dstStride int, a []float32, aStride, rows, n, dim int) {
	w.n, w.columns, w.rowBytes = n, columns(dim), dim*d.size()
	w.dstStride, w.aStride = 4*dstStride, 4*aStride
	_ = dst[(rows-1)*dstStride+w.columns*vector.Width-1]
	_ = a[(rows-1)*aStride+w.blocks*n-1]
	if vector.Current() == vector.Plain {
		for i := range w.blocks {
			vector.AccumulateRows(dst, dstStride, a[i*n:], aStride, w.block(i, n*dim), dim, rows, n, dim)
		}
		return
	}
	for r := 0; r < rows; {
		n := few(rows - r)
		w.dst, w.a = &dst[r*dstStride], &a[r*aStride]
		kernels[d].mix[n-1](w)
		r += n
	}
}

// block is the i-th block's K or V, of float32.
func (w *work) block(i, n int) []float32 {
	b := unsafe.Slice(w.table, w.blocks)[i]
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(w.base), int(b)*w.blockBytes)), n)
}
