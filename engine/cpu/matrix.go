package cpu

import "github.com/llmctl/llmctl/engine/model"

// matrix is a weight matrix, laid out for accumulate: panels of width outputs,
// each [in][width]. The last panel is narrower when out is no multiple of it.
type matrix struct {
	in, out int
	panels  []float32
}

// pack lays out weights that are stored by output row.
func pack(w []float32, in, out int) matrix {
	m := matrix{in: in, out: out, panels: make([]float32, 0, in*out)}
	for first := 0; first < out; first += width {
		for i := range in {
			for o := first; o < min(first+width, out); o++ {
				m.panels = append(m.panels, w[o*in+i])
			}
		}
	}
	return m
}

// multiply computes dst = x·wᵀ for rows tokens: dst[r·out+o] is the sum over i,
// ascending, of x[r·in+i]·w[o·in+i]. Each panel is read once for all rows, so
// rows should be few enough to stay in the first-level cache.
func (m *matrix) multiply(dst, x []float32, rows int) {
	clear(dst[:rows*m.out])
	for o := 0; o < m.out; o += width {
		n := min(width, m.out-o)
		panel := m.panels[o*m.in:][:n*m.in]
		r := 0
		for ; n == width && r+4 <= rows; r += 4 {
			accumulate4(dst[r*m.out+o:], m.out, x[r*m.in:], m.in, panel, m.in, width)
		}
		for ; r < rows; r++ {
			accumulate(dst[r*m.out+o:][:n], x[r*m.in:][:m.in], panel, n)
		}
	}
}

// packed holds a model's matrices in the executor's layout.
type packed struct {
	layers []packedLayer
	head   matrix
}

type packedLayer struct{ qkv, output, gateUp, down matrix }

func packAll(w *model.Weights) packed {
	p := packed{head: packMatrices(w.Head)}
	for _, l := range w.Layers {
		p.layers = append(p.layers, packedLayer{
			qkv:    packMatrices(l.Query, l.Key, l.Value),
			output: packMatrices(l.Output),
			gateUp: packMatrices(l.Gate, l.Up),
			down:   packMatrices(l.Down),
		})
	}
	return p
}

// packMatrices packs matrices of one input below each other.
func packMatrices(all ...model.Matrix) matrix {
	var values []float32
	rows := 0
	for _, m := range all {
		values = append(values, m.Floats()...)
		rows += m.Rows
	}
	return pack(values, all[0].Cols, rows)
}
