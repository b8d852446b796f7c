package shape

import (
	"math"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// FuzzShapes: whatever config is accepted has sizes that are numbers.
func FuzzShapes(f *testing.F) {
	for _, name := range []string{"builtin", "gpt-oss-20b", "deepseek-v3.2", "deepseek-v4-flash", "kimi-k3",
		"qwen3.5-27b", "nemotron-3-nano-30b-a3b", "llama-3.2-11b-vision", "qwen3.6-27b-nvfp4", "falcon-7b", "gemma-4-26b-a4b-nvfp4"} {
		data, err := profiles.ModelConfig(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := profiles.ParseModel("fuzz", data)
		if err != nil {
			return
		}
		p := CountParameters(m)
		for name, n := range map[string]int64{
			"parameters": p.Total(), "active parameters": p.Active(), "small": p.Small, "attention": p.Attention, "dense": p.Dense, "experts": p.Experts,
			"KV bytes": KVBytesPerToken(m, BF16, 1), "growing KV bytes": GrowingKVBytesPerToken(m, NVFP4, 8), "state": StateBytes(m, BF16, 8),
		} {
			if n < 0 {
				t.Fatalf("%s: %d", name, n)
			}
		}
		if w := Weights(m, FormatOf(m)); math.IsNaN(w.Total()) || math.IsInf(w.Total(), 0) || w.Total() < 0 || w.PerRank(3, 2) < 0 {
			t.Fatalf("weights %+v", w)
		}
	})
}
