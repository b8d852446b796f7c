package profiles

import "fmt"

// hybridFamilies mix attention with layers of fixed state, or have only those.
var hybridFamilies = map[string]family{
	"qwen3_next":       llamaLike(hybridAttention(gatedDeltaNet), sparseMLP).with(qkNorm),
	"qwen3_5_text":     llamaLike(hybridAttention(gatedDeltaNet), denseMLP).with(qkNorm),
	"qwen3_5_moe_text": llamaLike(hybridAttention(gatedDeltaNet), sparseMLP).with(qkNorm),

	"nemotron_h": {norms: 1, layers: nemotronH},

	"kimi_linear": llamaLike(kimiAttention, kimiMLP),

	"lfm2":     llamaLike(lfm2Attention, lfm2MLP).with(tied, qkNorm),
	"lfm2_moe": llamaLike(lfm2Attention, lfm2Experts).with(tied, qkNorm),

	"jamba":            llamaLike(jambaAttention, jambaMLP),
	"bamba":            llamaLike(bambaAttention, denseMLP),
	"granitemoehybrid": llamaLike(graniteHybrid, graniteHybridMLP).with(tied),
	"falcon_h1":        llamaLike(falconH1, denseMLP).with(setUp(falconH1Biases)),
	"zamba2":           {tied: true, norms: 1, layers: zamba2},

	"minimax":         llamaLike(lightningAttention, expertsAreIntermediate("num_local_experts")),
	"minimax_m1":      llamaLike(lightningAttention, expertsAreIntermediate("num_local_experts")),
	"minimax_text_01": llamaLike(lightningAttention, expertsAreIntermediate("num_local_experts")),

	"mamba":        {tied: true, norms: 1, headless: true, defaults: map[string]any{"max_position_embeddings": 2048}, layers: mambaLayers(mamba1)},
	"falcon_mamba": {tied: true, norms: 1, headless: true, defaults: map[string]any{"max_position_embeddings": 2048}, layers: mambaLayers(mamba1)},
	"mamba2":       {norms: 1, headless: true, defaults: map[string]any{"max_position_embeddings": 2048, "n_groups": 8}, layers: mambaLayers(pureMamba2)},
}

// mambaLayers are layers of a mixer alone.
func mambaLayers(mixer attentionRule) func(*Model, *config, int) {
	return eachLayer(mixer, func(*Model, *config, int) MLP { return MLP{} })
}

// mamba1 reads Mamba's own words; intermediate_size is the mixer's width.
func mamba1(m *Model, c *config, _ int) Attention {
	return mamba1Of(m, c, c.widthOr(c.widthOr(2, "expand")*m.HiddenSize, "intermediate_size"))
}

// jambaMixer is Mamba with norms; intermediate_size is the MLP's width.
func jambaMixer(m *Model, c *config, _ int) Attention {
	a := mamba1Of(m, c, c.widthOr(2, "mamba_expand")*m.HiddenSize)
	a.State.Norms = true
	return a
}

// mamba1Of reads a mixer of a width, in Mamba's words or with a prefix.
func mamba1Of(m *Model, c *config, inner int) Attention {
	rank := (m.HiddenSize + 15) / 16
	if c.fields["time_step_rank"] != "auto" && c.fields["mamba_dt_rank"] != "auto" {
		rank = c.widthOr(rank, "time_step_rank", "mamba_dt_rank")
	}
	return Attention{Kind: LinearAttention, State: State{
		Mixer: Mamba1, Kernel: c.kernel("conv_kernel", "mamba_d_conv"), Channels: inner,
		Heads: inner, Rows: 1, Columns: c.width("state_size", "mamba_d_state"), TimeRank: rank,
		ConvBias: c.flag(true, "use_conv_bias", "mamba_conv_bias"), Bias: c.flag(false, "use_bias", "mamba_proj_bias"),
	}}
}

func pureMamba2(m *Model, c *config, _ int) Attention {
	return mamba2(m, c, mamba2Names{heads: "num_heads", headDim: "head_dim", state: "state_size", groups: "n_groups", kernel: "conv_kernel", bias: "use_bias"})
}

// bambaNames are shared by Bamba, Granite 4 and Falcon-H1.
var bambaNames = mamba2Names{
	heads: "mamba_n_heads", headDim: "mamba_d_head", state: "mamba_d_state", groups: "mamba_n_groups",
	kernel: "mamba_d_conv", bias: "mamba_proj_bias",
}

// periodic reports whether a layer is the one of its period.
func periodic(c *config, layer int, period, offset string, defaultPeriod, defaultOffset int) bool {
	p := c.widthOr(defaultPeriod, period)
	o, ok := c.count(0, maxLayers, offset)
	if !ok {
		o = defaultOffset
	}
	return layer%p == o
}

func jambaAttention(m *Model, c *config, layer int) Attention {
	if periodic(c, layer, "attn_layer_period", "attn_layer_offset", 8, 4) {
		return fullAttention(m, c, layer)
	}
	return jambaMixer(m, c, layer)
}

func jambaMLP(m *Model, c *config, layer int) MLP {
	if !periodic(c, layer, "expert_layer_period", "expert_layer_offset", 2, 1) || c.widthOr(16, "num_experts") == 1 {
		return denseMLP(m, c, layer)
	}
	return expertsAreIntermediate("num_experts")(m, c, layer)
}

func bambaAttention(m *Model, c *config, layer int) Attention {
	items, _ := c.list("attn_layer_indices")
	for _, item := range items {
		if n, whole := integer(item); whole && n == layer {
			return fullAttention(m, c, layer)
		}
	}
	return mamba2(m, c, bambaNames)
}

func graniteHybrid(m *Model, c *config, layer int) Attention {
	kind, err := layerKind(c, "layer_types", layer)
	if err == nil && kind == "mamba" {
		return mamba2(m, c, bambaNames)
	}
	if err == nil && kind == "attention" {
		return fullAttention(m, c, layer)
	}
	c.refuse("layer_types", "expected mamba or attention at layer %d, got %q", layer, kind)
	return Attention{}
}

// graniteHybridMLP: a shared MLP in each layer, with experts beside it in some
// sizes.
func graniteHybridMLP(m *Model, c *config, layer int) MLP {
	if n, _ := c.count(0, maxWidth, "num_local_experts"); n == 0 {
		return MLP{Gated: true, Intermediate: c.width("shared_intermediate_size")}
	}
	return expertsAreIntermediate("num_local_experts")(m, c, layer)
}

// falconH1 runs attention and Mamba-2 side by side in each layer.
func falconH1(m *Model, c *config, layer int) Attention {
	a := fullAttention(m, c, layer)
	a.State = mamba2(m, c, bambaNames).State
	a.State.Norms = c.flag(false, "mamba_rms_norm")
	return a
}

func falconH1Biases(m *Model, c *config) {
	m.OutputBias = c.flag(false, "projectors_bias")
}

// lightningAttention reads MiniMax-01: attn_type_list has 0 for a lightning
// layer and 1 for full attention; transformers' port has layer_types.
func lightningAttention(m *Model, c *config, layer int) Attention {
	a := fullAttention(m, c, layer)
	full, ok := listed(c, "attn_type_list", layer)
	if !ok {
		kind, err := layerType(c, layer)
		if err != nil {
			c.refuse("attn_type_list", "is missing")
		}
		if kind == "full_attention" {
			full = 1
		}
	}
	if full == 1 {
		return a
	}
	return Attention{Kind: LinearAttention, State: State{Mixer: Lightning, Heads: m.Heads, Rows: a.HeadDim, Columns: a.HeadDim}}
}

// lfm2Attention has gated short convolutions between attention layers.
func lfm2Attention(m *Model, c *config, layer int) Attention {
	full := false
	if items, ok := c.list("full_attn_idxs"); ok && c.fields["layer_types"] == nil {
		for _, item := range items {
			if n, whole := integer(item); whole && n == layer {
				full = true
			}
		}
	} else {
		kind, err := layerKind(c, "layer_types", layer)
		if err != nil || kind != "conv" && kind != "full_attention" {
			c.refuse("layer_types", "expected conv or full_attention at layer %d, got %q", layer, kind)
			return Attention{}
		}
		full = kind == "full_attention"
	}
	if full {
		return fullAttention(m, c, layer)
	}
	bias := c.flag(false, "conv_bias")
	return Attention{Kind: LinearAttention, State: State{
		Mixer: ShortConv, Kernel: c.kernel("conv_L_cache"), Channels: m.HiddenSize, ConvBias: bias, Bias: bias,
	}}
}

// lfm2MLP adjusts the width: two thirds, times a factor, rounded up.
func lfm2MLP(_ *Model, c *config, _ int) MLP {
	n := c.width("intermediate_size", "block_ff_dim")
	if c.flag(true, "block_auto_adjust_ff_dim") {
		n = int(c.number(1, "block_ffn_dim_multiplier") * float64(2*n/3))
		multiple := c.widthOr(256, "block_multiple_of")
		n = (n + multiple - 1) / multiple * multiple
	}
	if n < 1 || n > maxWidth {
		c.refuse("intermediate_size", "%d is outside 1 to %d", n, maxWidth)
	}
	return MLP{Gated: true, Intermediate: n}
}

func lfm2Experts(m *Model, c *config, layer int) MLP {
	if dense, _ := c.count(0, maxLayers, "num_dense_layers"); layer < dense {
		return denseMLP(m, c, layer)
	}
	return perToken(c, MLP{
		Gated: true, Experts: c.width("num_experts"), ExpertIntermediate: c.width("moe_intermediate_size"),
		RouterBias: c.flag(true, "use_expert_bias"),
	})
}

// layerKind reads a list of names with one per layer.
func layerKind(c *config, field string, layer int) (string, error) {
	items, ok := c.list(field)
	if !ok {
		return "", errMissing
	}
	if layer >= len(items) {
		return "", fmt.Errorf("has %d entries, layer %d is missing", len(items), layer)
	}
	name, isString := items[layer].(string)
	if !isString {
		return "", fmt.Errorf("expected names, got %s", show(items[layer]))
	}
	return name, nil
}
