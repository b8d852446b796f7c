package shape

import (
	"math"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestMatcher: the ways in which checkpoints name what they leave alone.
func TestMatcher(t *testing.T) {
	for _, tc := range []struct {
		pattern, module string
		matches         bool
	}{
		{"model.layers.3.self_attn.q_proj", "layers.3.self_attn.q_proj", true},
		{"model.layers.3.self_attn.q_proj", "layers.4.self_attn.q_proj", false},
		{"model.layers.3.self_attn", "layers.3.self_attn.q_proj", true},
		{"model.layers.*.self_attn", "layers.30.self_attn.k_proj", true},
		{"language_model.model.layers.1.self_attn*", "layers.1.self_attn.o_proj", true},
		{"language_model.model.layers.1.self_attn*", "layers.11.self_attn.o_proj", false},
		{"gate", "layers.2.mlp.gate", true},
		{"gate", "layers.2.mlp.gate_proj", false},
		{"re:.*self_attn.*", "layers.2.self_attn.q_proj", true},
		{`re:.*mlp\.(gate|up|gate_up|down)_proj.*`, "layers.0.mlp.up_proj", true},
		{`re:.*mlp\.(gate|up|gate_up|down)_proj.*`, "layers.0.mlp.shared_experts.up_proj", false},
		{"re:self_attn", "layers.2.self_attn.q_proj", false}, // as re.match: from the beginning
		{"backbone.layers.4.mixer.in_proj", "layers.4.linear_attn.in_proj", true},
		{"backbone.layers.5.mixer.q_proj", "layers.5.self_attn.q_proj", true},
		{"*.mlp.shared_expert.*", "layers.7.mlp.shared_experts.up_proj", true},
		{"*.ffn.shared_experts.*", "layers.7.mlp.shared_experts.up_proj", true},
		{"model.layers.8.block_sparse_moe.experts", "layers.8.mlp.experts", true},
		{"vision_tower.layers.0.self_attn.q_proj", "layers.0.self_attn.q_proj", false},
		{"model.visual*", "layers.0.self_attn.q_proj", false},
	} {
		if got := newMatcher([]string{tc.pattern}).matches(tc.module); got != tc.matches {
			t.Errorf("%s matches %s: %v", tc.pattern, tc.module, got)
		}
	}
}

// TestKeptLayersCount: what one layer keeps is 16 bit in that layer alone.
func TestKeptLayersCount(t *testing.T) {
	m := load(t, "llama-3.1-8b")
	fp8 := profiles.Quantization{Encoding: profiles.Encoding{Method: "fp8", Bits: 8}}
	all := Weights(m, Format{Base: BF16, Quantization: fp8}).Total()
	for _, tc := range []struct {
		name  string
		kept  []string
		more  float64 // bytes
		parts []profiles.Part
	}{
		{"one matrix", []string{"model.layers.5.mlp.up_proj"}, 4096 * 14336, nil},
		{"one layer", []string{"model.layers.5"}, 4096 * (2*4096 + 2*1024 + 3*14336), nil},
		{"attention of two layers", []string{"model.layers.0.self_attn", "model.layers.31.self_attn*"}, 2 * 4096 * (2*4096 + 2*1024), nil},
		{"all attention", []string{"re:.*self_attn.*"}, 32 * 4096 * (2*4096 + 2*1024), nil},
		{"a part in four bits", nil, -32 * 4096 * 14336 * (0.5 - 1.0/16),
			[]profiles.Part{{Encoding: profiles.Encoding{Method: "nvfp4", Bits: 4, GroupSize: 16}, Modules: []string{"re:.*down_proj"}}}},
		{"towers and heads make no difference", []string{"lm_head", "visual", "model.embed_tokens"}, 0, nil},
	} {
		q := fp8
		q.Kept, q.Parts = tc.kept, tc.parts
		if got := Weights(m, Format{Base: BF16, Quantization: q}).Total() - all; math.Abs(got-tc.more) > 1 {
			t.Errorf("%s: %.0f bytes more, want %.0f", tc.name, got, tc.more)
		}
	}
}

// TestStages: the layers of all stages hold what the model holds, also where a
// checkpoint names layers by number.
func TestStages(t *testing.T) {
	for _, name := range []string{"llama-3.1-405b-fp8", "deepseek-v3.1-nvfp4", "qwen3.6-27b-nvfp4", "gpt-oss-20b"} {
		m := load(t, name)
		f := FormatOf(m)
		whole, sum := Weights(m, f), 0.0
		for from := 0; from < len(m.Layers); from += 7 {
			w := StageWeights(m, f, from, min(from+7, len(m.Layers)))
			sum += w.Split + w.KV + w.Experts + w.Copied - StageWeights(m, f, 0, 0).Copied
		}
		if want := whole.Split + whole.KV + whole.Experts + whole.Copied - StageWeights(m, f, 0, 0).Copied; math.Abs(sum-want) > 1e-9*want {
			t.Errorf("%s: stages hold %.0f bytes in layers, the model %.0f", name, sum, want)
		}
	}
}

// TestPublishedFiles compares with the sizes of quantized checkpoints.
func TestPublishedFiles(t *testing.T) {
	for _, tc := range []struct {
		model     string
		gib       float64
		tolerance float64
	}{
		{"qwen3-32b-awq", 18.00, 0.001},
		{"llama-3.1-70b-fp8", 67.76, 0.002}, // as loaded
		{"gpt-oss-20b", 13.47, 0.003},       // padded, as loaded
	} {
		m := load(t, tc.model)
		if got := Weights(m, FormatOf(m)).Total() / (1 << 30); math.Abs(got/tc.gib-1) > tc.tolerance {
			t.Errorf("%s: %.2f GiB, the file has %.2f", tc.model, got, tc.gib)
		}
	}
}
