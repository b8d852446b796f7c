package profiles

import (
	"fmt"
	"maps"
)

// wrappedFamilies are the text parts of models that also see or hear, where they
// have a type of their own (transformers, models/<type>/; vLLM's models).
var wrappedFamilies = map[string]family{
	"glm4v_text":          llamaLike(fullAttention, denseMLP).with(qkvBias, norms(4), sparse(glm4vDefaults)),
	"qwen2_5_omni_text":   llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"qwen3_omni_moe_text": llamaLike(fullAttention, sparseMLP).with(qkNorm),
	"dots_ocr":            llamaLike(windowFromLayer, denseMLP).with(qkvBias),
	"phi4mm":              llamaLike(windowEverywhere, denseMLP),
	"phi4_multimodal":     llamaLike(windowEverywhere, denseMLP),
}

var glm4vDefaults = map[string]any{
	"vocab_size": 151_552, "hidden_size": 4096, "intermediate_size": 13_696, "num_hidden_layers": 40,
	"num_attention_heads": 32, "num_key_value_heads": 2, "max_position_embeddings": 32_768,
}

// thinker is the part of an omni model that makes text, which is what engines
// serve. What the whole file says of the weights holds for it too.
func thinker(root *config) *config {
	inner := root.object("thinker_config")
	if inner == nil {
		return root
	}
	inner.fields = maps.Clone(inner.fields)
	for _, name := range []string{"architectures", "torch_dtype", "dtype", "quantization_config", "compression_config"} {
		if inner.fields[name] == nil && root.fields[name] != nil {
			inner.fields[name] = root.fields[name]
		}
	}
	return inner
}

// miniCPMV are the language models of MiniCPM-V by its version (vLLM,
// models/minicpmv.py).
var miniCPMV = map[string]string{"2.0": "minicpm", "2.5": "llama", "2.6": "qwen2", "4.0": "llama", "4.5": "qwen3"}

// miniCPMVType is the type of MiniCPM-V's language model. Before 2.6 files name
// no version; 2.0 then is the narrow one with 64 queries.
func miniCPMVType(c *config) string {
	if _, _, ok := c.lookup("version"); !ok {
		if h, _ := c.count(1, maxWidth, "hidden_size"); h == 2304 {
			return miniCPMV["2.0"]
		}
		return miniCPMV["2.5"]
	}
	version, isText := c.fields["version"].(string)
	if !isText {
		version = fmt.Sprintf("%.1f", c.number(0, "version"))
	}
	kind, ok := miniCPMV[version]
	if !ok {
		c.refuse("version", "%.40q of minicpmv is not supported", version)
	}
	return kind
}
