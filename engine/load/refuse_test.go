package load_test

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/internal/weights/gguf/gguftest"
)

func TestFoldersThatAreRefused(t *testing.T) {
	config := func(set map[string]any) func(*testing.T, string) {
		return func(t *testing.T, dir string) { change(t, filepath.Join(dir, "config.json"), set) }
	}
	for _, c := range []struct {
		name, model string
		damage      func(t *testing.T, dir string)
		want        string
	}{
		{"no config", "llama", func(_ *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "config.json")) }, "config.json"},
		{"config is no JSON", "llama", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "config.json"), []byte("{")) }, "reading config of llama"},
		{"missing tokenizer", "llama", func(_ *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "tokenizer.json")) }, "there is no tokenizer.json, without which"},
		{"broken tokenizer", "llama", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "tokenizer.json"), []byte("{}")) }, "reading tokenizer.json: "},
		{"missing weights", "llama", func(_ *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "model.safetensors")) }, "has no *.safetensors"},
		{"truncated weights", "llama", func(_ *testing.T, dir string) { _ = os.Truncate(filepath.Join(dir, "model.safetensors"), 9000) }, "model.safetensors: tensors end at"},
		{"unsupported architecture", "llama", config(map[string]any{"model_type": "gpt2x"}), `"gpt2x" is not supported`},
		{"architecture that is sized but not run", "llama", config(map[string]any{"model_type": "olmo2"}), `query and key normalization over all heads together is not supported by this engine`},
		{"architecture with Llama's sizes", "llama", config(map[string]any{"model_type": "granite"}), `model type "granite" (LlamaForCausalLM) is not supported by this engine`},
		{"config of another size", "llama", config(map[string]any{"intermediate_size": 20}), `tensor "model.layers.0.mlp.gate_proj.weight" has shape [16 24], expected [20 24] by the model's config`},
		{"config of another model", "llama", config(map[string]any{"model_type": "qwen3"}), `tensor "model.layers.0.self_attn.q_norm.weight" is missing`},
		{"config of fewer layers", "llama", config(map[string]any{"num_hidden_layers": 1}), `tensor "model.layers.1.`},
		{"tied by the config only", "llama", config(map[string]any{"model_type": "qwen3", "tie_word_embeddings": true}), "q_norm.weight"},
		{"rope scaling of unknown kind", "llama", config(map[string]any{"rope_scaling": map[string]any{"rope_type": "ntk", "factor": 2}}), `rope scaling of kind "ntk" is not supported`},
		{"activation", "llama", config(map[string]any{"hidden_act": "relu"}), `activation "relu" is not supported`},
		{"quantized checkpoint", "llama", config(map[string]any{"quantization_config": map[string]any{"quant_method": "fp8", "activation_scheme": "dynamic"}}), `quantized by "fp8", which this engine does not read`},
		{"end of text outside of the vocabulary", "llama", config(map[string]any{"eos_token_id": 48}), "token 48, which ends a text, is outside of the vocabulary of 48"},
		{"absurd sizes", "llama", config(map[string]any{"hidden_size": 1 << 24, "vocab_size": 1 << 24, "head_dim": 8}), "too large"},
		{"caps that are no numbers", "gemma2", config(map[string]any{"attn_logit_softcapping": "x"}), `attn_logit_softcapping: expected a positive number or null, got "x"`},
		{"query scale of zero", "gemma2", config(map[string]any{"query_pre_attn_scalar": 0}), "query_pre_attn_scalar 0 must be positive"},
		{"no window in Gemma 3", "gemma3", config(map[string]any{"sliding_window": 64}), "no layer has a window smaller than the context"},
		{"longrope with another number of factors", "phi3-longrope", config(map[string]any{"partial_rotary_factor": 0.5}), "4 short factors, expected 2"},
		{"more experts than there are", "mixtral", config(map[string]any{"num_local_experts": 1 << 23}), `block_sparse_moe.gate.weight" has shape [4 24], expected [8388608 24]`},
		{"fewer experts than there are", "mixtral", config(map[string]any{"num_local_experts": 3}), `gate.weight" has shape [4 24], expected [3 24]`},
		{"missing tensor", "llama", func(t *testing.T, dir string) {
			all := tensors(t, dir)
			for i, s := range all {
				if s.Name == "model.norm.weight" {
					put(t, dir, append(all[:i:i], all[i+1:]...))
				}
			}
		}, `tensor "model.norm.weight" is missing`},
		{"tensor that nothing uses", "llama", func(t *testing.T, dir string) {
			put(t, dir, append(tensors(t, dir), tensor(t, "model.layers.0.self_attn.q_proj.bias", block.F32, 32)))
		}, `tensor "model.layers.0.self_attn.q_proj.bias" of model.safetensors is not one of a model of this architecture`},
		{"unsupported type", "llama", func(t *testing.T, dir string) {
			all := tensors(t, dir)
			for i := range all {
				if all[i].Name == "model.norm.weight" {
					all[i].Kind, all[i].Data = "I16", make([]byte, 48)
				}
			}
			put(t, dir, all)
		}, `tensor "model.norm.weight" is of type I16, expected one of F32`},
		{"a norm that is no number", "llama", func(t *testing.T, dir string) {
			all := tensors(t, dir)
			for i := range all {
				if all[i].Name == "model.norm.weight" {
					all[i].Kind, all[i].Type, all[i].Data = "F32", block.F32, bytes.Repeat([]byte{0, 0, 0xc0, 0x7f}, 24)
				}
			}
			put(t, dir, all)
		}, `tensor "model.norm.weight" of model.safetensors is damaged: value 0 is NaN, expected a finite number`},
		{"tokenizer of another model", "llama", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "tokenizer.json")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, bytes.Replace(data, []byte(`"the": 47`), []byte(`"the": 48, "the?": 47`), 1))
		}, `the tokenizer has token 48, "the", beyond the model's vocabulary of 48`},
		{"marker that the tokenizer lacks", "llama", func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, "tokenizer_config.json"), map[string]any{"eos_token": "<eos>"})
		}, `eos_token "<eos>" of tokenizer_config.json is not in tokenizer.json`},
		{"broken generation config", "llama", func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, "generation_config.json"), map[string]any{"temperature": "hot"})
		}, "reading generation_config.json: "},
		{"template of another kind", "llama", func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, "tokenizer_config.json"), map[string]any{"chat_template": 7})
		}, "reading tokenizer_config.json: chat_template: expected text or a list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := c.model
			if of == "phi3-longrope" {
				of = "phi3"
			}
			dir := folder(t, c.model, of)
			c.damage(t, dir)
			refused(t, dir, c.want)
		})
	}
}

// refused wants an error of one line.
func refused(t *testing.T, path, want string) {
	t.Helper()
	m, err := load.Open(path, load.Options{})
	if err == nil {
		_ = m.Close()
		t.Fatal("opened")
	}
	if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "\n") {
		t.Errorf("got %q, want a line with %q", text, want)
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "model.bin"), nil)
	refused(t, filepath.Join(dir, "model.bin"), "is neither a folder with config.json and *.safetensors nor a *.gguf file")
	refused(t, filepath.Join(dir, "absent"), "opening model: ")
	refused(t, dir, "config.json")
	if err := os.Mkdir(filepath.Join(dir, "d.gguf"), 0o700); err != nil {
		t.Fatal(err)
	}
	refused(t, filepath.Join(dir, "d.gguf"), "d.gguf is a folder without config.json, expected a GGUF file")
	if _, err := load.Open(dir, load.Options{MaxModelLen: -1}); err == nil || !strings.Contains(err.Error(), "sequences of -1 tokens") {
		t.Error(err)
	}
}

func TestGGUFFilesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, model string
		set         map[string]any // metadata; nil takes a key away
		tensors     func([]weights.Stored) []weights.Stored
		want        string
	}{
		{"unsupported architecture", "llama3", map[string]any{"general.architecture": "gpt2"}, nil, `architecture "gpt2" is not supported, expected one of gemma2, gemma3, llama, phi3, qwen2, qwen3, qwen3moe`},
		{"missing architecture", "llama3", map[string]any{"general.architecture": nil}, nil, `architecture "" is not supported`},
		{"missing tokenizer", "llama3", map[string]any{"tokenizer.ggml.model": nil}, nil, "the file has no tokenizer"},
		{"missing sizes", "llama3", map[string]any{"llama.embedding_length": nil}, nil, "4 attention heads and an embedding of 0"},
		{"sizes of another type", "llama3", map[string]any{"llama.block_count": "2"}, nil, `metadata "llama.block_count" is string, expected a whole number`},
		{"absurd sizes", "llama3", map[string]any{"llama.feed_forward_length": uint64(1 << 50)}, nil, `metadata "llama.feed_forward_length" is 1125899906842624, which is too large`},
		{"values of another width", "llama3", map[string]any{"llama.attention.value_length": uint32(4)}, nil, "keys of 8 and values of 4"},
		{"a part of a head rotated", "llama3", map[string]any{"llama.rope.dimension_count": uint32(4)}, nil, "4 of 8 elements of a head are rotated"},
		{"more than a head rotated", "llama3", map[string]any{"llama.rope.dimension_count": uint32(16)}, nil, `metadata "llama.rope.dimension_count" is 16, expected at most the 8 elements of a head`},
		{"angles of base 0", "llama3", map[string]any{"llama.rope.freq_base": float32(0)}, nil, `metadata "llama.rope.freq_base" is 0, expected more than 0`},
		{"angles of no base", "llama3", map[string]any{"llama.rope.freq_base": float32(math.NaN())}, nil, `metadata "llama.rope.freq_base" is NaN, expected a finite number`},
		{"an infinite epsilon", "llama3", map[string]any{"llama.attention.layer_norm_rms_epsilon": float32(math.Inf(1))}, nil, `metadata "llama.attention.layer_norm_rms_epsilon" is +Inf, expected a finite number`},
		{"an epsilon below 0", "llama3", map[string]any{"llama.attention.layer_norm_rms_epsilon": float32(-1)}, nil, `metadata "llama.attention.layer_norm_rms_epsilon" is -1, expected more than 0`},
		{"rope scaling of unknown kind", "qwen3", map[string]any{"qwen3.rope.scaling.type": "ntk"}, nil, `rope scaling of type "ntk" is not supported`},
		{"config of another size", "llama3", map[string]any{"llama.feed_forward_length": uint32(20)}, nil, `tensor "blk.0.ffn_gate.weight" has shape [16 24], expected [20 24]`},
		{"missing tensor", "llama3", nil, func(all []weights.Stored) []weights.Stored { return without(all, "blk.1.ffn_norm.weight") }, `tensor "blk.1.ffn_norm.weight" is missing`},
		{"missing embedding", "llama3", nil, func(all []weights.Stored) []weights.Stored { return without(all, "token_embd.weight") }, `tensor "token_embd.weight", whose rows are the vocabulary, is missing`},
		{"too many factors of the rotary embedding", "llama3", nil, func(all []weights.Stored) []weights.Stored {
			return append(without(all, "rope_freqs.weight"), weights.Stored{Name: "rope_freqs.weight", Type: block.F32, Kind: "F32", Shape: []int{8}, Data: make([]byte, 32)})
		}, "8 factors of the rotary embedding for heads of 8"},
		{"unsupported type", "llama3", nil, func(all []weights.Stored) []weights.Stored {
			return append(without(all, "output_norm.weight"), weights.Stored{Name: "output_norm.weight", Kind: "Q5_K", Shape: []int{1, 256}, Data: make([]byte, 176)})
		}, `tensor "output_norm.weight" is of type Q5_K, expected one of F32`},
		{"tensor that nothing uses", "llama3", nil, func(all []weights.Stored) []weights.Stored {
			return append(all, weights.Stored{Name: "blk.0.attn_q.bias", Type: block.F32, Kind: "F32", Shape: []int{1}, Data: make([]byte, 4)})
		}, `tensor "blk.0.attn_q.bias" is not one of a model of this architecture`},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta, all := parsed(t, c.model)
			maps.Copy(meta, c.set)
			maps.DeleteFunc(meta, func(_ string, v any) bool { return v == nil })
			if c.tensors != nil {
				all = c.tensors(all)
			}
			path := filepath.Join(t.TempDir(), "model.gguf")
			if err := gguftest.Write(path, meta, all); err != nil {
				t.Fatal(err)
			}
			refused(t, path, c.want)
		})
	}
}
