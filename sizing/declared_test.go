package sizing

import "testing"

// TestDeclaredCache: engines follow the cache format of a checkpoint from the
// version on in which they learned to.
func TestDeclaredCache(t *testing.T) {
	for _, tc := range []struct {
		model, engine, weights, kv, want string
	}{
		{"qwen3-235b-a22b-nvfp4", "vllm@0.13", "", "", "bf16"},
		{"qwen3-235b-a22b-nvfp4", "vllm@0.14", "", "", "fp8"},
		{"qwen3-235b-a22b-nvfp4", "vllm@0.26", "", "bf16", "bf16"},
		{"qwen3-235b-a22b-nvfp4", "vllm@0.26", "fp8", "", "bf16"},
		{"glm-5.1-nvfp4", "vllm@0.26", "", "", "fp8"},
		{"qwen3-235b-a22b-nvfp4", "sglang@0.5.9", "", "", "fp8"},
		{"qwen3-235b-a22b-nvfp4", "sglang@0.4", "", "", "bf16"},
		{"qwen3-235b-a22b-fp8", "vllm@0.26", "", "", "bf16"},
		{"qwen3-32b-fp8", "tensorrt-llm@1.2", "", "", "bf16"},
		{"llama-3.1-70b-fp8", "tensorrt-llm@1.2", "", "", "fp8"},
		{"llama-3.3-70b", "tensorrt-llm@1.2", "fp8", "", "fp8"},
	} {
		p := mustCompute(t, scenario(func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.Scenario.Accelerator = tc.model, tc.engine, "b200-180gb"
			r.WeightDType, r.KVDType = tc.weights, tc.kv
		}))
		if p.Inputs.KVDType != tc.want {
			t.Errorf("%+v: the cache is in %s", tc, p.Inputs.KVDType)
		}
	}
}

// TestPrefixCachingDefaults are those of the engines' versions.
func TestPrefixCachingDefaults(t *testing.T) {
	for _, tc := range []struct {
		model, engine, said string
		want                bool
	}{
		{"llama-3.1-8b", "vllm@0.7", "", false},
		{"llama-3.1-8b", "vllm@0.19", "", true},
		{"llama-3.1-8b", "vllm@0.19", "off", false},
		{"qwen3.5-27b", "vllm@0.25", "", false},
		{"qwen3.5-27b", "vllm@0.26", "auto", true},
		{"qwen3.5-27b", "sglang", "", true},
	} {
		p := mustCompute(t, scenario(func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.PrefixCaching = tc.model, tc.engine, tc.said
		}))
		if p.Inputs.PrefixCaching != tc.want || !tc.want && p.Inputs.PrefixHitRate > 0 {
			t.Errorf("%+v: prefix caching %v, hit rate %v", tc, p.Inputs.PrefixCaching, p.Inputs.PrefixHitRate)
		}
	}
	r := scenario(nil)
	r.PrefixCaching = "maybe"
	if _, err := Compute(r); err == nil {
		t.Error("maybe is neither on nor off")
	}
}

// TestWholeImages: where images can not be cut into steps, vLLM raises the budget
// of a step from 0.22 on, to 32 frames of 78 tokens.
func TestWholeImages(t *testing.T) {
	for engine, want := range map[string]int{"vllm@0.21": 2048, "vllm@0.25": 2496} {
		p := mustCompute(t, scenario(func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.Scenario.Accelerator, r.WeightDType = "gemma-4-26b-a4b", engine, "l40s-48gb", "fp8"
			r.MaxModelLen = 8192
		}))
		if p.Inputs.MaxNumBatchedTokens != want {
			t.Errorf("%s takes %d tokens a step, want %d", engine, p.Inputs.MaxNumBatchedTokens, want)
		}
	}
}
