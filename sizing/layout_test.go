package sizing

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
)

// TestLayoutsOfLogs are blocks, tokens and concurrency that engines logged for
// models of several kinds of layers.
func TestLayoutsOfLogs(t *testing.T) {
	for _, tc := range []struct {
		name        string
		change      func(*Request)
		block       int
		blocks      int64
		tokens      int64
		concurrency float64
	}{
		{"Qwen3.5-27B: 48 states in three groups beside 16 layers of attention (vllm issue 40691)", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "qwen3.5-27b", "vllm@0.19", 32768
			r.KVCacheMemory = 1487 * 784 * 4096 * 16
		}, 784, 1487, 290_864, 33.04},
		{"the same with prefix caching: two blocks for each state", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "qwen3.5-27b", "vllm@0.26", 131_072
			r.KVDType, r.Scenario.Parallel.Tensor = "fp8", 2
			r.KVCacheMemory = 5357971537 // 4.99 GiB
		}, 1568, 208, 302_921, 2.31},
		{"the same, two blocks asked for", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "qwen3.5-27b", "vllm@0.24", 131_072
			r.KVDType, r.Scenario.Parallel.Tensor, r.PrefixCaching = "fp8", 2, "on"
			r.KVCacheMemory = 5357971537
		}, 1568, 208, 302_921, 2.31},
		{"Qwen3.5-27B without prefix caching: one block for each state", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen, r.PrefixCaching = "qwen3.5-27b", "vllm@0.31", 32768, "off"
			r.KVCacheMemory = 1487 * 784 * 4096 * 16
		}, 784, 1487, 1_082_800, 33.04},
		{"Gemma-3-27B: 52 windows of 62 layers in six groups (vllm 0.11)", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen, r.MaxNumBatchedTokens = "gemma-3-27b", "vllm@0.11.0rc2", 4096, 8192
			r.KVCacheMemory = 89_994 * 131_072 * 10
		}, 16, 89_994, 205_696, 50.05},
		{"Gemma-3-27B before groups: windows cost as much as the rest", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "gemma-3-27b", "vllm@0.8.5", 4096
			r.KVCacheMemory = 1000 * 131_072 * 62
		}, 16, 1000, 16_000, 3.91},
		{"Llama-3.2-11B-Vision: 8 of 40 layers attend to images and have pages too", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "testdata/mllama.json", "vllm@0.6.4", 4096
			r.KVCacheMemory = 5000 * 40 * 65536
		}, 16, 5000, 80_000, 19.53},
		{"DeepSeek-V3 before MLA: 128 heads of 256 (public log of vLLM 0.6.6)", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "deepseek-v3", "vllm@0.6.6.post2", 8192
			r.Scenario.Parallel = profiles.Parallel{Tensor: 8, Pipeline: 2}
			r.KVCacheMemory = 2889 * 16 * 16 * 512 * 2 * 31
		}, 16, 2889, 46_224, 5.64},
		{"SGLang keeps states in a pool of 0.9 of the tokens' bytes", func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "qwen3.5-27b", "sglang", 32768
			r.KVCacheMemory = 124_519 * 100_000 // 65,536 B × 1.9
		}, 1, 100_000, 100_000, 3.05},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := mustCompute(t, scenario(tc.change))
			if m.Inputs.BlockSize != tc.block || m.Memory.KVCacheBlocks != tc.blocks || m.Memory.KVCacheTokens != tc.tokens {
				t.Errorf("%d blocks of %d, %d tokens, want %d of %d, %d", m.Memory.KVCacheBlocks, m.Inputs.BlockSize, m.Memory.KVCacheTokens, tc.blocks, tc.block, tc.tokens)
			}
			if got := m.Memory.MaxConcurrency; got < tc.concurrency-0.005 || got > tc.concurrency+0.005 {
				t.Errorf("%.3f requests at once, want %.2f", got, tc.concurrency)
			}
		})
	}
}

// TestMixOfAHybrid: a short request of a model with states takes whole blocks for
// them, so that far fewer fit than tokens suggest.
func TestMixOfAHybrid(t *testing.T) {
	p := mustCompute(t, scenario(func(r *Request) {
		r.Scenario.Model, r.KVCacheMemory, r.MaxModelLen = "qwen3.5-27b", 20<<30, 8192
		r.Scenario.Workload.Input, r.Scenario.Workload.Output = fixed(300), fixed(100)
	}))
	byTokens := float64(p.Memory.KVCacheTokens) / 350
	if p.Memory.MixSequences > byTokens/2 {
		t.Errorf("%v requests of 350 tokens at once, %v tokens", p.Memory.MixSequences, p.Memory.KVCacheTokens)
	}
}

// TestPagesHoldTheirTokens: a page has room for the tokens or the state that its
// group puts into it, and not for one block more; groups hold all layers. Where
// pools are separate, the blocks that a request takes at least bring the bytes of
// its state along on every stage.
func TestPagesHoldTheirTokens(t *testing.T) {
	// Half of the draws are of the few models and engines that have more than one
	// kind of cache.
	models, engines := profiles.ModelNames(), profiles.EngineNames()
	mixed := slices.DeleteFunc(slices.Clone(models), uniform)
	separate := slices.DeleteFunc(slices.Clone(engines), func(name string) bool { return !strings.HasPrefix(name, "sglang") })
	rapid.Check(t, func(t *rapid.T) {
		r := scenario(func(r *Request) {
			r.Scenario.Model = rapid.OneOf(rapid.SampledFrom(mixed), rapid.SampledFrom(models)).Filter(planned).Draw(t, "model")
			r.Scenario.Engine = rapid.OneOf(rapid.SampledFrom(separate), rapid.SampledFrom(engines)).Draw(t, "engine")
			r.Scenario.Parallel.Pipeline = rapid.SampledFrom([]int{1, 2, 3, 4, 8}).Draw(t, "stages")
			r.KVDType = rapid.SampledFrom([]string{"bf16", "fp8"}).Draw(t, "cache")
			r.BlockSize = rapid.SampledFrom([]int{1, 16, 32, 128}).Draw(t, "block")
		})
		if m, err := profiles.LoadModel(r.Scenario.Model); err != nil || len(m.Layers) < r.Scenario.Parallel.Pipeline {
			t.Skip(err)
		}
		s, err := resolve(r)
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.newLayout()
		if err != nil {
			t.Fatal(err)
		}
		kinds := crossKinds(layerKinds(s.model, s.kv, 1, s.engine), s.model, s.kv, 1)
		states := stateKinds(s.model, s.format.Base, 1)
		switch {
		case s.engine.Pools != profiles.EnginePools{} && len(kinds) > 0:
			checkSeparate(t, s, l, kinds, states)
		case len(l.groups) == 1:
			checkMerged(t, s, l, append(kinds, states...))
		default:
			checkSplit(t, s, l, kinds, states)
		}
	})
}

// checkMerged: a block has a page of each layer on its stage.
func checkMerged(t *rapid.T, s *situation, l layout, kinds []kvKind) {
	want := make([]int64, len(l.stages))
	for _, k := range kinds {
		for _, layer := range k.at {
			if k.kind == profiles.LinearAttention {
				want[s.stageOf(layer)] += k.bytes
			} else {
				want[s.stageOf(layer)] += k.page(l.groups[0].blockTokens)
			}
		}
	}
	if !slices.Equal(l.stages, want) {
		t.Fatalf("blocks of %d bytes on the stages, layers need %d", l.stages, want)
	}
}

// checkSplit: all groups share one page, in which no whole block is left free.
func checkSplit(t *rapid.T, s *situation, l layout, kinds, states []kvKind) {
	layers := int64(0)
	for _, k := range states {
		layers += int64(k.layers)
		if k.bytes > l.pageBytes {
			t.Fatalf("a page of %d bytes is too small for the state %+v", l.pageBytes, k)
		}
	}
	for _, k := range kinds {
		layers += int64(k.layers)
		fits := func(g kvGroup) bool {
			return g.kind == k.kind && g.window == k.window &&
				k.page(g.blockTokens) <= l.pageBytes && l.pageBytes < k.page(g.blockTokens+l.blockSize)
		}
		if !slices.ContainsFunc(l.groups, fits) {
			t.Fatalf("no group of %+v fills a page of %d bytes with %+v", l.groups, l.pageBytes, k)
		}
	}
	held := int64(0)
	for _, bytes := range l.stages {
		held += bytes / l.pageBytes * int64(len(l.groups))
	}
	if held < layers {
		t.Fatalf("%d layers in groups that hold %d", layers, held)
	}
}

// checkSeparate: what a stage's block has beyond its tokens is for states, and
// the least that a request takes pays for one.
func checkSeparate(t *rapid.T, s *situation, l layout, kinds, states []kvKind) {
	tokens, slots := make([]float64, len(l.stages)), make([]float64, len(l.stages))
	for _, k := range kinds {
		bytes := float64(k.page(l.blockSize))
		if k.window > 0 && !alike(kinds) {
			bytes *= s.engine.Pools.WindowRatio
		}
		for _, layer := range k.at {
			tokens[s.stageOf(layer)] += bytes
		}
	}
	for _, k := range states {
		for _, layer := range k.at {
			slots[s.stageOf(layer)] += float64(k.bytes)
		}
	}
	for stage, bytes := range l.stages {
		free := float64(bytes) - tokens[stage]
		if free < 0 || float64(l.slotBlocks)*free < slots[stage]*(1-1e-9) {
			t.Fatalf("stage %d: blocks of %d bytes, of which tokens take %v: %d of them have no room for a state of %v", stage, bytes, tokens[stage], l.slotBlocks, slots[stage])
		}
		if slots[stage] == 0 && free >= 1 {
			t.Fatalf("stage %d: %v bytes of a block are for nothing", stage, free)
		}
	}
}

// uniform reports whether all layers of a model are of one kind.
func uniform(name string) bool {
	m, err := profiles.LoadModel(name)
	if err != nil {
		panic(err)
	}
	first := m.Layers[0].Attention
	return !slices.ContainsFunc(m.Layers, func(l profiles.Layer) bool {
		return l.Attention.Kind != first.Kind || l.Attention.State != first.State
	})
}

// planned reports whether a model's pool can be planned at all.
func planned(model string) bool { return !strings.HasPrefix(model, "deepseek-v4") }
