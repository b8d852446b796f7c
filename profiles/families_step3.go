package profiles

import (
	"strconv"
	"strings"
)

// step3Names are Step3's words (vLLM, models/step3_text.py).
var step3Names = map[string]string{
	"num_key_value_heads": "num_attention_groups", "max_position_embeddings": "max_position_embedding",
	"num_experts": "moe_num_experts", "num_experts_per_tok": "moe_top_k",
}

// step3Attention is multi-matrix factorization attention: one key and value for
// all heads, and queries by way of a narrower space.
func step3Attention(m *Model, c *config, layer int) Attention {
	a := fullAttention(m, c, layer)
	if _, _, ok := c.lookup("num_key_value_heads"); !ok {
		a.KVHeads = 1
	}
	a.QueryRank = c.width("share_q_dim")
	return a
}

// step3MLP: moe_layers_enum names the layers with experts, as numbers with commas
// or as a list.
func step3MLP(m *Model, c *config, layer int) MLP {
	if !step3Sparse(c, layer) {
		return denseMLP(m, c, layer)
	}
	x := MLP{Gated: true, Experts: c.width("num_experts"), ExpertIntermediate: c.width("moe_intermediate_size"), SharedExperts: 1}
	x.SharedIntermediate = c.width("share_expert_dim")
	return perToken(c, x)
}

func step3Sparse(c *config, layer int) bool {
	const field = "moe_layers_enum"
	_, value, ok := c.lookup(field)
	if !ok {
		c.refuse(field, "is missing")
		return false
	}
	switch v := value.(type) {
	case string:
		for part := range strings.SplitSeq(v, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil {
				c.refuse(field, "expected layers with commas, got %s", show(v))
				return false
			}
			if n == layer {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if n, whole := integer(item); whole && n == layer {
				return true
			}
		}
	default:
		c.refuse(field, "expected layers, got %s", show(v))
	}
	return false
}
