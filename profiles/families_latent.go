package profiles

// latentFamilies cache one compressed vector per token.
var latentFamilies = map[string]family{
	"deepseek_v2":   llamaLike(latentUnlessOff, sparseMLP),
	"deepseek_v3":   llamaLike(latentAttention, sparseMLP),
	"deepseek_v32":  llamaLike(latentAttention, sparseMLP),
	"deepseek_v4":   {norms: 2, layers: deepseekV4Layers, setup: deepseekV4},
	"kimi_k2":       llamaLike(latentAttention, sparseMLP),
	"glm_moe_dsa":   llamaLike(latentAttention, sparseMLP),
	"glm4_moe_lite": llamaLike(latentAttention, sparseMLP),
	"minicpm3":      llamaLike(latentAttention, denseMLP).with(tied),
}

// latentAttention reads MLA (DeepSeek-V2, arXiv 2405.04434 §2.1). Such files also
// carry num_key_value_heads and sometimes head_dim, which mean nothing there.
func latentAttention(m *Model, c *config, layer int) Attention {
	rank, ok := c.count(1, maxWidth, "kv_lora_rank")
	if !ok {
		c.refuse("kv_lora_rank", "is missing")
	}
	nope, rope := c.width("qk_nope_head_dim"), c.width("qk_rope_head_dim")
	a := Attention{
		Kind: LatentAttention, Heads: m.Heads, KVHeads: 1,
		HeadDim: nope + rope, RopeHeadDim: rope, LatentRank: rank,
		// MiniCPM3 has no v_head_dim; its class divides hidden_size by heads.
		ValueDim: c.widthOr(max(1, m.HiddenSize/max(1, m.Heads)), "v_head_dim"),
	}
	a.QueryRank, _ = c.count(0, maxWidth, "q_lora_rank")
	a.IndexDim, _ = c.count(0, maxWidth, "index_head_dim")
	if a.IndexDim > 0 {
		a.IndexHeads, a.IndexWeights = c.width("index_n_heads"), true
		// 2,048 is the default of the classes (transformers, DeepseekV32Config).
		a.Selected = c.widthOr(2048, "index_topk")
		a.IndexReused = reusesIndex(c, layer)
	}
	return a
}

// reusesIndex reads indexer_types, by which GLM-5.2 tells the layers that score
// tokens from those that take over the choice of the one before.
func reusesIndex(c *config, layer int) bool {
	if _, ok := c.list("indexer_types"); !ok {
		return false
	}
	switch kind, err := layerKind(c, "indexer_types", layer); {
	case err != nil:
		c.refuse("indexer_types", "%v", err)
	case kind == "shared":
		return true
	case kind != "full":
		c.refuse("indexer_types", "%q at layer %d is not one of full, shared", kind, layer)
	}
	return false
}

// latentUnlessOff is plain attention in the small DeepSeek-VL2, whose text part
// is of the same class with use_mla off.
func latentUnlessOff(m *Model, c *config, layer int) Attention {
	if !c.flag(true, "use_mla") {
		return fullAttention(m, c, layer)
	}
	return latentAttention(m, c, layer)
}

// deepseekV4 has hyper-connections around each mixer and MLP, and one before
// the head: a projection of all streams to their mixing weights, its base and
// its scales (vLLM, models/deepseek_v4.py). Experts come in mxfp4 unless
// expert_dtype says fp8.
func deepseekV4(m *Model, c *config) {
	streams, ok := c.count(1, 64, "hc_mult")
	if !ok {
		c.refuse("hc_mult", "is missing")
		return
	}
	mixing, width := (2+streams)*streams, streams*m.HiddenSize
	m.LayerSmall = 2 * (mixing*width + mixing + 3)
	m.OuterSmall = streams*width + streams + 1
}

// deepseekV4Layers also tells the experts' format, which the file states apart:
// an fp8 checkpoint holds them in mxfp4 unless expert_dtype or a list of
// ModelOptimizer's says otherwise (vLLM, DeepseekV4FP8Config).
func deepseekV4Layers(m *Model, c *config, n int) {
	eachLayer(compressedAttention, hashedMLP)(m, c, n)
	q := &m.Quantization
	switch kind := c.text("fp4", "expert_dtype"); {
	case q.Method != "fp8" || len(q.Parts) > 0 || kind == "fp8":
	case kind == "fp4":
		q.Parts = []Part{{Encoding: Encoding{Method: "mxfp4", Bits: 4, GroupSize: 32}, Modules: []string{"experts"}}}
	default:
		c.refuse("expert_dtype", "%q is not one of fp4, fp8", kind)
	}
}

// compressedAttention reads V4's attention: each layer keeps a window, and by
// compress_ratios one vector per 4 or 128 tokens beside it. Only layers that
// compress by 4 choose what to read with an index.
func compressedAttention(m *Model, c *config, layer int) Attention {
	a := Attention{
		Kind: CompressedAttention, Heads: m.Heads, KVHeads: 1, HeadDim: c.width("head_dim"),
		QueryRank: c.width("q_lora_rank"), RopeHeadDim: c.width("qk_rope_head_dim"),
		OutputRank: c.width("o_lora_rank"), OutputGroups: c.width("o_groups"), Window: c.width("sliding_window"),
	}
	a.ValueDim = a.HeadDim
	ratio, ok := listed(c, "compress_ratios", layer)
	if !ok {
		c.refuse("compress_ratios", "is missing")
	}
	if ratio < 0 || ratio > 1<<16 {
		c.refuse("compress_ratios", "%d at layer %d is outside 0 to 65536", ratio, layer)
		return a
	}
	if ratio > 1 {
		a.Compression = ratio
	}
	if ratio == 4 {
		a.IndexDim, a.IndexHeads = c.width("index_head_dim"), c.width("index_n_heads")
	}
	return a
}

// hashedMLP: the first num_hash_layers choose experts by a table, not by a
// learned correction. The table is integers, and counts as no parameters.
func hashedMLP(m *Model, c *config, layer int) MLP {
	x := sparseMLP(m, c, layer)
	if hashed, _ := c.count(0, maxLayers, "num_hash_layers"); layer < hashed {
		x.RouterBias = false
	}
	return x
}
