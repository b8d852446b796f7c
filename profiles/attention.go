package profiles

import (
	"errors"
	"fmt"
)

var errMissing = errors.New("is missing")

// attentionRule reads the token mixer of one layer.
type attentionRule func(m *Model, c *config, layer int) Attention

// eachLayer reads n layers with one rule for mixers and one for MLPs. It stops
// at the first field that can not be understood.
func eachLayer(attention attentionRule, mlp mlpRule) func(*Model, *config, int) {
	return func(m *Model, c *config, n int) {
		m.Layers = make([]Layer, 0, n)
		for i := range n {
			m.Layers = append(m.Layers, Layer{Attention: attention(m, c, i), MLP: mlp(m, c, i)})
			if c.err != nil {
				return
			}
		}
	}
}

// fullAttention reads multi-head, multi-query or grouped-query attention.
func fullAttention(m *Model, c *config, _ int) Attention {
	if m.Heads < 1 {
		c.refuse("num_attention_heads", "is missing")
		return Attention{}
	}
	kv := c.widthOr(m.Heads, "num_key_value_heads")
	dim := c.widthOr(0, "head_dim", "kv_channels")
	if dim == 0 {
		if m.HiddenSize%m.Heads != 0 {
			c.refuse("num_attention_heads", "%d does not divide hidden_size %d, and head_dim is missing", m.Heads, m.HiddenSize)
		}
		dim = max(1, m.HiddenSize/m.Heads)
	}
	if kv > m.Heads || m.Heads%kv != 0 {
		c.refuse("num_key_value_heads", "%d does not divide num_attention_heads %d", kv, m.Heads)
	}
	return Attention{Kind: FullAttention, Heads: m.Heads, KVHeads: kv, HeadDim: dim, ValueDim: dim}
}

// sinks gives each head of a rule's layers a learned logit that takes attention
// away from all tokens.
func sinks(rule attentionRule) attentionRule {
	return func(m *Model, c *config, layer int) Attention {
		a := rule(m, c, layer)
		a.Sinks = true
		return a
	}
}

// windowed turns full attention into sliding attention, unless the window holds
// the whole context anyway.
func windowed(m *Model, a Attention, window int) Attention {
	if window > 0 && window < m.MaxPositions {
		a.Kind, a.Window = SlidingAttention, window
	}
	return a
}

// window reads sliding_window; 0 when there is none. A null in the file beats a
// class default.
func window(c *config) int {
	if c.has("sliding_window") && c.fields["sliding_window"] == nil {
		return 0
	}
	n, _ := c.count(0, maxTokens, "sliding_window", "sliding_window_size")
	return n
}

// windowEverywhere puts sliding_window on all layers.
func windowEverywhere(m *Model, c *config, layer int) Attention {
	return windowed(m, fullAttention(m, c, layer), window(c))
}

// windowFromLayer is Qwen's rule: the field may be there without effect;
// use_sliding_window switches it on, for the layers from max_window_layers.
func windowFromLayer(m *Model, c *config, layer int) Attention {
	if _, ok := c.list("layer_types"); ok {
		return patternAttention(m, c, layer)
	}
	a := fullAttention(m, c, layer)
	if !c.flag(false, "use_sliding_window") {
		return a
	}
	from, _ := c.count(0, maxLayers, "max_window_layers")
	if layer < from {
		return a
	}
	return windowed(m, a, window(c))
}

// patternAttention reads layer_types, or sliding_window_pattern: every p-th
// layer is full, the others slide.
func patternAttention(m *Model, c *config, layer int) Attention {
	a := fullAttention(m, c, layer)
	kind, err := layerType(c, layer)
	if err != nil {
		c.refuse("layer_types", "%v", err)
		return a
	}
	switch kind {
	case "full_attention":
		return globalHeads(m, c, a)
	case "sliding_attention":
		w := window(c)
		if w == 0 {
			c.refuse("sliding_window", "is missing, but layer %d slides", layer)
		}
		return windowed(m, a, w)
	}
	c.refuse("layer_types", "%q at layer %d is not supported", kind, layer)
	return a
}

// patternOrWindow follows layer_types where there are any, and else puts the
// window on all layers.
func patternOrWindow(m *Model, c *config, layer int) Attention {
	if hasPattern(c) {
		return patternAttention(m, c, layer)
	}
	return windowEverywhere(m, c, layer)
}

// patternOrFull follows layer_types where there are any; without them there is
// no window.
func patternOrFull(m *Model, c *config, layer int) Attention {
	if hasPattern(c) {
		return patternAttention(m, c, layer)
	}
	return fullAttention(m, c, layer)
}

func hasPattern(c *config) bool {
	return c.fields["layer_types"] != nil || c.fields["sliding_window_pattern"] != nil && window(c) > 0
}

// layerType names the kind of one layer.
func layerType(c *config, layer int) (string, error) {
	if c.fields["layer_types"] != nil {
		return layerKind(c, "layer_types", layer)
	}
	// EXAONE 4 writes the pattern in letters: L for local, G for global.
	if letters, ok := c.fields["sliding_window_pattern"].(string); ok && letters != "" {
		if letters[layer%len(letters)] == 'L' {
			return "sliding_attention", nil
		}
		return "full_attention", nil
	}
	pattern, ok := c.count(1, maxLayers, "sliding_window_pattern", "_sliding_window_pattern")
	if !ok {
		return "", fmt.Errorf("is missing, and there is no sliding_window_pattern")
	}
	if (layer+1)%pattern == 0 {
		return "full_attention", nil
	}
	return "sliding_attention", nil
}

// globalHeads reads the separate heads that Gemma 4 gives its full layers. With
// attention_k_eq_v the values are the keys, but both are cached.
func globalHeads(m *Model, c *config, a Attention) Attention {
	dim, ok := c.count(1, maxWidth, "global_head_dim")
	if !ok {
		return a
	}
	a.HeadDim, a.ValueDim = dim, dim
	a.KVHeads = c.widthOr(a.KVHeads, "num_global_key_value_heads")
	if m.Heads%a.KVHeads != 0 {
		c.refuse("num_global_key_value_heads", "%d does not divide num_attention_heads %d", a.KVHeads, m.Heads)
	}
	a.SharedKV = c.flag(false, "attention_k_eq_v")
	return a
}

// chunkedAttention is Llama 4's: layers with a rotary embedding attend inside
// chunks, those without (every fourth) to everything.
func chunkedAttention(m *Model, c *config, layer int) Attention {
	a := fullAttention(m, c, layer)
	chunk, _ := c.count(0, maxTokens, "attention_chunk_size")
	rope := (layer+1)%c.widthOr(4, "nope_layer_interval", "no_rope_layer_interval") != 0
	if flags, ok := c.list("no_rope_layers"); ok && len(flags) > 0 {
		// In spite of its name, 1 marks a layer that has the rotary embedding.
		if layer >= len(flags) {
			c.refuse("no_rope_layers", "has %d entries, layer %d is missing", len(flags), layer)
			return a
		}
		n, whole := integer(flags[layer])
		if !whole {
			c.refuse("no_rope_layers", "expected 0 or 1, got %s", show(flags[layer]))
		}
		rope = n != 0
	}
	if rope && chunk > 0 && chunk < m.MaxPositions {
		a.Kind, a.Window = ChunkedAttention, chunk
	}
	return a
}
