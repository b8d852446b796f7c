package model

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/llmctl/llmctl/internal/weights/block"
)

// Quantize returns a model whose layers' matrices are stored in eight bits: with method
// int8 as Q8_0, with a scale for each 32 inputs, with fp8 as F8_E4M3, with a scale for
// each output. Those of the model must be numbers of 16 or 32 bits. Embedding, output
// head, routers and norms stay as they are, and are shared with the model.
func Quantize(w *Weights, method string) (*Weights, error) {
	t, known := map[string]block.Type{"int8": block.Q8_0, "fp8": block.F8E4M3}[method]
	if !known {
		return nil, fmt.Errorf("quantization %q, expected int8 or fp8", method)
	}
	quantized := *w
	quantized.Layers = make([]LayerWeights, len(w.Layers))
	var parts []rowsToQuantize
	for i, l := range w.Layers {
		l.Experts = append([]ExpertWeights(nil), l.Experts...)
		quantized.Layers[i] = l
		for _, m := range quantized.Layers[i].matrices() {
			more, err := m.quantize(t)
			if err != nil {
				return nil, fmt.Errorf("layer %d: %w", i, err)
			}
			parts = append(parts, more...)
		}
	}
	return &quantized, each(parts)
}

// Memory is what the matrices of a model take, in bytes: as they are stored, but for
// F8_E4M3, which the CPU widens to halves. A model that is not there takes nothing.
func (w *Weights) Memory() (n int64) {
	if w == nil {
		return 0
	}
	add := func(m *Matrix) {
		n += int64(len(m.Data))
		if m.Type == block.F8E4M3 {
			n += int64(len(m.Data))
		}
	}
	add(&w.Embedding)
	if !w.Tied {
		add(&w.Head)
	}
	for i := range w.Layers {
		l := w.Layers[i]
		add(&l.Router)
		for _, m := range l.matrices() {
			add(m)
		}
	}
	return n
}

// matrices are those that are quantized.
func (l *LayerWeights) matrices() []*Matrix {
	all := []*Matrix{&l.Query, &l.Key, &l.Value, &l.Output, &l.Gate, &l.Up, &l.Down}
	for i := range l.Experts {
		e := &l.Experts[i]
		all = append(all, &e.Gate, &e.Up, &e.Down)
	}
	return all
}

// rowsToQuantize is a part of the work: some rows of a matrix.
type rowsToQuantize struct {
	from, to   Matrix
	first, end int
}

// quantizeRows is how many rows make a part.
const quantizeRows = 64

// quantize makes room for another type of the matrix, and returns the work of filling it.
func (m *Matrix) quantize(t block.Type) ([]rowsToQuantize, error) {
	if m.Rows == 0 {
		return nil, nil
	}
	switch m.Type {
	case block.F32, block.F16, block.BF16:
	default:
		return nil, fmt.Errorf("weights stored as %s are quantized already: quantization is for models in F32, F16 or BF16", m.Type)
	}
	size, err := t.Size(m.Cols)
	if err != nil {
		return nil, fmt.Errorf("quantizing a matrix of %d by %d: %w", m.Rows, m.Cols, err)
	}
	from := *m
	*m = Matrix{Rows: m.Rows, Cols: m.Cols, Type: t, Data: make([]byte, m.Rows*size)}
	if t == block.F8E4M3 {
		m.Scales = make([]float32, m.Rows)
	}
	var parts []rowsToQuantize
	for first := 0; first < m.Rows; first += quantizeRows {
		parts = append(parts, rowsToQuantize{from, *m, first, min(first+quantizeRows, m.Rows)})
	}
	return parts, nil
}

// each does all parts, on all processors.
func each(parts []rowsToQuantize) error {
	workers := min(runtime.GOMAXPROCS(0), len(parts))
	errs := make([]error, workers)
	var next atomic.Int64
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() {
			var row []float32
			for n := next.Add(1) - 1; n < int64(len(parts)) && errs[i] == nil; n = next.Add(1) - 1 {
				p := &parts[n]
				if cap(row) < p.from.Cols {
					row = make([]float32, p.from.Cols)
				}
				errs[i] = p.do(row[:p.from.Cols])
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *rowsToQuantize) do(row []float32) error {
	size := p.to.RowBytes()
	for r := p.first; r < p.end; r++ {
		p.from.Row(row, r)
		if p.to.Scales != nil {
			scale := powerOfTwo(row)
			p.to.Scales[r] = scale
			for i := range row {
				row[i] /= scale
			}
		}
		if err := block.Encode(p.to.Data[r*size:][:size], p.to.Type, row); err != nil {
			return fmt.Errorf("quantizing output %d of %d: %w", r, p.to.Rows, err)
		}
	}
	return nil
}

// powerOfTwo is a row's scale for F8_E4M3: a power of two, so that it rounds nothing, by
// which the largest weight just stays below 448, the largest number of the type. It is
// at least 2⁻¹⁵, and at most 2⁷, so that all products of scale and number are halves.
func powerOfTwo(row []float32) float32 {
	largest := 0.0
	for _, v := range row {
		largest = max(largest, math.Abs(float64(v)))
	}
	if largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest) {
		return 1
	}
	exponent := math.Ceil(math.Log2(largest / 448))
	return float32(math.Ldexp(1, int(min(max(exponent, -15), 7))))
}
