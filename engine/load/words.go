package load

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// typeOf is the model type of transformers for an architecture of GGUF. Mistral and
// Mixtral are "llama" there.
var typeOf = map[string]string{
	"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "qwen3moe": "qwen3_moe",
	"gemma2": "gemma2", "gemma3": "gemma3_text", "phi3": "phi3",
}

// config is what metadata say in the words of a config.json, so that all models are
// read in one way (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, llama.cpp,
// convert_hf_to_gguf.py).
func (m *metadata) config() map[string]any {
	kind, ok := typeOf[m.architecture]
	if !ok {
		m.fail("architecture %.40q is not supported, expected one of %s", m.architecture, strings.Join(slices.Sorted(maps.Keys(typeOf)), ", "))
		return nil
	}
	if m.architecture == "llama" && m.number("expert_count") > 0 {
		kind = "mixtral"
	}
	c := map[string]any{
		"model_type": kind, "architectures": []string{m.architecture},
		"hidden_size": m.number("embedding_length"), "num_hidden_layers": m.number("block_count"), "intermediate_size": m.number("feed_forward_length"),
		"num_attention_heads": m.number("attention.head_count"), "max_position_embeddings": m.number("context_length"),
		"rms_norm_eps": m.positive("attention.layer_norm_rms_epsilon"), "rope_theta": 10_000.0, "sliding_window": nil,
	}
	if kv := m.number("attention.head_count_kv"); kv > 0 {
		c["num_key_value_heads"] = kv
	}
	if theta := m.positive("rope.freq_base"); theta != 0 {
		c["rope_theta"] = theta
	}
	if t, ok := m.file.Tensor("token_embd.weight"); ok && len(t.Shape) == 2 {
		c["vocab_size"] = t.Shape[0]
	} else {
		m.fail("tensor %q, whose rows are the vocabulary, is missing or no matrix", "token_embd.weight")
	}
	_, head := m.file.Tensor("output.weight")
	c["tie_word_embeddings"] = !head
	width := m.headWidth(c)
	m.experts(c)
	m.windows(c, width)
	m.scaling(c, width)
	return c
}

// headWidth sets the size of a head, and the share of it that is rotated.
func (m *metadata) headWidth(c map[string]any) int {
	heads, hidden := c["num_attention_heads"].(int), c["hidden_size"].(int)
	if heads < 1 || hidden < 1 {
		m.fail("metadata: %d attention heads and an embedding of %d, expected both to be there", heads, hidden)
		return 0
	}
	width := m.number("attention.key_length")
	if width == 0 {
		width = hidden / heads
	}
	c["head_dim"] = width
	if v := m.number("attention.value_length"); v != 0 && v != width {
		m.fail("metadata: keys of %d and values of %d, expected the same", width, v)
	}
	rotated := m.number("rope.dimension_count")
	if rotated > width {
		m.fail("metadata %q is %d, expected at most the %d elements of a head", m.architecture+".rope.dimension_count", rotated, width)
	}
	if rotated > 0 && rotated < width {
		c["partial_rotary_factor"] = float64(rotated) / float64(width)
		if m.architecture == "llama" {
			m.fail("metadata: %d of %d elements of a head are rotated, expected all in architecture llama", rotated, width)
		}
	}
	return width
}

// experts sets what mixtures of experts have.
func (m *metadata) experts(c map[string]any) {
	n := m.number("expert_count")
	if n == 0 {
		return
	}
	c["num_local_experts"], c["num_experts"], c["num_experts_per_tok"] = n, n, m.number("expert_used_count")
	c["norm_topk_prob"] = true // llama.cpp does so for all that is supported here
	if width := m.number("expert_feed_forward_length"); width > 0 {
		c["moe_intermediate_size"] = width
	}
}

// windows sets the windows of attention, and what else Gemma's layers need, of which
// files say less than llama.cpp assumes (llama-model.cpp).
func (m *metadata) windows(c map[string]any, width int) {
	window := m.number("attention.sliding_window")
	switch m.architecture {
	case "phi3":
		if window > 0 {
			c["sliding_window"] = window
		}
	case "gemma2", "gemma3":
		c["sliding_window"] = window
		pattern, large := 2, 46 // layers of the 27B model, whose queries are scaled by another width
		if m.architecture == "gemma3" {
			pattern, large = 6, 62
		}
		if p := m.number("attention.sliding_window_pattern"); p > 0 {
			pattern = p
		}
		c["sliding_window_pattern"] = pattern
		c["query_pre_attn_scalar"] = width
		if c["num_hidden_layers"] == large {
			c["query_pre_attn_scalar"] = c["hidden_size"].(int) / c["num_attention_heads"].(int)
		}
		c["attn_logit_softcapping"], c["final_logit_softcapping"] = positive(m.real("attn_logit_softcapping")), positive(m.real("final_logit_softcapping"))
		if theta := m.real("rope.freq_base_swa"); theta > 0 {
			c["rope_local_base_freq"] = theta
		}
	}
}

// positive is x, or nothing where x is not positive.
func positive(x float64) any {
	if x > 0 {
		return x
	}
	return nil
}

// scaling sets rope_scaling.
func (m *metadata) scaling(c map[string]any, width int) {
	original := m.number("rope.scaling.original_context_length")
	s := map[string]any{"factor": m.real("rope.scaling.factor"), "original_max_position_embeddings": positive(float64(original))}
	if attention := m.real("rope.scaling.attn_factor"); attention > 0 {
		s["attention_factor"] = attention
	}
	long, short := m.vectorOf("rope_factors_long.weight"), m.vectorOf("rope_factors_short.weight")
	divisors := m.vectorOf("rope_freqs.weight")
	kind := m.text(m.architecture + ".rope.scaling.type")
	switch {
	case long != nil:
		s["rope_type"], s["long_factor"], s["short_factor"] = "longrope", long, short
		delete(s, "factor")
	case divisors != nil:
		// Llama 3.1's scaling, computed by the writer of the file.
		s = map[string]any{"rope_type": "longrope", "long_factor": divisors, "short_factor": divisors, "attention_factor": 1.0}
	case kind == "linear" || kind == "yarn":
		s["rope_type"] = kind
		if attention, ok := s["attention_factor"].(float64); ok && kind == "yarn" {
			// llama.cpp multiplies it by what YaRN computes (ggml, rope_yarn).
			s["attention_factor"] = attention * (1 + 0.1*math.Log(max(m.real("rope.scaling.factor"), 1)))
		}
		s["beta_fast"], s["beta_slow"] = m.real("rope.scaling.yarn_beta_fast"), m.real("rope.scaling.yarn_beta_slow")
	case kind == "" || kind == "none" || kind == "longrope": // short sequences need no factors
		return
	default:
		m.fail("metadata: rope scaling of type %.40q is not supported, expected linear, yarn or longrope", kind)
		return
	}
	if n := max(len(divisors), len(long)); n > 0 && 2*n > width {
		m.fail("metadata: %d factors of the rotary embedding for heads of %d", n, width)
		return
	}
	c["rope_scaling"] = s
}
