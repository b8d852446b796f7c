package shape

import "github.com/llmctl/llmctl/profiles"

// LayerStateBytes is the fixed state that one layer keeps per sequence on one
// of tensor ranks, in bytes; d is the type of activations. It is the sum of the
// shapes that vLLM's MambaSpec is made of (model_executor/layers/mamba/
// mamba_utils.py), before a page is padded to the size of attention's.
func LayerStateBytes(a profiles.Attention, d DType, tensor int) int64 {
	s, ranks := a.State, int64(max(1, tensor))
	groups := int64(s.Groups)
	if groups%ranks != 0 {
		// Each head brings its group along: one group per rank.
		groups = max(groups, ranks)
	}
	channels := (int64(s.Channels) + groups*int64(s.GroupChannels)) / ranks
	matrix := d
	if s.DType != "" {
		matrix = DType(s.DType)
	}
	heads := int64(s.Heads) / ranks
	return channels*int64(max(1, s.Kernel)-1)*d.Bytes() + heads*int64(s.Rows)*int64(s.Columns)*matrix.Bytes()
}

// StateBytes is the fixed state of all layers per sequence on one of tensor
// ranks.
func StateBytes(m *profiles.Model, d DType, tensor int) int64 {
	var sum int64
	for _, layer := range m.Layers {
		sum += LayerStateBytes(layer.Attention, d, tensor)
	}
	return sum
}
