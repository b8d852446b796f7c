package sizing

import (
	"strings"
	"testing"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

func TestParallelErrors(t *testing.T) {
	for _, tc := range []struct {
		name, model string
		parallel    profiles.Parallel
		want        string
	}{
		{"experts of a dense model", "llama-3.1-8b", profiles.Parallel{Tensor: 2, Expert: 2}, "--ep 2: llama-3.1-8b has no experts to divide"},
		{"some of the ranks", "qwen3-30b-a3b", profiles.Parallel{Tensor: 2, Data: 4, Expert: 4}, "--ep 4 is not --tp × --dp = 8"},
		{"more ranks than experts", "mixtral-8x7b", profiles.Parallel{Tensor: 8, Data: 2, Expert: 16}, "--ep 16 is more than the 8 experts of mixtral-8x7b"},
		{"width of the experts", "deepseek-v2-lite", profiles.Parallel{Tensor: 16, Data: 16},
			"does not divide the experts' width 1408 (moe_intermediate_size) of deepseek-v2-lite; --ep 256 divides whole experts instead"},
		{"too many ranks", "llama-3.1-8b", profiles.Parallel{Data: 2000}, "--dp 2000 is outside 1 to 1024"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Compute(scenario(func(r *Request) { r.Scenario.Model, r.Scenario.Parallel = tc.model, tc.parallel }))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}

// TestDataParallelRanks: each rank has attention and a pool of its own, the
// experts are there once.
func TestDataParallelRanks(t *testing.T) {
	plan := func(p profiles.Parallel) *Plan {
		return mustCompute(t, scenario(func(r *Request) {
			r.Scenario.Model, r.Scenario.Accelerator, r.Scenario.Parallel, r.MaxModelLen = "deepseek-v3", "b300-270gb", p, 8192
		}))
	}
	tensor, data := plan(profiles.Parallel{Tensor: 8}), plan(profiles.Parallel{Data: 8, Expert: 8})
	if data.Memory.WeightsBytes <= tensor.Memory.WeightsBytes {
		t.Errorf("attention copied takes %d, divided %d", data.Memory.WeightsBytes, tensor.Memory.WeightsBytes)
	}
	if data.Memory.KVCacheTokens < 6*tensor.Memory.KVCacheTokens {
		t.Errorf("eight pools hold %d tokens, a latent cache copied on eight ranks %d", data.Memory.KVCacheTokens, tensor.Memory.KVCacheTokens)
	}
	if data.Fleet.Accelerators != 8*data.Fleet.Replicas {
		t.Errorf("%d accelerators for %d replicas", data.Fleet.Accelerators, data.Fleet.Replicas)
	}
	dense := mustCompute(t, scenario(func(r *Request) { r.Scenario.Parallel.Data, r.KVCacheMemory = 2, 1<<30 })).Memory
	one := mustCompute(t, scenario(func(r *Request) { r.KVCacheMemory = 1 << 30 })).Memory
	if dense.KVCacheTokens != 2*one.KVCacheTokens || dense.WeightsBytes != one.WeightsBytes || dense.MixSequences != 2*one.MixSequences {
		t.Errorf("two ranks of a dense model: %+v, one: %+v", dense, one)
	}
}

// TestBlocksOfScales: 1,536 of a width on 8 ranks cut blocks of 128 in half.
func TestBlocksOfScales(t *testing.T) {
	plan := func(p profiles.Parallel) *Plan {
		return mustCompute(t, scenario(func(r *Request) { r.Scenario.Model, r.Scenario.Parallel = "qwen3-235b-a22b-fp8", p }))
	}
	if !hasWarning(plan(profiles.Parallel{Tensor: 8}), "quantization-blocks") {
		t.Error("no warning at TP 8")
	}
	for _, p := range []profiles.Parallel{{Tensor: 4}, {Tensor: 8, Expert: 8}} {
		if hasWarning(plan(p), "quantization-blocks") {
			t.Errorf("a warning at %+v", p)
		}
	}
}

// TestUnevenExperts: 160 experts on 12 ranks leave 14 on the fullest.
func TestUnevenExperts(t *testing.T) {
	weights := func(p profiles.Parallel) shape.WeightBytes {
		s, err := resolve(scenario(func(r *Request) { r.Scenario.Model, r.Scenario.Parallel = "glm-4.7", p }))
		if err != nil {
			t.Fatal(err)
		}
		return s.stageWeights(0)
	}
	one, many := weights(profiles.Parallel{}), weights(profiles.Parallel{Data: 12, Expert: 12})
	if got := many.Experts / one.Experts * 160; got < 13.99 || got > 14.01 {
		t.Errorf("%v of 160 experts on one rank, want 14", got)
	}
}

// TestAcceleratorMemory: what the driver says counts, not the catalogue.
func TestAcceleratorMemory(t *testing.T) {
	less := mustCompute(t, scenario(func(r *Request) { r.AcceleratorMemory = 70 << 30 })).Memory
	usual := mustCompute(t, scenario(nil)).Memory
	if less.TotalBytes != 70<<30 || less.KVCacheBytes >= usual.KVCacheBytes {
		t.Errorf("%+v", less)
	}
	for _, bytes := range []int64{-1, 1000, 1 << 60} {
		if _, err := Compute(scenario(func(r *Request) { r.AcceleratorMemory = bytes })); err == nil || !strings.Contains(err.Error(), "--accelerator-memory") {
			t.Errorf("%d bytes: %v", bytes, err)
		}
	}
}

// TestWholePromptsOfTheFirstEngine is vllm issue 10517: without chunked prefill
// the longest prompt sets the activation peak, and above 32k it is chunked.
func TestWholePromptsOfTheFirstEngine(t *testing.T) {
	pool := func(length int) Memory {
		m, err := PlanMemory(Request{
			Scenario:    profiles.Scenario{Model: "llama-3.1-8b", Accelerator: "rtx-3090-24gb", Engine: "vllm@0.6.4"},
			MaxModelLen: length, AcceleratorMemory: 25318832210,
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if got := float64(pool(20_000).KVCacheBytes) / (1 << 30); got < 3.7 || got > 3.9 {
		t.Errorf("%.2f GiB at 20,000 tokens, the engine had 3.81", got)
	}
	if m := pool(29_000); m.MaxConcurrency >= 1 || m.KVCacheTokens < 23_000 || m.KVCacheTokens > 24_500 {
		t.Errorf("%d tokens at 29,000, the engine had 23,648 and refused", m.KVCacheTokens)
	}
	if m := pool(35_000); m.MaxConcurrency < 1 {
		t.Errorf("%d tokens at 35,000, which the engine took", m.KVCacheTokens)
	}
}
