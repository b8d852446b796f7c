package quality

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// Convert stores a model's matrices as another type, from their values as they are
// stored. Embedding rows, routers and vectors stay as they are; an output head that is
// the embedding is converted all the same.
func Convert(w *model.Weights, t block.Type) (*model.Weights, error) {
	c := *w
	var err error
	stored := func(m *model.Matrix) {
		if err == nil && m.Data != nil {
			*m, err = convert(*m, t)
		}
	}
	stored(&c.Head)
	c.Layers = make([]model.LayerWeights, len(w.Layers))
	for i, l := range w.Layers {
		experts := make([]model.ExpertWeights, len(l.Experts))
		for j, x := range l.Experts {
			stored(&x.Gate)
			stored(&x.Up)
			stored(&x.Down)
			experts[j] = x
		}
		l.Experts = experts
		for _, m := range []*model.Matrix{&l.Query, &l.Key, &l.Value, &l.Output, &l.Gate, &l.Up, &l.Down} {
			stored(m)
		}
		c.Layers[i] = l
		if err != nil {
			return nil, fmt.Errorf("storing layer %d as %s: %w", i, t, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("storing the head as %s: %w", t, err)
	}
	return &c, nil
}

func convert(m model.Matrix, t block.Type) (model.Matrix, error) {
	size, err := t.Size(m.Cols)
	if err != nil {
		return m, err
	}
	data := make([]byte, m.Rows*size)
	row := make([]float32, m.Cols)
	for i := range m.Rows {
		m.Row(row, i)
		if err := block.Encode(data[i*size:][:size], t, row); err != nil {
			return m, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return model.NewMatrix(m.Rows, m.Cols, t, data)
}
