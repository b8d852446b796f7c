package cpu

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/cpu/matrix"
	"github.com/llmctl/llmctl/engine/cpu/pages"
	"github.com/llmctl/llmctl/engine/model"
)

// layer is a decoder block with its matrices packed.
type layer struct {
	*model.LayerWeights
	query, key, value matrix.Matrix
	output            matrix.Matrix
	router            matrix.Matrix
	experts           []expert // one, when the layer is dense
}

// expert is an MLP.
type expert struct{ gate, up, down matrix.Matrix }

// width is that of the inner activations.
func (x *expert) width() int { return x.gate.Out }

// quantized says whether any of the matrices wants quantized activations.
func quantized(all ...*matrix.Matrix) bool {
	for _, m := range all {
		if m.In > 0 && m.Quantized() {
			return true
		}
	}
	return false
}

// pack lays out all matrices. It sets e.head and e.layers.
func (e *Executor) pack() error {
	w := e.weights
	var memory pages.Arena
	var failed error
	pack := func(name string, m model.Matrix, rows, cols int) matrix.Matrix {
		if failed == nil && (m.Rows != rows || m.Cols != cols) {
			failed = fmt.Errorf("%s is a matrix of %d by %d, expected %d by %d", name, m.Rows, m.Cols, rows, cols)
		}
		if failed != nil {
			return matrix.Matrix{}
		}
		packed, err := matrix.Pack(e.team.Run, &memory, m)
		if err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
		}
		return packed
	}
	e.head = pack("the output head", w.Head, w.Vocab, w.Hidden)
	for i := range w.Layers {
		l := &w.Layers[i]
		name := func(matrix string) string { return fmt.Sprintf("%s of layer %d", matrix, i) }
		packed := layer{
			LayerWeights: l,
			query:        pack(name("query"), l.Query, w.Queries(), w.Hidden),
			key:          pack(name("key"), l.Key, w.Keys(), w.Hidden),
			value:        pack(name("value"), l.Value, w.Keys(), w.Hidden),
			output:       pack(name("attention output"), l.Output, w.Hidden, w.Queries()),
		}
		all, inner := l.Experts, w.Shape.Experts.Intermediate
		if len(all) == 0 {
			all, inner = []model.ExpertWeights{{Gate: l.Gate, Up: l.Up, Down: l.Down}}, w.Intermediate
		} else {
			packed.router = pack(name("router"), l.Router, len(all), w.Hidden)
		}
		for _, x := range all {
			packed.experts = append(packed.experts, expert{
				gate: pack(name("MLP gate"), x.Gate, inner, w.Hidden),
				up:   pack(name("MLP up"), x.Up, inner, w.Hidden),
				down: pack(name("MLP down"), x.Down, w.Hidden, inner),
			})
		}
		e.layers = append(e.layers, packed)
	}
	return failed
}
