package profiles

// gptFamilies are models in the line of GPT-2: LayerNorm, biases, an MLP
// without a gate, in part learned positions.
var gptFamilies = map[string]family{
	"gpt2":        gptLike().with(tied, allBiases, named(gpt2Names), setUp(learnedPositions)),
	"gpt_bigcode": gptLike().with(tied, allBiases, named(gpt2Names), setUp(learnedPositions)),
	"gptj":        gptLike().with(norms(1), named(gpt2Names), setUp(func(m *Model, _ *config) { m.MLPBias, m.HeadBias = true, true })),
	"gpt_neox":    gptLike().with(allBiases),
	"bloom": gptLike().with(tied, allBiases, named(bloomNames),
		defaultsOf(map[string]any{"max_position_embeddings": 2048}), setUp(func(m *Model, _ *config) { m.OuterNorms = 2 })),
	"opt": gptLike().with(tied, allBiases, named(map[string]string{"intermediate_size": "ffn_dim"}), setUp(opt)),
	"mpt": gptLike().with(tied, named(mptNames), setUp(mpt)),
	"falcon": gptLike().with(tied, named(map[string]string{"num_key_value_heads": "num_kv_heads", "intermediate_size": "ffn_hidden_size"}),
		defaultsOf(map[string]any{"max_position_embeddings": 2048}), setUp(falcon)),
	"RefinedWeb": gptLike().with(tied, named(bloomNames),
		defaultsOf(map[string]any{"max_position_embeddings": 2048, "new_decoder_architecture": true}), setUp(falcon)),
	"phi":        gptLike().with(allBiases, norms(1), setUp(func(m *Model, _ *config) { m.HeadBias = true })),
	"starcoder2": {tied: true, norms: 2, normBias: true, layers: eachLayer(windowEverywhere, plainMLP), setup: starcoder2},
	"nemotron":   llamaLike(fullAttention, plainMLP).with(layerNorm),
	"stablelm":   llamaLike(fullAttention, denseMLP).with(layerNorm, noOutputBias, setUp(stableLM)),
	"phi3small": {tied: true, norms: 2, normBias: true, qkvBias: true, outputAlways: true, mlpBias: true,
		layers: eachLayer(fullAttention, denseMLP), aliases: map[string]string{"intermediate_size": "ff_intermediate_size"}},
}

func gptLike() family {
	return family{norms: 2, normBias: true, layers: eachLayer(gptAttention, gptMLP)}
}

var gpt2Names = map[string]string{
	"hidden_size": "n_embd", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer",
	"max_position_embeddings": "n_positions", "intermediate_size": "n_inner",
}

var bloomNames = map[string]string{
	"hidden_size": "n_embed", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer", "max_position_embeddings": "seq_length",
	"num_key_value_heads": "n_head_kv",
}

var mptNames = map[string]string{
	"hidden_size": "d_model", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers",
	"max_position_embeddings": "max_seq_len", "num_key_value_heads": "attn_config.kv_n_heads",
}

// gptAttention is multi-head attention, or multi-query where the file says so.
func gptAttention(m *Model, c *config, layer int) Attention {
	a := fullAttention(m, c, layer)
	switch {
	case m.Type == "falcon" && !c.flag(false, "new_decoder_architecture"):
		// num_kv_heads counts only in the new architecture.
		a.KVHeads = m.Heads
		if c.flag(true, "multi_query") {
			a.KVHeads = 1
		}
	case m.Type == "gpt_bigcode" && c.flag(true, "multi_query"):
		a.KVHeads = 1
	}
	return a
}

// gptMLP is four times as wide as the model unless the file says otherwise.
func gptMLP(m *Model, c *config, _ int) MLP {
	return MLP{Intermediate: c.widthOr(c.widthOr(4, "expansion_ratio")*m.HiddenSize, "intermediate_size")}
}

// plainMLP is an MLP without a gate.
func plainMLP(_ *Model, c *config, _ int) MLP { return MLP{Intermediate: c.width("intermediate_size")} }

func learnedPositions(m *Model, _ *config) { m.PositionRows = m.MaxPositions }

// opt has two unused rows of positions, and in one size a narrower embedding.
func opt(m *Model, c *config) {
	m.PositionRows = m.MaxPositions + 2
	if !c.flag(true, "enable_bias") {
		m.AttentionBias, m.OutputBias, m.MLPBias = false, false, false
	}
	if n := c.widthOr(m.HiddenSize, "word_embed_proj_dim"); n != m.HiddenSize {
		m.EmbeddingWidth, m.OuterLinear = n, 2*n*m.HiddenSize
	}
	if !c.flag(true, "do_layer_norm_before") || c.flag(false, "_remove_final_layer_norm") {
		m.OuterNorms = 0
	}
}

func mpt(m *Model, c *config) {
	m.NormBias = !c.flag(false, "no_bias")
	m.AttentionBias, m.OutputBias, m.MLPBias = m.NormBias, m.NormBias, m.NormBias
	attention := c.object("attn_config")
	alibi, qkNorm := false, false
	if attention != nil {
		alibi, qkNorm = attention.flag(false, "alibi"), attention.flag(false, "qk_ln")
		c.adopt(attention)
	}
	if !alibi && c.flag(true, "learned_pos_emb") {
		learnedPositions(m, c)
	}
	m.QKNormWide = qkNorm
}

// falcon: one norm per layer where attention and MLP run side by side on the
// same input, two where each has its own.
func falcon(m *Model, c *config) {
	if c.flag(false, "bias") {
		m.AttentionBias, m.OutputBias, m.MLPBias = true, true, true
	}
	switch {
	case c.flag(false, "new_decoder_architecture"):
		m.Norms = c.widthOr(2, "num_ln_in_parallel_attn")
	case c.flag(true, "parallel_attn"):
		m.Norms = 1
	}
}

func starcoder2(m *Model, c *config) {
	bias := c.flag(true, "use_bias")
	m.AttentionBias, m.OutputBias, m.MLPBias = bias, bias, bias
}

func stableLM(m *Model, c *config) {
	if c.flag(false, "use_parallel_residual") {
		m.Norms = 1
	}
	m.QKNorm = false
	m.QKNormWide = c.flag(false, "qk_layernorm")
}
