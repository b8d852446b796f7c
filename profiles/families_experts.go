package profiles

// expertFamilies are mixtures of experts over multi-head or grouped-query
// attention.
var expertFamilies = map[string]family{
	"mixtral":   llamaLike(windowEverywhere, expertsAreIntermediate("num_local_experts")),
	"qwen2_moe": llamaLike(windowFromLayer, sparseMLP).with(qkvBias),
	"qwen3_moe": llamaLike(windowFromLayer, sparseMLP).with(qkNorm),

	"qwen3_vl_moe_text": llamaLike(fullAttention, sparseMLP).with(qkNorm),

	"deepseek":        llamaLike(fullAttention, sparseMLP),
	"dots1":           llamaLike(windowFromLayer, correctedMLP).with(qkNorm),
	"glm4_moe":        llamaLike(fullAttention, correctedMLP).with(noOutputBias),
	"glm4v_moe_text":  llamaLike(fullAttention, correctedMLP).with(noOutputBias),
	"bailing_moe":     llamaLike(fullAttention, sparseMLP).with(setUp(bailing)),
	"bailing_moe_v2":  llamaLike(fullAttention, sparseMLP).with(setUp(bailing)),
	"ernie4_5_moe":    llamaLike(fullAttention, ernieMLP).with(tied, setUp(everyBias("use_bias"))),
	"hunyuan_v1_moe":  llamaLike(fullAttention, hunyuanMLP).with(tied, setUp(hunyuan)),
	"minimax_m2":      llamaLike(fullAttention, expertsAreIntermediate("num_local_experts")).with(setUp(minimaxNorm)),
	"minimax_m3":      llamaLike(minimaxSparse, minimaxMLP).with(setUp(minimaxNorm)),
	"minimax_m3_text": llamaLike(minimaxSparse, minimaxMLP).with(setUp(minimaxNorm)),
	"olmoe":           llamaLike(fullAttention, expertsAreIntermediate("num_experts")).with(setUp(wideNorm)),
	"flex_olmo":       llamaLike(fullAttention, expertsAreIntermediate("num_experts")).with(setUp(wideNorm)),
	"phimoe":          llamaLike(windowEverywhere, expertsAreIntermediate("num_local_experts")).with(layerNorm, setUp(phiMoE)),
	"granitemoe":      llamaLike(fullAttention, expertsAreIntermediate("num_local_experts")).with(tied),
	"arctic":          llamaLike(fullAttention, arcticMLP).with(norms(3)),
	"dbrx":            llamaLike(fullAttention, dbrxMLP).with(named(dbrxNames)),
	"llama4_text":     llamaLike(chunkedAttention, llama4MLP).with(setUp(weightlessNorm)),
	"gpt_oss":         llamaLike(sinks(patternAttention), biasedRouter(expertsAreIntermediate("num_local_experts"))).with(setUp(gptOSS)),
	"mimo_v2_flash":   llamaLike(mimoAttention, sparseMLP),
	"step3p5":         llamaLike(stepAttention, stepMLP).with(qkNorm),
	"step3p7":         llamaLike(patternAttention, stepMLP).with(qkNorm),

	"granitemoeshared": llamaLike(fullAttention, expertsAreIntermediate("num_local_experts")).with(tied),
}

// correctedMLP is the rule of classes that always correct the router.
func correctedMLP(m *Model, c *config, layer int) MLP {
	x := sparseMLP(m, c, layer)
	x.RouterBias = x.Experts > 0
	return x
}

// biasedRouter is for classes whose router always has a bias.
func biasedRouter(rule mlpRule) mlpRule {
	return func(m *Model, c *config, layer int) MLP {
		x := rule(m, c, layer)
		x.RouterBias = true
		return x
	}
}

// weightlessNorm: Llama 4 normalizes queries and keys without learned weights.
func weightlessNorm(m *Model, _ *config) { m.QKNorm = false }

func gptOSS(m *Model, _ *config) { m.MLPBias = true }

// minimaxNorm: M2 normalizes queries and keys over all heads together.
func minimaxNorm(m *Model, c *config) {
	if m.QKNorm && c.text("per_head", "qk_norm_type") == "per_layer" {
		m.QKNorm, m.QKNormWide = false, true
	}
}

func bailing(m *Model, c *config) {
	if c.flag(false, "use_bias") {
		m.OutputBias, m.MLPBias = true, true
	}
}

func phiMoE(m *Model, c *config) {
	m.AttentionBias = c.flag(false, "attention_bias")
	m.OutputBias = m.AttentionBias
	m.HeadBias = c.flag(false, "lm_head_bias")
}

// minimaxSparse is M3's attention: a block index on the layers that
// sparse_attention_freq marks.
func minimaxSparse(m *Model, c *config, layer int) Attention {
	a := fullAttention(m, c, layer)
	sparse := c.object("sparse_attention_config")
	if sparse == nil || !sparse.flag(false, "use_sparse_attention") {
		return a
	}
	defer c.adopt(sparse)
	if on, ok := listed(sparse, "sparse_attention_freq", layer); ok && on == 0 {
		return a
	}
	a.IndexDim, a.IndexHeads = sparse.width("sparse_index_dim"), sparse.width("sparse_num_index_heads")
	a.Selected = sparse.width("sparse_topk_blocks") * sparse.width("sparse_block_size")
	return a
}

// listed reads the number that a list gives for a layer.
func listed(c *config, name string, layer int) (n int, ok bool) {
	items, isList := c.fields[name].([]any)
	if !isList {
		return 0, false
	}
	if layer >= len(items) {
		c.refuse(name, "has %d entries, layer %d is missing", len(items), layer)
		return 0, false
	}
	n, whole := integer(items[layer])
	if !whole {
		c.refuse(name, "expected integers, got %s", show(items[layer]))
	}
	return n, whole
}

// minimaxMLP names the width of the dense layers apart from the experts'.
func minimaxMLP(_ *Model, c *config, layer int) MLP {
	if on, ok := listed(c, "moe_layer_freq", layer); ok && on == 0 {
		return MLP{Gated: true, Intermediate: c.width("dense_intermediate_size")}
	}
	x := MLP{Gated: true, Experts: c.width("num_local_experts"), ExpertIntermediate: c.width("moe_intermediate_size", "intermediate_size")}
	x.SharedExperts, _ = c.count(0, maxWidth, "n_shared_experts")
	width, _ := c.count(0, maxWidth, "shared_intermediate_size")
	x.SharedIntermediate = x.SharedExperts * width
	x.RouterBias = c.flag(false, "use_routing_bias")
	return perToken(c, x)
}

// ernieMLP is ERNIE 4.5's rule for which layers are sparse.
func ernieMLP(m *Model, c *config, layer int) MLP {
	experts, _ := c.count(0, maxWidth, "moe_num_experts")
	from, _ := c.count(0, maxLayers, "moe_layer_start_index")
	to, ok := c.count(-1, maxLayers, "moe_layer_end_index")
	every := c.widthOr(1, "moe_layer_interval")
	if !ok || to == -1 {
		to = maxLayers
	}
	if experts == 0 || layer < from || layer > to || (layer+1)%every != 0 {
		return denseMLP(m, c, layer)
	}
	x := MLP{Gated: true, Experts: experts, ExpertIntermediate: c.width("moe_intermediate_size"), RouterBias: c.flag(true, "moe_use_aux_free")}
	x.SharedExperts, _ = c.count(0, maxWidth, "moe_num_shared_experts")
	x.SharedIntermediate = x.SharedExperts * x.ExpertIntermediate
	x.ExpertsPerToken = c.width("moe_k")
	return x
}

// hunyuanMLP reads facts that may be lists with one entry per layer.
func hunyuanMLP(m *Model, c *config, layer int) MLP {
	value := func(fallback int, name string) int {
		if n, ok := listed(c, name, layer); ok {
			return n
		}
		return c.widthOr(fallback, name)
	}
	experts := value(1, "num_experts")
	if experts < 1 || experts > maxWidth {
		c.refuse("num_experts", "%d is outside 1 to %d", experts, maxWidth)
		return MLP{}
	}
	if experts == 1 {
		return denseMLP(m, c, layer)
	}
	x := MLP{Gated: true, Experts: experts, ExpertIntermediate: value(c.width("intermediate_size"), "moe_intermediate_size")}
	if c.flag(false, "use_mixed_mlp_moe") {
		x.SharedExperts = value(1, "num_shared_expert")
		x.SharedIntermediate = x.SharedExperts * c.width("intermediate_size")
	}
	x.ExpertsPerToken = value(1, "moe_topk")
	for field, n := range map[string]int{"moe_intermediate_size": x.ExpertIntermediate, "num_shared_expert": x.SharedIntermediate, "moe_topk": x.ExpertsPerToken} {
		if n < 0 || n > maxWidth {
			c.refuse(field, "%d is outside 0 to %d", n, maxWidth)
		}
	}
	return x
}

// arcticMLP has a dense MLP of the hidden width beside the experts.
func arcticMLP(m *Model, c *config, layer int) MLP {
	if every := c.widthOr(1, "moe_layer_frequency"); (layer+1)%every != 0 {
		return denseMLP(m, c, layer)
	}
	x := MLP{Gated: true, Experts: c.width("num_local_experts"), ExpertIntermediate: c.width("intermediate_size")}
	if c.flag(true, "use_residual") {
		x.Intermediate = m.HiddenSize
	}
	return perToken(c, x)
}

var dbrxNames = map[string]string{
	"hidden_size": "d_model", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers",
	"max_position_embeddings": "max_seq_len", "num_key_value_heads": "attn_config.kv_n_heads",
	"intermediate_size": "ffn_config.ffn_hidden_size", "num_experts": "ffn_config.moe_num_experts",
	"num_experts_per_tok": "ffn_config.moe_top_k",
}

func dbrxMLP(_ *Model, c *config, _ int) MLP {
	return perToken(c, MLP{Gated: true, Experts: c.width("num_experts"), ExpertIntermediate: c.width("intermediate_size")})
}

// mimoAttention is MiMo-V2's: hybrid_layer_pattern marks the layers with a
// window, which have heads of their own and a sink.
func mimoAttention(m *Model, c *config, layer int) Attention {
	sliding, ok := listed(c, "hybrid_layer_pattern", layer)
	if !ok {
		c.refuse("hybrid_layer_pattern", "is missing")
		return Attention{}
	}
	prefix, kind, sink := "", FullAttention, "add_full_attention_sink_bias"
	if sliding != 0 {
		prefix, kind, sink = "swa_", SlidingAttention, "add_swa_attention_sink_bias"
	}
	a := Attention{
		Kind: kind, Heads: c.width(prefix + "num_attention_heads"), KVHeads: c.width(prefix + "num_key_value_heads"),
		HeadDim: c.width(prefix + "head_dim"), ValueDim: c.width(prefix + "v_head_dim"), Sinks: c.flag(false, sink),
	}
	if kind == SlidingAttention {
		if a.Window = window(c); a.Window == 0 {
			c.refuse("sliding_window", "is missing, but layer %d slides", layer)
		}
	}
	return a
}

// stepAttention is Step 3.5's: layers with a window have heads of their own,
// and each head may have a gate.
func stepAttention(m *Model, c *config, layer int) Attention {
	a := patternAttention(m, c, layer)
	if other := c.object("attention_other_setting"); other != nil && a.Kind == SlidingAttention {
		a.Heads, a.KVHeads = other.width("num_attention_heads"), other.width("num_attention_groups", "num_key_value_heads")
		a.HeadDim = other.widthOr(a.HeadDim, "head_dim")
		a.ValueDim = a.HeadDim
		c.adopt(other)
	}
	if c.flag(false, "use_head_wise_attn_gate") {
		a.HeadGate = 1
	}
	return a
}

// stepMLP reads Step's words for shared experts.
func stepMLP(m *Model, c *config, layer int) MLP {
	if denseLayer(c, layer) {
		return denseMLP(m, c, layer)
	}
	x := MLP{Gated: true, Experts: c.width("num_experts", "moe_num_experts"), ExpertIntermediate: c.width("moe_intermediate_size")}
	x.SharedIntermediate, _ = c.count(0, maxWidth, "share_expert_dim", "share_expert_dims")
	if x.SharedIntermediate > 0 {
		x.SharedExperts = 1
	}
	x.RouterBias = c.flag(false, "use_moe_router_bias")
	return perToken(c, x)
}
