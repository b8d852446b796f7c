package quality

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// Float stores a model's matrices as plain numbers: F32, in which none of their values
// changes, F16 or BF16. Embedding, routers and vectors stay as they are; an output
// head that is the embedding is stored anew all the same.
func Float(w *model.Weights, t block.Type) (*model.Weights, error) {
	if t != block.F32 && t != block.F16 && t != block.BF16 {
		return nil, fmt.Errorf("storing weights as %s, expected F32, F16 or BF16", t)
	}
	plain := *w
	plain.Layers = make([]model.LayerWeights, len(w.Layers))
	matrices := []*model.Matrix{&plain.Head}
	for i, l := range w.Layers {
		l.Experts = append([]model.ExpertWeights(nil), l.Experts...)
		plain.Layers[i] = l
		p := &plain.Layers[i]
		matrices = append(matrices, &p.Query, &p.Key, &p.Value, &p.Output, &p.Gate, &p.Up, &p.Down)
		for j := range p.Experts {
			matrices = append(matrices, &p.Experts[j].Gate, &p.Experts[j].Up, &p.Experts[j].Down)
		}
	}
	for _, m := range matrices {
		if err := restore(m, t); err != nil {
			return nil, fmt.Errorf("storing a matrix of %d by %d %s as %s: %w", m.Rows, m.Cols, m.Type, t, err)
		}
	}
	return &plain, nil
}

// restore stores a matrix, if there is one, as another type.
func restore(m *model.Matrix, t block.Type) error {
	if m.Data == nil {
		return nil
	}
	size, err := t.Size(m.Cols)
	if err != nil {
		return err
	}
	data, row := make([]byte, m.Rows*size), make([]float32, m.Cols)
	for i := range m.Rows {
		m.Row(row, i)
		if err := block.Encode(data[i*size:][:size], t, row); err != nil {
			return err
		}
	}
	*m, err = model.NewMatrix(m.Rows, m.Cols, t, data)
	return err
}
