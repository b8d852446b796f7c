package profiles

// checkLayerTypes refuses a layer_types that says something else than what the
// family's rule made of the layers: families that do not read it would ignore it
// in silence. It has an entry per layer, and in some files further ones for the
// layers that predict more tokens.
func checkLayerTypes(m *Model, c *config) {
	kinds, ok := c.list("layer_types")
	if !ok || c.err != nil {
		return
	}
	if n := len(m.Layers); len(kinds) < n || len(kinds) > n+m.MTPLayers {
		c.refuse("layer_types", "has %d entries, num_hidden_layers is %d", len(kinds), n)
		return
	}
	for i, kind := range kinds[:len(m.Layers)] {
		name, isString := kind.(string)
		if !isString {
			c.refuse("layer_types", "expected names, got %s", show(kind))
			return
		}
		if !agrees(m, c, m.Layers[i].Attention, name) {
			c.refuse("layer_types", "%.40q at layer %d is not supported in %s", name, i, m.Type)
			return
		}
	}
}

// agrees reports whether a layer may be called so. Windows that hold the whole
// context count as full attention, and mixers that are neither full nor windowed
// have names of their own in each family.
func agrees(m *Model, c *config, a Attention, name string) bool {
	switch a.Kind {
	case FullAttention, SlidingAttention, ChunkedAttention:
	default:
		return true
	}
	switch name {
	case "full_attention", "attention":
		return true
	case "sliding_attention":
		return a.Kind == SlidingAttention || window(c) >= m.MaxPositions
	case "chunked_attention":
		chunk, _ := c.count(0, maxTokens, "attention_chunk_size")
		return a.Kind == ChunkedAttention || chunk >= m.MaxPositions
	}
	return a.IndexDim > 0 || a.State.Mixer != ""
}
