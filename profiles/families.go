package profiles

// family is what a model_type implies beyond the fields of its config.json: the
// defaults of its configuration class in transformers (models/<type>/
// configuration_<type>.py) and the modules of its model class.
type family struct {
	defaults   map[string]any
	tied       bool // tie_word_embeddings when the file does not say
	qkvBias    bool // q, k and v always have a bias
	outputBias bool // attention_bias also puts one on the output projection
	mlpBias    bool
	qkNorm     bool
	norms      int
	layers     func(m *Model, c *config, n int)
}

// llamaLike is the pattern that most families follow: one mixer and one MLP per
// layer, two norms, no bias unless the file asks for it.
func llamaLike(attention attentionRule, mlp mlpRule) family {
	return family{norms: 2, outputBias: true, layers: eachLayer(attention, mlp)}
}

func (f family) with(change func(*family)) family {
	change(&f)
	return f
}

func qkvBias(f *family) { f.qkvBias = true }
func qkNorm(f *family)  { f.qkNorm = true }
func tied(f *family)    { f.tied = true }

// gemmaLike models tie their embeddings by class default (PretrainedConfig's
// tie_word_embeddings is true and Gemma does not override it).
func gemmaLike(attention attentionRule, mlp mlpRule, norms int, defaults map[string]any) family {
	return family{tied: true, norms: norms, outputBias: true, defaults: defaults, layers: eachLayer(attention, mlp)}
}

var families = map[string]family{
	"llama":      llamaLike(fullAttention, denseMLP),
	"mistral":    llamaLike(windowEverywhere, denseMLP).with(mistralWindow),
	"ministral3": llamaLike(windowEverywhere, denseMLP),
	"mixtral":    llamaLike(windowEverywhere, expertsAreIntermediate("num_local_experts")),
	"baichuan":   llamaLike(fullAttention, denseMLP),
	"xverse":     llamaLike(fullAttention, denseMLP),
	"granite":    llamaLike(fullAttention, denseMLP).with(tied),
	"mimo":       llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"phi3":       llamaLike(windowEverywhere, denseMLP),
	"phi3_v":     llamaLike(windowEverywhere, denseMLP),
	"qwen":       llamaLike(fullAttention, halvedMLP).with(qkvBias),

	"qwen2":             llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"qwen2_vl":          llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"qwen2_5_vl":        llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"qwen2_moe":         llamaLike(windowFromLayer, sparseMLP).with(qkvBias),
	"qwen3":             llamaLike(windowFromLayer, denseMLP).with(qkNorm).with(headDim(128)),
	"qwen3_vl_text":     llamaLike(fullAttention, denseMLP).with(qkNorm).with(headDim(128)),
	"qwen3_moe":         llamaLike(windowFromLayer, sparseMLP).with(qkNorm),
	"qwen3_vl_moe_text": llamaLike(fullAttention, sparseMLP).with(qkNorm),

	"qwen3_next":       llamaLike(hybridAttention(gatedDeltaNet), sparseMLP).with(qkNorm),
	"qwen3_5_text":     llamaLike(hybridAttention(gatedDeltaNet), denseMLP).with(qkNorm),
	"qwen3_5_moe_text": llamaLike(hybridAttention(gatedDeltaNet), sparseMLP).with(qkNorm),
	"nemotron_h":       {norms: 1, layers: nemotronH},

	"deepseek_v2":   llamaLike(latentAttention, sparseMLP),
	"deepseek_v3":   llamaLike(latentAttention, sparseMLP),
	"deepseek_v32":  llamaLike(latentAttention, sparseMLP),
	"kimi_k2":       llamaLike(latentAttention, sparseMLP),
	"glm_moe_dsa":   llamaLike(latentAttention, sparseMLP),
	"glm4_moe_lite": llamaLike(latentAttention, sparseMLP),
	"minicpm3":      llamaLike(latentAttention, denseMLP).with(tied),

	"glm4_moe":    llamaLike(fullAttention, sparseMLP).with(func(f *family) { f.outputBias = false }),
	"minimax_m2":  llamaLike(fullAttention, expertsAreIntermediate("num_local_experts")),
	"olmoe":       llamaLike(fullAttention, expertsAreIntermediate("num_experts")).with(qkNorm),
	"gpt_oss":     llamaLike(patternAttention, expertsAreIntermediate("num_local_experts")).with(func(f *family) { f.mlpBias = true }),
	"llama4_text": llamaLike(chunkedAttention, llama4MLP),

	"nemotron-nas": {norms: 2, outputBias: true, layers: blockConfigs},

	"gemma":       gemmaLike(fullAttention, denseMLP, 2, map[string]any{"head_dim": 256}),
	"gemma2":      gemmaLike(patternAttention, denseMLP, 4, map[string]any{"head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 2}),
	"gemma3_text": gemmaLike(patternAttention, denseMLP, 4, gemma3Defaults).with(qkNorm),
	"gemma4_text": gemmaLike(patternAttention, gemma4MLP, 4, nil).with(qkNorm),
}

// gemma3Defaults are those of Gemma3TextConfig; published files leave out what
// equals them.
var gemma3Defaults = map[string]any{
	"vocab_size": 262_208, "hidden_size": 2304, "intermediate_size": 9216,
	"num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
	"head_dim": 256, "max_position_embeddings": 131_072,
	"sliding_window": 4096, "sliding_window_pattern": 6,
	"hidden_act": "gelu_pytorch_tanh", "rope_theta": 1e6,
}

// headDim sets the class default of head_dim, which differs from
// hidden_size / num_attention_heads.
func headDim(n int) func(*family) {
	return func(f *family) { f.defaults = map[string]any{"head_dim": n} }
}

// mistralWindow is MistralConfig's default: a file that says null has no
// window, a file that does not name the field has one of 4,096 tokens.
func mistralWindow(f *family) { f.defaults = map[string]any{"sliding_window": 4096} }
