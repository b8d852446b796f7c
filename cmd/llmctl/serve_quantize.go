package main

import (
	"fmt"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/units"
)

// quantize puts a model's layers into eight bits, if it is to. That weights are stored
// in fewer bits already is an error: what such a file lost is not there to be rounded
// again. On a modeled device the flag is the format of weights.
func (f *engineFlags) quantize(v *servedModel, c *engine.Config) error {
	if f.quantization == "" || c.Executor != nil {
		return nil
	}
	from := c.Weights
	if from == nil {
		shape, err := model.ShapeOf(c.Model)
		if err != nil {
			return err
		}
		from = model.Synthetic(shape, f.seed)
	}
	to, err := model.Quantize(from, f.quantization)
	if err != nil {
		return fmt.Errorf("--quantization %s: %w", f.quantization, err)
	}
	c.Weights = to
	v.reduced = fmt.Sprintf(", in %s: %s in memory, of %s", f.quantization, units.Bytes(to.Memory()), units.Bytes(from.Memory()))
	return nil
}
