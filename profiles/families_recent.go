package profiles

// recentFamilies are mixtures of experts whose classes came with transformers 5
// (models/<type>/modeling_<type>.py).
var recentFamilies = map[string]family{
	"solar_open":  llamaLike(fullAttention, correctedMLP).with(noOutputBias, headDim(128)),
	"afmoe":       llamaLike(afmoeAttention, afmoeMLP).with(norms(4), qkNorm, headDim(128)),
	"exaone_moe":  llamaLike(exaoneAttention, exaoneMLP).with(qkNorm, defaultsOf(map[string]any{"sliding_window": 4096, "sliding_window_pattern": 4})),
	"aria_text":   llamaLike(fullAttention, ariaMLP),
	"cohere2_moe": llamaLike(cohereMoEAttention, cohereMoE).with(tied, norms(1), headDim(128), setUp(cohereNorm)),
	"step3_text":  llamaLike(step3Attention, step3MLP).with(named(step3Names)),
	"mistral4":    llamaLike(latentAttention, sparseMLP),
}

// afmoeAttention has a gate as wide as the queries, and slides but in every
// global_attn_every_n_layers-th layer.
func afmoeAttention(m *Model, c *config, layer int) Attention {
	var a Attention
	switch every := c.widthOr(4, "global_attn_every_n_layers"); {
	case c.fields["layer_types"] != nil:
		a = patternAttention(m, c, layer)
	case (layer+1)%every == 0:
		a = fullAttention(m, c, layer)
	default:
		a = windowed(m, fullAttention(m, c, layer), window(c))
	}
	a.OutputGate = true
	return a
}

// afmoeMLP: the first num_dense_layers are dense.
func afmoeMLP(m *Model, c *config, layer int) MLP {
	dense, ok := c.count(0, maxLayers, "num_dense_layers")
	if !ok {
		dense = 1
	}
	if layer < dense {
		return denseMLP(m, c, layer)
	}
	return correctedMLP(m, c, layer)
}

// exaoneAttention has a pattern unless the file says that there is no window.
func exaoneAttention(m *Model, c *config, layer int) Attention {
	if window(c) == 0 {
		return fullAttention(m, c, layer)
	}
	return patternAttention(m, c, layer)
}

// exaoneMLP: the first layer is dense unless the file says otherwise; K-EXAONE's
// lists which are not.
func exaoneMLP(m *Model, c *config, layer int) MLP {
	if flags, ok := c.list("is_moe_layer"); ok {
		if layer >= len(flags) {
			c.refuse("is_moe_layer", "has %d entries, layer %d is missing", len(flags), layer)
			return MLP{}
		}
		if flags[layer] == false {
			return denseMLP(m, c, layer)
		}
		return correctedMLP(m, c, layer)
	}
	_, _, kinds := c.lookup("mlp_layer_types")
	_, _, first := c.lookup("first_k_dense_replace")
	if !kinds && !first && layer == 0 {
		return denseMLP(m, c, layer)
	}
	return correctedMLP(m, c, layer)
}

// ariaMLP: intermediate_size is the width of one expert, routed or shared.
func ariaMLP(_ *Model, c *config, _ int) MLP {
	x := MLP{Gated: true, Experts: c.width("moe_num_experts"), ExpertIntermediate: c.width("intermediate_size"), ExpertsPerToken: c.width("moe_topk")}
	x.SharedExperts, _ = c.count(0, maxWidth, "moe_num_shared_experts")
	x.SharedIntermediate = x.SharedExperts * x.ExpertIntermediate
	if x.ExpertsPerToken > x.Experts {
		c.refuse("moe_topk", "%d is more than the %d experts", x.ExpertsPerToken, x.Experts)
	}
	return x
}

// cohereMoEAttention: without layer_types, the dense layers at the start have a
// pattern of their own, and the others count from the first of theirs.
func cohereMoEAttention(m *Model, c *config, layer int) Attention {
	if c.fields["layer_types"] != nil {
		return patternAttention(m, c, layer)
	}
	every, at := c.widthOr(4, "sliding_window_pattern"), layer
	if dense, _ := c.count(0, maxLayers, "first_k_dense_replace"); layer < dense {
		every = c.widthOr(1, "prefix_dense_sliding_window_pattern")
	} else {
		at -= dense
	}
	a := fullAttention(m, c, layer)
	if (at+1)%every == 0 {
		return a
	}
	size := window(c)
	if !c.has("sliding_window") {
		size = 4096
	}
	return windowed(m, a, size)
}

// cohereMoE: intermediate_size is the width of an expert, and dense layers may
// have another.
func cohereMoE(_ *Model, c *config, layer int) MLP {
	if denseLayer(c, layer) {
		return MLP{Gated: true, Intermediate: c.width("prefix_dense_intermediate_size", "intermediate_size")}
	}
	x := MLP{Gated: true, Experts: c.width("num_experts"), ExpertIntermediate: c.width("intermediate_size")}
	x.SharedExperts, _ = c.count(0, maxWidth, "num_shared_experts")
	x.SharedIntermediate = x.SharedExperts * x.ExpertIntermediate
	return perToken(c, x)
}
