package sizing

import (
	"math"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestBeyond counts requests by hand: prompts of 100 to 200 tokens, evenly, with
// answers of 50 are beyond 200 where the prompt is of more than 150.
func TestBeyond(t *testing.T) {
	w := profiles.Workload{Input: profiles.Distribution{Kind: profiles.Uniform, Min: 100, Max: 200}, Output: fixed(50)}
	for n, want := range map[float64]float64{100: 1, 200: 0.5, 260: 0} {
		if got := beyond(w, n); math.Abs(got-want) > 0.02 {
			t.Errorf("%v beyond %v, want %v", got, n, want)
		}
	}
	if got := longestRequest(w); math.Abs(got-250) > 2 {
		t.Errorf("the longest has %v tokens, want 250", got)
	}
}

// TestEngineLimits are what the engines refuse at their start, and what just passes.
func TestEngineLimits(t *testing.T) {
	lengths := func(in, out float64) func(*Request) {
		return func(r *Request) {
			r.Scenario.Workload.Input, r.Scenario.Workload.Output = fixed(in), fixed(out)
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*Request)
		want   string // "" passes
	}{
		{"prompts beyond the window", lengths(1e9, 10), "--isl 1000000000 and --osl 10 are more than the window of llama-3.1-8b, 131,072 tokens"},
		{"prompt and answer beyond it", lengths(130_000, 5000), "--isl 130000 and --osl 5000"},
		{"answers beyond it", lengths(10, 200_000), "--osl 200000"},
		{"the whole window", lengths(130_000, 1072), ""},
		{"most beyond the length", func(r *Request) { r.MaxModelLen = 500 }, "--max-model-len 500 is less than most requests"},
		{"a budget for nothing", func(r *Request) { r.MaxNumBatchedTokens = 1 }, "--max-num-batched-tokens 1 is outside 16 to"},
		{"fewer tokens than sequences", func(r *Request) { r.MaxNumBatchedTokens, r.MaxNumSeqs = 256, 512 }, "--max-num-batched-tokens 256 is less than --max-num-seqs 512"},
		{"as many", func(r *Request) { r.MaxNumBatchedTokens, r.MaxNumSeqs = 512, 512 }, ""},
		{"the other follows", func(r *Request) { r.MaxNumBatchedTokens = 64 }, ""},
		{"more sequences than the default budget", func(r *Request) { r.MaxNumSeqs = 100_000 }, "--max-num-seqs 100000 is more than the"},
		{"another scheduler", func(r *Request) { r.Scenario.Engine, r.MaxNumBatchedTokens, r.MaxNumSeqs = "sglang", 256, 512 }, ""},
		{"a block that vLLM has no kernel for", func(r *Request) { r.BlockSize = 24 }, "--block-size 24 is not among those that vllm takes; possible: 1, 8, 16, 32, 64, 128, 256"},
		{"a block of vLLM", func(r *Request) { r.BlockSize = 64 }, ""},
		{"a block of SGLang", func(r *Request) { r.Scenario.Engine, r.BlockSize = "sglang", 24 }, ""},
		{"a block of TensorRT-LLM", func(r *Request) { r.Scenario.Engine, r.BlockSize = "tensorrt-llm", 48 }, "possible: powers of two"},
		{"heads for 32", func(r *Request) { r.Scenario.Parallel.Tensor = 3 }, "possible: 1, 2, 4, 8, 16, 32"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Compute(scenario(tc.change))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	if p := mustCompute(t, scenario(func(r *Request) { r.MaxNumBatchedTokens = 64 })); p.Inputs.MaxNumSeqs != 64 {
		t.Errorf("max_num_seqs %d beside 64 tokens of a step", p.Inputs.MaxNumSeqs)
	}
}

func TestMoneyHasNoNoise(t *testing.T) {
	if got := exact(3 * 2.49); got != 7.47 {
		t.Errorf("%v, want 7.47", got)
	}
	if got := saved(0.1+0.2, 0.3); got != 0 || math.Signbit(saved(0.3, 0.1+0.2)) {
		t.Errorf("saved %v", got)
	}
	if got := saved(10, 7.5); got != 2.5 {
		t.Errorf("saved %v, want 2.5", got)
	}
}
