package profiles

import (
	"fmt"
	"maps"
	"slices"
)

// ParseModel reads a Hugging Face config.json. What a size depends on must be
// in the file or be a default of the model's class in transformers; a field
// that can not be understood is refused by name, never guessed. A multimodal
// config is read for its text part.
func ParseModel(name string, data []byte) (*Model, error) {
	root, err := decodeConfig(data)
	if err != nil {
		return nil, fmt.Errorf("reading config of %s: %w", name, err)
	}
	m, err := parseModel(name, root)
	if err != nil {
		return nil, fmt.Errorf("reading config of %s: %w", name, err)
	}
	return m, nil
}

func parseModel(name string, root *config) (*Model, error) {
	root = thinker(root)
	c := textPart(root)
	kind := c.text(textType(c, root), "model_type")
	if kind == "minicpmv" {
		kind = miniCPMVType(c)
	}
	if c.err == nil && root.err == nil && kind == "" {
		c.refuse("model_type", "is missing; this is not a config.json of a language model")
	}
	fam, known := families[kind]
	if !known && c.err == nil {
		c.refuse("model_type", "%q is not supported%s", kind, nearFamily(kind))
	}
	c.adopt(root)
	if c.err != nil {
		return nil, c.err
	}
	c.aliases, c.defaults = fam.aliases, fam.defaults
	if c != root {
		// A text part is written as what differs from its class.
		c.defaults = merged(fam.nested, fam.defaults)
	}

	m := &Model{Name: name, Type: kind, Source: "config.json"}
	readShared(m, c, root, fam)
	m.Vision = readVision(root, m)
	m.WholeImages = m.Vision != nil && c.fields["use_bidirectional_attention"] == "vision"
	layers := layerCount(c)
	if layers > maxLayers {
		c.refuse("num_hidden_layers", "%d is more than %d", layers, maxLayers)
	}
	m.Quantization = readQuantization(root, c)
	if c.err == nil {
		fam.layers(m, c, layers)
		checkLayerTypes(m, c)
		checkScale(m, c)
	}
	c.adopt(root)
	if c.err != nil {
		return nil, c.err
	}
	return m, nil
}

// checkScale refuses a model whose sizes would not be numbers any more.
func checkScale(m *Model, c *config) {
	parameters, cached := 2*float64(m.VocabSize)*float64(m.HiddenSize), 0.0
	parameters += float64(m.PerLayerVocab)*float64(m.PerLayerWidth)*float64(len(m.Layers)) + float64(m.OuterLinear) + float64(m.OuterSmall)
	state := 0.0
	for _, layer := range m.Layers {
		a, x := layer.Attention, layer.MLP
		width := float64(a.HeadDim + a.ValueDim)
		expertHidden := float64(max(m.HiddenSize, x.ExpertHidden))
		parameters += float64(m.HiddenSize)*(float64(a.Heads+a.KVHeads)*width+3*float64(x.Intermediate+x.SharedIntermediate)) +
			3*expertHidden*float64(x.Experts)*float64(x.ExpertIntermediate) + float64(m.LayerSmall)
		parameters += float64(a.QueryRank+a.LatentRank+a.OutputRank) * float64(a.Heads) * width
		parameters += float64(max(a.QueryRank, m.HiddenSize)) * float64(a.IndexHeads+1) * float64(a.IndexDim)
		s := a.State
		inner := float64(s.Channels) + float64(s.Groups)*float64(s.GroupChannels) + float64(s.Heads)*float64(s.Rows)
		parameters += 4 * float64(m.HiddenSize+s.Columns+s.TimeRank) * inner
		cached += float64(a.KVHeads)*width + float64(a.LatentRank+a.RopeHeadDim+a.IndexDim)
		state += float64(s.Heads)*float64(s.Rows)*float64(s.Columns) + inner*float64(s.Kernel)
	}
	if state > maxState {
		c.refuse("hidden_size", "with these widths a sequence keeps a state of %.2g values, more than %.2g", state, maxState)
	}
	if parameters > maxParameters {
		c.refuse("hidden_size", "with these widths the model has %.2g parameters, more than %.2g", parameters, maxParameters)
	}
	if cached > maxCached {
		c.refuse("num_key_value_heads", "a token caches %.2g values, more than %.2g", cached, maxCached)
	}
}

// textPart returns the object that describes the language model.
func textPart(root *config) *config {
	for _, name := range []string{"text_config", "llm_config", "language_config"} {
		if nested := root.object(name); nested != nil {
			return nested
		}
	}
	return root
}

// textTypes are the types of the text part that wrappers assume where it names
// none (transformers, models/<type>/configuration_<type>.py; vLLM's models).
var textTypes = map[string]string{
	"llava": "llama", "llava_next": "llama", "llava_next_video": "llama", "video_llava": "llama", "vipllava": "llama",
	"idefics3": "llama", "smolvlm": "llama", "cohere2_vision": "cohere2", "glm4v": "glm4v_text", "glm46v": "glm4v_text",
	"glm4v_moe": "glm4v_moe_text", "qwen2_5_omni_thinker": "qwen2_5_omni_text", "qwen3_omni_moe_thinker": "qwen3_omni_moe_text", "aria": "aria_text",
	"llava_onevision": "qwen2", "paligemma": "gemma", "mistral3": "mistral",
	"gemma3": "gemma3_text", "gemma3n": "gemma3n_text", "gemma4": "gemma4_text",
	"llama4": "llama4_text", "mllama": "mllama_text_model", "minimax_m3_vl": "minimax_m3",
}

// textType is the type of a text part that names none.
func textType(c, root *config) string {
	kind := root.text("", "model_type")
	if of, ok := textTypes[kind]; ok && c != root {
		return of
	}
	return kind
}

// layerCount reads the number of layers, which a file may state as a list with
// an entry for each.
func layerCount(c *config) int {
	if _, _, ok := c.lookup("num_hidden_layers"); !ok {
		if kinds, ok := c.list("layers_block_type"); ok && len(kinds) > 0 {
			return len(kinds)
		}
	}
	return c.width("num_hidden_layers")
}

// readShared reads what all families say in the same words.
func readShared(m *Model, c, root *config, fam family) {
	if names, ok := root.list("architectures"); ok && len(names) > 0 {
		m.Architecture, _ = names[0].(string)
	}
	m.HiddenSize = c.width("hidden_size")
	m.VocabSize = vocabulary(c, root)
	if !fam.headless {
		m.Heads = c.width("num_attention_heads")
	}
	if n, ok := c.count(1, maxTokens, "max_position_embeddings"); ok {
		m.MaxPositions = n
	} else {
		c.refuse("max_position_embeddings", "is missing")
	}
	// A wrapper may state the flag at its top level; the text part wins where
	// both do, since that is the object the text model is built from.
	m.TiedEmbeddings = c.flag(root.flag(fam.tied, "tie_word_embeddings"), "tie_word_embeddings")
	m.AttentionBias = fam.qkvBias || c.flag(false, "attention_bias", "qkv_bias", "use_qkv_bias")
	m.OutputBias = fam.outputAlways || !fam.qkvBias && fam.outputBias && c.flag(false, "attention_bias")
	m.MLPBias = fam.mlpBias || c.flag(false, "mlp_bias")
	m.QKNorm = fam.qkNorm || c.flag(false, "use_qk_norm")
	m.Norms, m.OuterNorms, m.NormBias = fam.norms, 1, fam.normBias
	m.NormEpsilon = c.number(1e-6, "rms_norm_eps", "layer_norm_epsilon", "norm_eps", "layer_norm_eps", "layernorm_epsilon")
	m.Activation = c.text("silu", "hidden_act", "hidden_activation", "activation_function")
	m.BOSToken = -1
	if n, ok := c.count(0, maxTokens, "bos_token_id"); ok {
		m.BOSToken = n
	} else if n, ok := root.count(0, maxTokens, "bos_token_id"); ok {
		m.BOSToken = n
	}
	m.EOSTokens = readTokens(c)
	if len(m.EOSTokens) == 0 {
		m.EOSTokens = readTokens(root)
	}
	m.MTPLayers, _ = c.count(0, maxLayers, "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
	readRope(m, c)
	if m.RopeShare < 0 || m.RopeShare > 1 {
		c.refuse("partial_rotary_factor", "%g is outside 0 to 1", m.RopeShare)
	}
	m.DType = readDType(c, root)
	// Also of families without windows: what makes no sense is no such family's.
	c.count(0, maxTokens, "sliding_window")
	if fam.setup != nil {
		fam.setup(m, c)
	}
}

// vocabulary reads vocab_size; a wrapper may be alone in stating it.
func vocabulary(c, root *config) int {
	if c != root {
		if _, _, ok := c.lookup("vocab_size"); !ok {
			if n, ok := root.count(1, maxWidth, "vocab_size"); ok {
				return n
			}
		}
	}
	return c.width("vocab_size")
}

// readTokens reads eos_token_id, which is a number or a list of them.
func readTokens(c *config) []int {
	_, value, ok := c.lookup("eos_token_id")
	if !ok {
		return nil
	}
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	var tokens []int
	for _, item := range items {
		n, whole := integer(item)
		if !whole || n < 0 {
			c.refuse("eos_token_id", "expected token ids, got %s", show(value))
			return nil
		}
		tokens = append(tokens, n)
	}
	return tokens
}

// readRope reads the rotary embedding and what its table of sines takes: a row
// per position, stretched by the kinds of scaling that compute them ahead. Since transformers 5
// both live in rope_parameters, and there may be one such object per kind of
// layer; the one of full attention then stands for the model.
func readRope(m *Model, c *config) {
	m.RopeTheta = c.number(10_000, "rope_theta", "rotary_emb_base")
	scaling := c.object("rope_scaling")
	if params := c.object("rope_parameters"); params != nil {
		if full := params.object("full_attention"); full != nil {
			params = full
		}
		m.RopeTheta = params.number(m.RopeTheta, "rope_theta")
		scaling = params
	}
	m.RopeShare = c.number(1, "partial_rotary_factor", "rotary_pct", "rope_percent")
	m.RopeRows = m.MaxPositions
	local := 0
	if c.fields["rope_local_base_freq"] != nil || c.object("rope_parameters").holds("sliding_attention") {
		local = m.MaxPositions
	}
	if scaling != nil {
		m.RopeScaling = scaling.text("", "rope_type", "type")
		if m.RopeScaling == "default" {
			m.RopeScaling = ""
		}
		m.RopeShare = scaling.number(m.RopeShare, "partial_rotary_factor")
		m.RopeRows = stretched(scaling, m)
		extendWindow(m, scaling)
		c.adopt(scaling)
	}
	m.RopeRows += local
}

// stretched is how many positions a table has after scaling, by vLLM's classes
// of rotary embeddings.
func stretched(scaling *config, m *Model) int {
	original, ok := scaling.count(1, maxTokens, "original_max_position_embeddings")
	factor := ropeFactor(scaling)
	switch {
	case m.RopeScaling == "yarn" && ok:
		return max(m.MaxPositions, int(float64(original)*factor))
	case m.RopeScaling == "linear", m.RopeScaling == "dynamic":
		return int(float64(m.MaxPositions) * factor)
	case scaling.holds("mrope_section"):
		return 4 * m.MaxPositions
	}
	return m.MaxPositions
}

// holds reports whether an object that may be absent has a field.
func (c *config) holds(name string) bool { return c != nil && c.fields[name] != nil }

// readDType names the type of the published weights. Files that leave it out
// are bfloat16 in practice: the field was always written until transformers 4.
func readDType(c, root *config) string {
	name := c.text(root.text("bfloat16", "torch_dtype", "dtype"), "torch_dtype", "dtype")
	switch name {
	case "bfloat16", "auto":
		return "bf16"
	case "float16", "half":
		return "fp16"
	case "float32", "float":
		return "fp32"
	}
	c.refuse("torch_dtype", "%q is not one of bfloat16, float16, float32", name)
	return ""
}

// nearFamily words a suggestion for a model_type.
func nearFamily(kind string) string {
	if near := Suggest(kind, slices.Sorted(maps.Keys(families))); near != "" {
		return fmt.Sprintf(" (the nearest that is: %q)", near)
	}
	return ""
}
