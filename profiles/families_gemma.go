package profiles

// gemma3nDefaults are those of Gemma3nTextConfig.
var gemma3nDefaults = map[string]any{
	"vocab_size": 262_400, "vocab_size_per_layer_input": 262_144, "hidden_size": 2048, "hidden_size_per_layer_input": 256,
	"intermediate_size": 16_384, "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
	"max_position_embeddings": 32_768, "sliding_window": 512, "sliding_window_pattern": 5, "num_kv_shared_layers": 15,
	"altup_num_inputs": 4, "laurel_rank": 64,
}

// gemma3n counts what stands beside attention and MLP in each layer (AltUp, a
// low-rank residual, the input of the layer's own embedding) and the
// projections outside of layers (transformers, modeling_gemma3n.py).
func gemma3n(m *Model, c *config) {
	perLayerInput(m, c)
	h, inputs, rank := m.HiddenSize, c.width("altup_num_inputs"), c.width("laurel_rank")
	m.LayerSmall += h + inputs*inputs + inputs*inputs*inputs + h*inputs + h // AltUp: scale, corrections, predictions, router and its norm
	m.LayerSmall += 2*h*rank + h
	m.OuterLinear += 2 * (inputs - 1) * h * h
}

// perLayerInput reads the embeddings that each layer has of its own.
func perLayerInput(m *Model, c *config) {
	width, _ := c.count(0, maxWidth, "hidden_size_per_layer_input")
	if width == 0 {
		return
	}
	m.PerLayerWidth, m.PerLayerVocab = width, c.widthOr(m.VocabSize, "vocab_size_per_layer_input")
	m.LayerSmall += 2*m.HiddenSize*width + m.HiddenSize
	m.OuterSmall += width
	m.OuterLinear += m.HiddenSize * width * c.width("num_hidden_layers")
}

// reusesKV reports whether a layer attends to K and V of an earlier one: the
// last num_kv_shared_layers do.
func reusesKV(c *config, layer int) bool {
	shared, _ := c.count(0, maxLayers, "num_kv_shared_layers")
	return shared > 0 && layer >= c.width("num_hidden_layers")-shared
}

func gemma3nAttention(m *Model, c *config, layer int) Attention {
	a := patternAttention(m, c, layer)
	a.ReusedKV, a.KeepsKV = reusesKV(c, layer), true
	return a
}

// gemma3nMLP may have a width per layer.
func gemma3nMLP(m *Model, c *config, layer int) MLP {
	if n, ok := listed(c, "intermediate_size", layer); ok {
		if n < 1 || n > maxWidth {
			c.refuse("intermediate_size", "%d is outside 1 to %d", n, maxWidth)
		}
		return MLP{Intermediate: n, Gated: true}
	}
	return denseMLP(m, c, layer)
}

// gemma4 has a scale per layer, and in its small sizes an embedding per layer.
func gemma4(m *Model, c *config) {
	m.LayerSmall = 1
	perLayerInput(m, c)
}

func gemma4Attention(m *Model, c *config, layer int) Attention {
	a := patternAttention(m, c, layer)
	a.ReusedKV = reusesKV(c, layer)
	return a
}
