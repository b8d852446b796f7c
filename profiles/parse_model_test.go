package profiles

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// config returns a small Llama's config.json with changes; a nil value removes
// a field.
func testConfig(changes map[string]any) []byte {
	fields := map[string]any{
		"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
		"intermediate_size": 128, "vocab_size": 512, "max_position_embeddings": 2048,
	}
	maps.Copy(fields, changes)
	for name, value := range fields {
		if value == nil {
			delete(fields, name)
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return data
}

// kindsOf lists the kinds of a model's layers, F full, S sliding, C chunked, L
// latent, - none; and X an MLP of experts, D a dense one.
func kindsOf(m *Model) (attention, mlp string) {
	letters := map[AttentionKind]string{FullAttention: "F", SlidingAttention: "S", ChunkedAttention: "C", LatentAttention: "L", NoAttention: "-"}
	for _, layer := range m.Layers {
		attention += letters[layer.Attention.Kind]
		switch {
		case layer.MLP.Experts > 0:
			mlp += "X"
		case layer.MLP.Intermediate > 0:
			mlp += "D"
		default:
			mlp += "-"
		}
	}
	return attention, mlp
}

func TestLayerPatterns(t *testing.T) {
	window := func(kind string, changes map[string]any) map[string]any {
		all := map[string]any{"model_type": kind, "sliding_window": 128}
		maps.Copy(all, changes)
		return all
	}
	for _, tc := range []struct {
		name           string
		config         map[string]any
		attention, mlp string
	}{
		{"llama", nil, "FFFF", "DDDD"},
		{"mistral with a window", window("mistral", nil), "SSSS", "DDDD"},
		{"mistral with null", map[string]any{"model_type": "mistral", "sliding_window": json.RawMessage("null")}, "FFFF", "DDDD"},
		{"mistral without the field has its class's window", map[string]any{"model_type": "mistral", "max_position_embeddings": 8192}, "SSSS", "DDDD"},
		{"a window beyond the context", window("phi3", map[string]any{"sliding_window": 4096}), "FFFF", "DDDD"},
		{"qwen2 with the switch off", window("qwen2", map[string]any{"use_sliding_window": false}), "FFFF", "DDDD"},
		{"qwen2 from a layer on", window("qwen2", map[string]any{"use_sliding_window": true, "max_window_layers": 2}), "FFSS", "DDDD"},
		{"gemma2 alternates", window("gemma2", nil), "SFSF", "DDDD"},
		{"gemma3 pattern", window("gemma3_text", map[string]any{"sliding_window_pattern": 3}), "SSFS", "DDDD"},
		{"layer_types", window("gpt_oss", map[string]any{"num_local_experts": 4, "num_experts_per_tok": 2,
			"layer_types": []string{"full_attention", "sliding_attention", "sliding_attention", "full_attention"}}), "FSSF", "XXXX"},
		{"llama4 by interval", map[string]any{"model_type": "llama4_text", "attention_chunk_size": 128, "num_local_experts": 4,
			"num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 256}, "CCCF", "DXDX"},
		{"llama4 by list", map[string]any{"model_type": "llama4_text", "attention_chunk_size": 128, "num_local_experts": 4,
			"num_experts_per_tok": 1, "no_rope_layers": []int{0, 1, 1, 0}}, "FCCF", "XXXX"},
		{"deepseek: dense first", map[string]any{"model_type": "deepseek_v3", "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
			"v_head_dim": 16, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1}, "LLLL", "DXXX"},
		{"qwen3_moe: some dense", map[string]any{"model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
			"decoder_sparse_step": 2, "mlp_only_layers": []int{3}}, "FFFF", "DXDD"},
		{"afmoe", window("afmoe", map[string]any{"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "num_dense_layers": 2}), "SSSF", "DDXX"},
		{"afmoe by list", window("afmoe", map[string]any{"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
			"layer_types": []string{"full_attention", "sliding_attention", "sliding_attention", "full_attention"}}), "FSSF", "DXXX"},
		{"exaone_moe by flags", window("exaone_moe", map[string]any{"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
			"sliding_window_pattern": "LLLG", "is_moe_layer": []bool{false, true, false, true}}), "SSSF", "DXDX"},
		{"exaone_moe by default", window("exaone_moe", map[string]any{"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "sliding_window_pattern": 2}), "SFSF", "DXXX"},
		{"exaone_moe by number", window("exaone_moe", map[string]any{"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 2}), "SSSF", "DDXX"},
		{"cohere2_moe", window("cohere2_moe", map[string]any{"num_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "sliding_window_pattern": 3}), "FSSF", "DXXX"},
		{"step3", map[string]any{"model_type": "step3_text", "num_attention_groups": 1, "head_dim": 16, "share_q_dim": 32, "moe_num_experts": 4, "moe_top_k": 1,
			"moe_intermediate_size": 32, "share_expert_dim": 32, "moe_layers_enum": "1, 2"}, "FFFF", "DXXD"},
		{"nemotron: per layer", map[string]any{"model_type": "nemotron-nas", "num_hidden_layers": 2, "intermediate_size": nil,
			"block_configs": []any{
				map[string]any{"attention": map[string]any{"no_op": true}, "ffn": map[string]any{"ffn_mult": 2.0}},
				map[string]any{"attention": map[string]any{"n_heads_in_group": 2}, "ffn": map[string]any{"no_op": true}},
			}}, "-F", "D-"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := ParseModel("test", testConfig(tc.config))
			if err != nil {
				t.Fatal(err)
			}
			if a, x := kindsOf(m); a != tc.attention || x != tc.mlp {
				t.Errorf("layers %s %s, want %s %s", a, x, tc.attention, tc.mlp)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config map[string]any
		want   string
	}{
		{"no model type", map[string]any{"model_type": nil}, "field model_type: is missing"},
		{"unknown type", map[string]any{"model_type": "lama"}, `field model_type: "lama" is not supported (the nearest that is: "llama")`},
		{"no width", map[string]any{"hidden_size": nil}, "field hidden_size: is missing"},
		{"zero layers", map[string]any{"num_hidden_layers": 0}, "field num_hidden_layers: 0 is outside"},
		{"negative vocabulary", map[string]any{"vocab_size": -1}, "field vocab_size: -1 is outside"},
		{"text for a number", map[string]any{"hidden_size": "wide"}, `field hidden_size: expected an integer, got "wide"`},
		{"fraction", map[string]any{"hidden_size": 64.5}, "field hidden_size: expected an integer, got 64.5"},
		{"heads that do not divide", map[string]any{"num_attention_heads": 5}, "field num_attention_heads: 5 does not divide hidden_size 64"},
		{"KV heads that do not divide", map[string]any{"num_key_value_heads": 3}, "field num_key_value_heads: 3 does not divide"},
		{"more layers than a model has", map[string]any{"num_hidden_layers": 20_000}, "field num_hidden_layers: 20000 is more than"},
		{"unknown dtype", map[string]any{"torch_dtype": "float8"}, `field torch_dtype: "float8" is not one of`},
		{"unknown quantization", map[string]any{"quantization_config": map[string]any{"quant_method": "magic"}}, `field quantization_config.quant_method: "magic" is not supported`},
		{"too few layer types", map[string]any{"model_type": "gpt_oss", "sliding_window": 8, "layer_types": []string{"full_attention"},
			"num_local_experts": 4, "num_experts_per_tok": 2}, "field layer_types: has 1 entries"},
		{"linear attention", map[string]any{"model_type": "qwen3", "layer_types": []string{"linear_attention"}}, `field layer_types: "linear_attention" at layer 0 is not supported`},
		{"more experts per token than experts", map[string]any{"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3}, "field num_experts_per_tok: 3 is more than"},
		{"absurd widths", map[string]any{"hidden_size": 1 << 24, "intermediate_size": 1 << 24}, "parameters, more than"},
		{"absurd cache", map[string]any{"hidden_size": 1024, "num_attention_heads": 1 << 13, "head_dim": 1 << 15, "num_hidden_layers": 4}, "field num_key_value_heads: a token caches"},
		{"absurd experts", map[string]any{"model_type": "mixtral", "num_local_experts": 1 << 24, "num_experts_per_tok": 1 << 24,
			"hidden_size": 1 << 12, "intermediate_size": 1 << 12}, "parameters, more than"},
		{"a MiniCPM-V that no one knows", map[string]any{"model_type": "minicpmv", "version": 9}, `field version: "9.0" of minicpmv is not supported`},
		{"a thinker that is none", map[string]any{"model_type": "qwen2_5_omni", "thinker_config": 3}, "field thinker_config: expected an object, got 3"},
		{"in a thinker", map[string]any{"thinker_config": map[string]any{"text_config": map[string]any{"model_type": "qwen2_5_omni_text", "hidden_size": -1}}}, "field thinker_config.text_config.hidden_size: -1 is outside"},
		{"NaN", map[string]any{"num_hidden_layers": json.RawMessage(`"\u0000NaN"`)}, "field num_hidden_layers: expected an integer, got NaN"},
		{"no block", map[string]any{"quantization_config": map[string]any{"quant_method": "fp8", "weight_block_size": []int{-128}}}, "field quantization_config.weight_block_size: expected two sizes, got [-128]"},
		{"negative block", map[string]any{"quantization_config": map[string]any{"quant_method": "fp8", "weight_block_size": []int{-128, 128}}}, "field quantization_config.weight_block_size: expected two sizes, got [-128,128]"},
		{"groups of nothing", map[string]any{"quantization_config": map[string]any{"quant_method": "gptq", "bits": 4, "group_size": 0}}, "field quantization_config.group_size: 0 is no size of a group"},
		{"layer types of another family", map[string]any{"layer_types": []string{"full_attention", "sliding_attention", "full_attention", "full_attention"}}, `field layer_types: "sliding_attention" at layer 1 is not supported in llama`},
		{"layer types that no one knows", map[string]any{"layer_types": []string{"magic", "magic", "magic", "magic"}}, `field layer_types: "magic" at layer 0 is not supported in llama`},
		{"layer types for fewer layers", map[string]any{"layer_types": []string{"full_attention"}}, "field layer_types: has 1 entries, num_hidden_layers is 4"},
		{"layer types for more layers", map[string]any{"layer_types": slices.Repeat([]string{"full_attention"}, 5)}, "field layer_types: has 5 entries, num_hidden_layers is 4"},
		{"layer types of no names", map[string]any{"layer_types": []int{1, 2, 3, 4}}, "field layer_types: expected names, got 1"},
		{"layer types as an object", map[string]any{"layer_types": map[string]any{"a": 1}}, `field layer_types: expected a list, got {"a":1}`},
		{"scaling by nothing", map[string]any{"rope_scaling": map[string]any{"rope_type": "linear", "factor": 0}}, "field rope_scaling.factor: 0 is outside 1 to"},
		{"scaling backwards", map[string]any{"rope_scaling": map[string]any{"rope_type": "yarn", "factor": -4}}, "field rope_scaling.factor: -4 is outside 1 to"},
		{"absurd scaling", map[string]any{"rope_scaling": map[string]any{"rope_type": "linear", "factor": 1e30}}, "field rope_scaling.factor: 1e+30 is outside 1 to"},
		{"absurd window", map[string]any{"rope_scaling": map[string]any{"rope_type": "linear", "factor": 1e6}}, "field rope_scaling.factor: 1e+06 makes a window of 2.05e+09 tokens"},
		{"a window of a family without", map[string]any{"sliding_window": -1}, "field sliding_window: -1 is outside 0 to"},
		{"nested", map[string]any{"text_config": map[string]any{"model_type": "llama", "hidden_size": -1}}, "field text_config.hidden_size: -1 is outside"},
		{"nested and sparse", map[string]any{"text_config": map[string]any{"model_type": "qwen3"}}, "field text_config.hidden_size: is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := ParseModel("test", testConfig(tc.config))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("model %+v, error %v, want %q", m, err, tc.want)
			}
		})
	}
	for _, text := range []string{"", "{", "[]", "null", "3", `{"model_type": "llama"} {}`} {
		if _, err := ParseModel("test", []byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestPythonNumbers(t *testing.T) {
	data := []byte(`{"a": [0.0, Infinity], "b": -Infinity, "c": NaN, "d": "to Infinity \" and NaN"}`)
	want := `{"a": [0.0, "\u0000Infinity"], "b": "\u0000-Infinity", "c": "\u0000NaN", "d": "to Infinity \" and NaN"}`
	if diff := cmp.Diff(want, string(withoutPythonNumbers(data))); diff != "" {
		t.Error(diff)
	}
	config := strings.Replace(string(testConfig(nil)), "{", `{"time_step_limit": [0.0, Infinity],`, 1)
	if _, err := ParseModel("test", []byte(config)); err != nil {
		t.Error(err)
	}
	for word, field := range map[string]string{"NaN": "num_hidden_layers", "Infinity": "hidden_size", "-Infinity": "vocab_size"} {
		config := strings.Replace(string(testConfig(map[string]any{field: nil})), "{", `{"`+field+`": `+word+`,`, 1)
		_, err := ParseModel("test", []byte(config))
		if want := "field " + field + ": expected an integer, got " + word; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	config = strings.Replace(string(testConfig(nil)), "{", `{"sliding_window": [NaN],`, 1)
	if _, err := ParseModel("test", []byte(config)); err == nil || !strings.HasSuffix(err.Error(), "field sliding_window: expected an integer, got [NaN]") {
		t.Error(err)
	}
}

// TestLayerTypesThatAgree: a list that says what the family does anyway is fine.
func TestLayerTypesThatAgree(t *testing.T) {
	full := slices.Repeat([]string{"full_attention"}, 4)
	sliding := slices.Repeat([]string{"sliding_attention"}, 4)
	for name, changes := range map[string]map[string]any{
		"full":                               {"layer_types": full},
		"windows beyond the context":         {"layer_types": sliding, "sliding_window": 4096},
		"layers that predict further tokens": {"layer_types": slices.Repeat([]string{"full_attention"}, 5), "num_nextn_predict_layers": 1},
		"windows everywhere":                 {"model_type": "mistral", "layer_types": sliding, "sliding_window": 128},
	} {
		if _, err := ParseModel("test", testConfig(changes)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFactsOfRealConfigs(t *testing.T) {
	for _, tc := range []struct {
		name                    string
		layers, heads, kv, dim  int
		context                 int
		tied, vision            bool
		quantization, rope, typ string
	}{
		{"llama-3.1-8b", 32, 32, 8, 128, 131_072, false, false, "", "llama3", "llama"},
		{"qwen3-0.6b", 28, 16, 8, 128, 40_960, true, false, "", "", "qwen3"},
		{"mistral-nemo", 40, 32, 8, 128, 131_072, false, false, "", "", "mistral"},
		{"gemma-3-27b", 62, 32, 16, 128, 131_072, true, true, "", "linear", "gemma3_text"},
		{"gpt-oss-120b", 36, 64, 8, 64, 131_072, false, false, "mxfp4", "yarn", "gpt_oss"},
		{"deepseek-v3", 61, 128, 1, 192, 163_840, false, false, "fp8", "yarn", "deepseek_v3"},
		{"kimi-k2.5", 61, 64, 1, 192, 262_144, false, true, "int4", "yarn", "kimi_k2"},
		{"qwen3-32b-awq", 64, 64, 8, 128, 40_960, false, false, "awq", "", "qwen3"},
		{"builtin", 4, 4, 2, 32, 4096, true, false, "", "", "llama"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := LoadModel(tc.name)
			if err != nil {
				t.Fatal(err)
			}
			a := m.Layers[0].Attention
			got := []any{len(m.Layers), a.Heads, a.KVHeads, a.HeadDim, m.MaxPositions, m.TiedEmbeddings, m.Vision != nil, m.Quantization.Method, m.RopeScaling, m.Type}
			want := []any{tc.layers, tc.heads, tc.kv, tc.dim, tc.context, tc.tied, tc.vision, tc.quantization, tc.rope, tc.typ}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBuiltinFacts(t *testing.T) {
	m, err := LoadModel("builtin")
	if err != nil {
		t.Fatal(err)
	}
	if m.DType != "fp32" || m.BOSToken != 0 || !slices.Equal(m.EOSTokens, []int{1}) || m.RopeTheta != 10_000 || m.NormEpsilon != 1e-5 || m.Activation != "silu" {
		t.Errorf("%+v", m)
	}
}

func TestLoadModelFromFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, testConfig(nil), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{path, dir} {
		if m, err := LoadModel(ref); err != nil || m.HiddenSize != 64 || m.Quantization.Method != "" {
			t.Errorf("%s: %+v, %v", ref, m, err)
		}
	}
	companion := `{"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}}`
	if err := os.WriteFile(filepath.Join(dir, "hf_quant_config.json"), []byte(companion), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := LoadModel(dir); err != nil || m.Quantization.Method != "nvfp4" || m.Quantization.GroupSize != 16 {
		t.Errorf("companion: %+v, %v", m, err)
	}
	if _, err := LoadModel(filepath.Join(dir, "absent.json")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("absent file: %v", err)
	}
	for _, ref := range []string{"META-LLAMA/Llama-3.1-8B-Instruct", "Llama-3.1-8B"} {
		if m, err := LoadModel(ref); err != nil || m.Name != "llama-3.1-8b" {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// TestKeysAndRepositoriesAreUnique keeps the index honest.
func TestKeysAndRepositoriesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, e := range modelIndex() {
		for _, name := range append([]string{e.Key}, e.IDs...) {
			lower := strings.ToLower(name)
			if other, ok := seen[lower]; ok {
				t.Errorf("%s names both %s and %s", name, other, e.Key)
			}
			seen[lower] = e.Key
		}
	}
	used := map[string]bool{}
	for _, e := range modelIndex() {
		used[e.Config], used[e.Quantization] = true, true
	}
	files, err := fs.ReadDir(embedded, "data/configs")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f.Name()] {
			t.Errorf("configs/%s belongs to no model", f.Name())
		}
	}
}

func FuzzParseModel(f *testing.F) {
	for _, name := range []string{"builtin", "gemma-3-27b", "gpt-oss-20b", "deepseek-v3.2", "llama-4-scout", "qwen3-32b-awq", "gemma-4-26b-a4b", "kimi-k2.5",
		"qwen3.5-27b", "nemotron-3-nano-30b-a3b", "deepseek-v4-flash", "kimi-k3", "lfm2.5-vl-1.6b", "llama-3.2-11b-vision", "mimo-v2-flash", "qwen3.6-27b-nvfp4",
		"falcon-7b", "chatglm3-6b", "minimax-m3", "deepseek-vl2-tiny", "phi-3-vision-128k"} {
		data, err := ModelConfig(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"time_step_limit": [0.0, Infinity]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseModel("fuzz", data)
		if err != nil {
			if m != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("model %v with error %q", m, err)
			}
			return
		}
		if len(m.Layers) == 0 || m.HiddenSize < 1 || m.VocabSize < 1 || m.MaxPositions < 1 {
			t.Fatalf("accepted %+v", m)
		}
		for i, l := range m.Layers {
			if l.Attention.Kind == "" || l.Attention.Kind != NoAttention && l.Attention.Kind != LinearAttention && l.Attention.HeadDim < 1 {
				t.Fatalf("layer %d: %+v", i, l)
			}
		}
	})
}
