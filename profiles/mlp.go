package profiles

import "math"

// mlpRule reads the feed-forward part of one layer.
type mlpRule func(m *Model, c *config, layer int) MLP

func denseMLP(_ *Model, c *config, _ int) MLP {
	return MLP{Intermediate: c.width("intermediate_size"), Gated: true}
}

// halvedMLP is Qwen 1's: intermediate_size counts the gate and the up
// projection together.
func halvedMLP(_ *Model, c *config, _ int) MLP {
	n := c.width("intermediate_size")
	if n%2 != 0 {
		c.refuse("intermediate_size", "%d is odd, but counts two halves", n)
	}
	return MLP{Intermediate: max(1, n/2), Gated: true}
}

// expertsAreIntermediate is the rule of families in which all layers are
// sparse and intermediate_size is the width of one expert.
func expertsAreIntermediate(experts string) mlpRule {
	return func(_ *Model, c *config, _ int) MLP {
		x := MLP{Gated: true, Experts: c.width(experts), ExpertIntermediate: c.width("intermediate_size")}
		x.SharedIntermediate, _ = c.count(0, maxWidth, "shared_intermediate_size")
		if x.SharedIntermediate > 0 {
			x.SharedExperts = 1
		}
		x.RouterBias = c.flag(false, "use_routing_bias")
		return perToken(c, x)
	}
}

// sparseMLP reads mixtures of experts as DeepSeek, Qwen and GLM write them:
// moe_intermediate_size per expert, shared experts, and some dense layers.
func sparseMLP(m *Model, c *config, layer int) MLP {
	experts, ok := c.count(1, maxWidth, "n_routed_experts", "num_experts")
	if !ok || denseLayer(c, layer) {
		return denseMLP(m, c, layer)
	}
	x := MLP{Gated: true, Experts: experts, ExpertIntermediate: c.width("moe_intermediate_size")}
	x.SharedExperts, _ = c.count(0, maxWidth, "n_shared_experts", "num_shared_experts")
	x.SharedIntermediate = x.SharedExperts * x.ExpertIntermediate
	x.RouterBias = c.text("", "topk_method") == "noaux_tc" || c.flag(false, "moe_router_enable_expert_bias")
	if shared, ok := c.count(0, maxWidth, "shared_expert_intermediate_size"); ok && shared > 0 {
		x.SharedExperts, x.SharedIntermediate, x.SharedGate = 1, shared, true
	}
	return perToken(c, x)
}

// denseLayer reports whether a layer of a sparse model has a dense MLP.
func denseLayer(c *config, layer int) bool {
	if types, ok := c.list("mlp_layer_types"); ok {
		if layer >= len(types) {
			c.refuse("mlp_layer_types", "has %d entries, layer %d is missing", len(types), layer)
			return false
		}
		return types[layer] == "dense"
	}
	if first, ok := c.count(0, maxLayers, "first_k_dense_replace"); ok && layer < first {
		return true
	}
	if on, ok := listed(c, "moe_layer_freq", layer); ok {
		return on == 0
	}
	if every, ok := c.count(1, maxLayers, "moe_layer_freq"); ok && layer%every != 0 {
		return true
	}
	if step, ok := c.count(1, maxLayers, "decoder_sparse_step"); ok && (layer+1)%step != 0 {
		return true
	}
	if only, ok := c.list("mlp_only_layers"); ok {
		for _, item := range only {
			if n, whole := integer(item); whole && n == layer {
				return true
			}
		}
	}
	return false
}

// llama4MLP alternates dense layers (intermediate_size_mlp) with sparse ones
// (intermediate_size per expert, and one shared expert of the same width).
func llama4MLP(_ *Model, c *config, layer int) MLP {
	if step := c.widthOr(1, "interleave_moe_layer_step"); (layer+1)%step != 0 {
		return MLP{Gated: true, Intermediate: c.width("intermediate_size_mlp")}
	}
	x := MLP{Gated: true, Experts: c.width("num_local_experts"), ExpertIntermediate: c.width("intermediate_size")}
	x.SharedExperts, x.SharedIntermediate = 1, x.ExpertIntermediate
	return perToken(c, x)
}

// gemma4MLP has experts beside a dense MLP in the same layer.
func gemma4MLP(m *Model, c *config, layer int) MLP {
	x := denseMLP(m, c, layer)
	if c.flag(false, "use_double_wide_mlp") && reusesKV(c, layer) {
		x.Intermediate *= 2
	}
	if !c.flag(false, "enable_moe_block") {
		return x
	}
	x.Experts = c.width("num_experts")
	x.ExpertIntermediate = c.width("moe_intermediate_size", "expert_intermediate_size")
	// A norm before and one after the experts, one after the dense MLP; a scale
	// of the router's input, and one per expert.
	x.Small = 4*m.HiddenSize + x.Experts
	return perToken(c, x)
}

// perToken reads how many experts one token visits.
func perToken(c *config, x MLP) MLP {
	x.ExpertsPerToken = c.width("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts", "moe_top_k")
	if x.ExpertsPerToken > x.Experts {
		c.refuse("num_experts_per_tok", "%d is more than the %d experts", x.ExpertsPerToken, x.Experts)
	}
	return x
}

// blockConfigs reads NVIDIA's searched architectures (DeciLM): per layer a
// number of heads per group or no attention at all, and a multiple that gives
// the width of the MLP or none.
func blockConfigs(m *Model, c *config, n int) {
	blocks, ok := c.list("block_configs")
	if !ok || len(blocks) != n {
		c.refuse("block_configs", "has %d entries for %d layers", len(blocks), n)
		return
	}
	for i, item := range blocks {
		fields, isObject := item.(map[string]any)
		if !isObject {
			c.refuse("block_configs", "expected objects, got %s", show(item))
			return
		}
		block := &config{fields: fields, path: c.path + "block_configs."}
		m.Layers = append(m.Layers, Layer{Attention: blockAttention(m, c, block, i), MLP: blockMLP(m, block)})
		if c.adopt(block); c.err != nil {
			return
		}
	}
}

func blockAttention(m *Model, c, block *config, layer int) Attention {
	part := block.object("attention")
	if part == nil {
		block.refuse("attention", "is missing")
		return Attention{}
	}
	defer block.adopt(part)
	if part.flag(false, "no_op") {
		return Attention{Kind: NoAttention}
	}
	if part.flag(false, "replace_with_linear") {
		part.refuse("replace_with_linear", "true is not supported")
	}
	if n, _ := part.count(0, maxTokens, "window_length"); n > 0 {
		part.refuse("window_length", "%d is not supported", n)
	}
	group := part.width("n_heads_in_group")
	if m.Heads%group != 0 {
		part.refuse("n_heads_in_group", "%d does not divide num_attention_heads %d", group, m.Heads)
		return Attention{}
	}
	a := fullAttention(m, c, layer)
	a.KVHeads = m.Heads / group
	return a
}

func blockMLP(m *Model, block *config) MLP {
	part := block.object("ffn")
	if part == nil {
		block.refuse("ffn", "is missing")
		return MLP{}
	}
	defer block.adopt(part)
	if part.flag(false, "no_op") {
		return MLP{}
	}
	if part.flag(false, "replace_with_linear") {
		part.refuse("replace_with_linear", "true is not supported")
	}
	mult := part.number(0, "ffn_mult")
	if mult <= 0 || mult > 1024 {
		part.refuse("ffn_mult", "%g is outside 0 to 1024", mult)
		return MLP{}
	}
	// DeciLM: two thirds of mult × hidden, rounded up to a multiple of 256.
	width := int(2 * mult * float64(m.HiddenSize) / 3)
	return MLP{Intermediate: int(math.Ceil(float64(width)/256)) * 256, Gated: true}
}
