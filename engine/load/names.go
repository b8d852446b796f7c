package load

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// names are what a file calls a model's tensors, those of layers without what says
// which layer, and all without the ending that says weight or bias.
type names struct {
	embedding, finalNorm, head string
	layer                      string // what stands before, with the layer's number as %d

	attentionNorm, postAttentionNorm, mlpNorm, postMLPNorm string

	query, key, value, output string
	fusedQKV                  string // instead of query, key and value
	queryNorm, keyNorm        string

	gate, up, down string
	fusedGateUp    string // instead of gate and up

	router                           string
	expertGate, expertUp, expertDown string // with the expert's number as %d, unless stacked
	stacked                          bool   // one tensor holds those of all experts

	lessOne    bool // norms are stored less one
	interleave bool // rotary pairs of queries and keys lie side by side

	harmless func(name string) bool // tensors that need not be read
}

// in is the name of a layer's tensor.
func (n names) in(layer int, part string) string { return fmt.Sprintf(n.layer, layer) + part }

// folderNames are those of transformers (models/<type>/modeling_<type>.py). prefix is
// what stands before "embed_tokens".
func folderNames(p profiles.Model, prefix string) names {
	n := names{
		embedding: prefix + "embed_tokens", finalNorm: prefix + "norm", head: "lm_head", layer: prefix + "layers.%d.",
		attentionNorm: "input_layernorm", mlpNorm: "post_attention_layernorm",
		query: "self_attn.q_proj", key: "self_attn.k_proj", value: "self_attn.v_proj", output: "self_attn.o_proj",
		queryNorm: "self_attn.q_norm", keyNorm: "self_attn.k_norm",
		gate: "mlp.gate_proj", up: "mlp.up_proj", down: "mlp.down_proj",
		router: "mlp.gate", expertGate: "mlp.experts.%d.gate_proj", expertUp: "mlp.experts.%d.up_proj", expertDown: "mlp.experts.%d.down_proj",
	}
	if strings.HasPrefix(prefix, "language_model.") {
		n.head = "language_model.lm_head"
	}
	if p.Norms == 4 {
		n.postAttentionNorm, n.mlpNorm, n.postMLPNorm = "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"
	}
	switch p.Type {
	case "phi3":
		n.fusedQKV, n.fusedGateUp = "self_attn.qkv_proj", "mlp.gate_up_proj"
	case "mixtral":
		n.router = "block_sparse_moe.gate"
		n.expertGate, n.expertUp, n.expertDown = "block_sparse_moe.experts.%d.w1", "block_sparse_moe.experts.%d.w3", "block_sparse_moe.experts.%d.w2"
	case "gemma2", "gemma3_text":
		n.lessOne = true
	}
	n.harmless = func(name string) bool {
		return strings.HasSuffix(name, "rotary_emb.inv_freq") || // computed, stored by old files
			p.TiedEmbeddings && name == n.head+".weight" || // the embedding again
			hasAnyPrefix(name, []string{"vision_tower.", "multi_modal_projector.", "model.vision_tower.", "model.multi_modal_projector."})
	}
	return n
}

// prefixes are what may stand before a folder's tensors: alone, and as the text part
// of a model that sees, by transformers before and since 4.52.
var prefixes = []string{"model.", "language_model.model.", "model.language_model."}

// ggufNames are those of GGUF (gguf-py, constants.py, TENSOR_NAMES).
func ggufNames(architecture string, p profiles.Model) names {
	n := names{
		embedding: "token_embd", finalNorm: "output_norm", head: "output", layer: "blk.%d.",
		attentionNorm: "attn_norm", mlpNorm: "ffn_norm",
		query: "attn_q", key: "attn_k", value: "attn_v", output: "attn_output", queryNorm: "attn_q_norm", keyNorm: "attn_k_norm",
		gate: "ffn_gate", up: "ffn_up", down: "ffn_down",
		router: "ffn_gate_inp", expertGate: "ffn_gate_exps", expertUp: "ffn_up_exps", expertDown: "ffn_down_exps", stacked: true,
		interleave: architecture == "llama",
	}
	if p.Norms == 4 {
		n.postAttentionNorm, n.postMLPNorm = "post_attention_norm", "post_ffw_norm"
	}
	if architecture == "phi3" {
		n.fusedQKV, n.fusedGateUp = "attn_qkv", "ffn_up"
	}
	// These were read with the config.
	n.harmless = func(name string) bool { return strings.HasPrefix(name, "rope_") }
	return n
}
