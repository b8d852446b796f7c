package matrix

import (
	"unsafe"

	"github.com/llmctl/llmctl/engine/cpu/vector"
)

// Multiply computes the outputs of some panels for rows first to last−1: output o of
// panel p for row r goes to dst[(r−first)·stride + (p−from)·Width + o]. All Width outputs
// of a panel are written, also those beyond m.Out. Each panel is read once for all rows,
// so rows should be few enough to stay in a core's own caches.
func (m *Matrix) Multiply(dst []float32, stride int, x *Rows, first, last, from, to int) {
	if x.Width != m.In {
		panic("matrix: activations of another width")
	}
	if last <= first || to <= from {
		return
	}
	_ = dst[(last-first-1)*stride+(to-from)*Width-1]
	size := m.PanelBytes()
	for p := from; p < to; p++ {
		panel := m.data[p*size:][:size]
		out := dst[(p-from)*Width:]
		switch {
		case vector.Current() == vector.Plain:
			m.plain(out, stride, x, first, last, panel)
		case m.Quantized():
			m.blocks(out, stride, x, first, last, panel)
		default:
			m.floats(out, stride, x, first, last, panel)
		}
	}
}

func (m *Matrix) plain(dst []float32, stride int, x *Rows, first, last int, panel []byte) {
	for r := first; r < last; r++ {
		out := (*[Width]float32)(dst[(r-first)*stride:])
		if m.Quantized() {
			at := r * m.In
			plainBlocks(out, m.layout, panel, x.Codes[at:at+m.In], x.Meta[at/Block:(at+m.In)/Block])
		} else {
			plainFloats(out, m.layout, panel, x.Row(r))
		}
	}
}

// Kernels compute Width outputs of one row or of several. Strides between rows are in
// bytes.
type (
	blockKernel func(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)
	floatKernel func(dst *float32, stride int, x *float32, xStride int, panel *byte, n int)
)

func (m *Matrix) blocks(dst []float32, stride int, x *Rows, first, last int, panel []byte) {
	k := &blockKernels[m.layout]
	several, one := k.several, k.one
	step := blockRows
	if vector.Current() >= vector.AVX512 {
		several, one, step = k.several512, k.one512, blockRows512
	}
	blocks := m.In / Block
	metaStride := blocks * int(unsafe.Sizeof(Meta{}))
	for r := first; r < last; {
		kernel, n := one, 1
		if last-r >= step {
			kernel, n = several, step
		}
		kernel(&dst[(r-first)*stride], 4*stride, &x.Codes[r*m.In], m.In, &x.Meta[r*blocks], metaStride, &panel[0], blocks)
		r += n
	}
}

func (m *Matrix) floats(dst []float32, stride int, x *Rows, first, last int, panel []byte) {
	k := &floatKernels[m.layout]
	for r := first; r < last; {
		kernel, n := k.one, 1
		if last-r >= floatRows {
			kernel, n = k.several, floatRows
		}
		kernel(&dst[(r-first)*stride], 4*stride, &x.Floats[r*m.In], 4*m.In, &panel[0], m.In)
		r += n
	}
}
