package profiles

// llamaFamilies are dense models with RMSNorm and a gated MLP.
var llamaFamilies = map[string]family{
	"llama":      llamaLike(fullAttention, denseMLP).with(sparse(llamaDefaults)),
	"aquila":     llamaLike(fullAttention, denseMLP),
	"mistral":    llamaLike(windowEverywhere, denseMLP).with(mistralWindow, sparse(mistralDefaults)),
	"ministral":  llamaLike(patternOrWindow, denseMLP),
	"ministral3": llamaLike(windowEverywhere, denseMLP),
	"baichuan": llamaLike(fullAttention, denseMLP).with(defaultsOf(map[string]any{"max_position_embeddings": 4096}),
		named(map[string]string{"max_position_embeddings": "model_max_length"})),
	"xverse":    llamaLike(fullAttention, denseMLP),
	"minicpm":   llamaLike(fullAttention, denseMLP).with(tied),
	"granite":   llamaLike(fullAttention, denseMLP).with(tied),
	"mimo":      llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"phi3":      llamaLike(windowEverywhere, denseMLP),
	"phi3_v":    llamaLike(windowEverywhere, denseMLP),
	"internlm":  llamaLike(fullAttention, denseMLP).with(setUp(biasFlag("bias"))),
	"internlm2": llamaLike(fullAttention, denseMLP).with(setUp(biasFlag("bias"))),
	"internlm3": llamaLike(fullAttention, denseMLP).with(setUp(internLM3)),
	"seed_oss":  llamaLike(fullAttention, denseMLP).with(setUp(seedOSS)),
	"smollm3":   llamaLike(patternOrFull, denseMLP).with(tied),
	"arcee":     llamaLike(fullAttention, plainMLP),
	"ernie4_5":  llamaLike(fullAttention, denseMLP).with(tied, setUp(everyBias("use_bias"))),
	"orion":     llamaLike(fullAttention, denseMLP).with(layerNorm),
	"exaone":    llamaLike(fullAttention, denseMLP).with(named(map[string]string{"num_hidden_layers": "num_layers"})),
	"exaone4":   llamaLike(patternOrFull, denseMLP).with(qkNorm),
	"apertus":   llamaLike(fullAttention, plainMLP).with(qkNorm, setUp(func(m *Model, _ *config) { m.LayerSmall = 2 })),
	"glm":       llamaLike(fullAttention, denseMLP).with(noOutputBias, headDim(128)),
	"glm4":      llamaLike(fullAttention, denseMLP).with(noOutputBias, norms(4), headDim(128)),
	"chatglm":   llamaLike(fullAttention, denseMLP).with(named(chatGLMNames), setUp(chatGLM)),

	"hunyuan_v1_dense": llamaLike(fullAttention, denseMLP).with(tied, setUp(hunyuan)),

	"qwen":          llamaLike(fullAttention, halvedMLP).with(qkvBias),
	"qwen2":         llamaLike(windowFromLayer, denseMLP).with(qkvBias, sparse(qwen2Defaults)),
	"qwen2_vl":      llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"qwen2_vl_text": llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"qwen2_5_vl":    llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"qwen3":         llamaLike(windowFromLayer, denseMLP).with(qkNorm, headDim(128)),
	"qwen3_vl_text": llamaLike(fullAttention, denseMLP).with(qkNorm, headDim(128)),

	"qwen2_5_vl_text": llamaLike(windowFromLayer, denseMLP).with(qkvBias),

	"olmo":  llamaLike(fullAttention, denseMLP).with(norms(0), setUp(func(m *Model, _ *config) { m.OuterNorms = 0 })),
	"olmo2": llamaLike(fullAttention, denseMLP).with(setUp(wideNorm)),
	"olmo3": llamaLike(patternOrWindow, denseMLP).with(setUp(wideNorm)),

	"cohere":  llamaLike(fullAttention, denseMLP).with(tied, norms(1), setUp(cohereNorm)),
	"cohere2": llamaLike(patternAttention, denseMLP).with(tied, norms(1), defaultsOf(map[string]any{"sliding_window": 4096, "sliding_window_pattern": 4})),

	"nemotron-nas":      {norms: 2, outputBias: true, layers: blockConfigs},
	"mllama_text_model": {norms: 2, layers: mllama, setup: func(m *Model, _ *config) { m.OuterSmall = 8 * m.HiddenSize }},

	"gemma":        gemmaLike(fullAttention, denseMLP, 2, map[string]any{"head_dim": 256}).with(sparse(gemmaDefaults)),
	"gemma2":       gemmaLike(patternAttention, denseMLP, 4, map[string]any{"head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 2}).with(sparse(gemma2Defaults)),
	"gemma3_text":  gemmaLike(patternAttention, denseMLP, 4, gemma3Defaults).with(qkNorm),
	"gemma3n_text": gemmaLike(gemma3nAttention, gemma3nMLP, 4, gemma3nDefaults).with(qkNorm, setUp(gemma3n)),
	"gemma4_text":  gemmaLike(gemma4Attention, gemma4MLP, 4, nil).with(qkNorm, setUp(gemma4)),
}

// gemmaLike models tie their embeddings by class default (PretrainedConfig's
// tie_word_embeddings is true and Gemma does not override it).
func gemmaLike(attention attentionRule, mlp mlpRule, norms int, defaults map[string]any) family {
	return family{tied: true, norms: norms, outputBias: true, defaults: defaults, layers: eachLayer(attention, mlp)}
}

// What the configuration classes of transformers assume (models/<type>/
// configuration_<type>.py). A text part is written as what differs from its class;
// a file of the model alone states them all.
var (
	llamaDefaults = map[string]any{
		"vocab_size": 32_000, "hidden_size": 4096, "intermediate_size": 11_008, "num_hidden_layers": 32,
		"num_attention_heads": 32, "max_position_embeddings": 2048,
	}
	mistralDefaults = map[string]any{
		"vocab_size": 32_000, "hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 32,
		"num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131_072,
	}
	qwen2Defaults = map[string]any{
		"vocab_size": 151_936, "hidden_size": 4096, "intermediate_size": 22_016, "num_hidden_layers": 32,
		"num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 32_768,
	}
	gemmaDefaults = map[string]any{
		"vocab_size": 256_000, "hidden_size": 3072, "intermediate_size": 24_576, "num_hidden_layers": 28,
		"num_attention_heads": 16, "num_key_value_heads": 16, "max_position_embeddings": 8192,
	}
	gemma2Defaults = map[string]any{
		"vocab_size": 256_000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
		"num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 8192,
	}
)

// gemma3Defaults are those of Gemma3TextConfig; published files leave out what
// equals them.
var gemma3Defaults = map[string]any{
	"vocab_size": 262_208, "hidden_size": 2304, "intermediate_size": 9216,
	"num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
	"head_dim": 256, "max_position_embeddings": 131_072,
	"sliding_window": 4096, "sliding_window_pattern": 6,
	"hidden_act": "gelu_pytorch_tanh", "rope_theta": 1e6,
}

// mistralWindow is MistralConfig's default: a file that says null has no
// window, a file that does not name the field has one of 4,096 tokens.
func mistralWindow(f *family) { f.defaults = map[string]any{"sliding_window": 4096} }

// biasFlag reads one flag for the biases of attention alone.
func biasFlag(name string) func(*Model, *config) {
	return func(m *Model, c *config) {
		m.AttentionBias = c.flag(false, name)
		m.OutputBias = m.AttentionBias
	}
}

// everyBias reads one flag for all biases of a layer.
func everyBias(name string) func(*Model, *config) {
	return func(m *Model, c *config) {
		if c.flag(false, name) {
			m.AttentionBias, m.OutputBias, m.MLPBias = true, true, true
		}
	}
}

func internLM3(m *Model, c *config) {
	m.OutputBias = c.flag(false, "bias")
	m.MLPBias = m.OutputBias
}

// seedOSS has a flag of its own for the bias of the output projection.
func seedOSS(m *Model, c *config) {
	m.AttentionBias = c.flag(true, "attention_bias")
	m.OutputBias = c.flag(false, "attention_out_bias")
}

func hunyuan(m *Model, c *config) { m.QKNorm = c.flag(true, "use_qk_norm") }

// cohereNorm: Command R+ has a norm on queries and keys that is learned for
// each head on its own.
func cohereNorm(m *Model, c *config) {
	m.QKNorm, m.QKNormWide = false, c.flag(false, "use_qk_norm")
}

// chatGLMNames are the fields of ChatGLM2, ChatGLM3 and GLM-4's first files
// (configuration_chatglm.py). The first ChatGLM has none of them.
var chatGLMNames = map[string]string{
	"num_hidden_layers": "num_layers", "vocab_size": "padded_vocab_size", "max_position_embeddings": "seq_length",
	"intermediate_size": "ffn_hidden_size", "num_key_value_heads": "multi_query_group_num", "attention_bias": "add_qkv_bias",
}

func chatGLM(m *Model, c *config) {
	m.OutputBias = c.flag(false, "add_bias_linear")
	m.MLPBias = m.OutputBias
	if !c.flag(false, "rmsnorm") {
		m.NormBias = true
	}
	if !c.flag(true, "multi_query_attention") {
		c.refuse("multi_query_attention", "false is not supported")
	}
}

// mllama alternates self-attention with layers that attend to the image, each
// with two gates (transformers, modeling_mllama.py).
func mllama(m *Model, c *config, n int) {
	cross := map[int]bool{}
	items, ok := c.list("cross_attention_layers")
	if !ok {
		c.refuse("cross_attention_layers", "is missing")
	}
	for _, item := range items {
		i, whole := integer(item)
		if !whole || i < 0 || i >= n {
			c.refuse("cross_attention_layers", "expected layers below %d, got %s", n, show(item))
		}
		cross[i] = true
	}
	for i := range n {
		a := fullAttention(m, c, i)
		if cross[i] {
			a.Kind, a.Small = CrossAttention, 2*a.HeadDim+2
		}
		m.Layers = append(m.Layers, Layer{Attention: a, MLP: denseMLP(m, c, i)})
		if c.err != nil {
			return
		}
	}
}
