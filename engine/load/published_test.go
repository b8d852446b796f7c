package load

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/profiles"
)

// published is the shape of a published config.json.
func published(t *testing.T, name string) (model.Shape, error) {
	t.Helper()
	data, err := profiles.ModelConfig(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profiles.ParseModel(name, data)
	if err != nil {
		t.Fatal(err)
	}
	d, err := readDetails(data, *p)
	if err != nil {
		return model.Shape{}, err
	}
	return model.ShapeWith(*p, d)
}

func TestShapesOfPublishedModels(t *testing.T) {
	near := func(a float32, b float64) bool { return math.Abs(float64(a)/b-1) < 1e-6 }
	slow := func(s model.Shape, rope int, theta float64) float64 { // how much slower the last pair turns than without scaling
		r := s.Ropes[rope]
		last := len(r.Frequencies) - 1
		return model.PlainRope(theta, 2*len(r.Frequencies)).Frequencies[last] / r.Frequencies[last]
	}
	windows := func(s model.Shape) (w []int) {
		for i := range 6 {
			w = append(w, s.Kind(i).Window)
		}
		return w
	}
	for _, c := range []struct {
		name  string
		right func(s model.Shape) bool
	}{
		{"llama-2-7b", func(s model.Shape) bool {
			return s.Kinds == nil && s.KVHeads == 32 && s.MaxPositions == 4096 && !s.Tied
		}},
		{"llama-3.1-8b", func(s model.Shape) bool {
			return s.Kinds == nil && math.Abs(slow(s, 0, 5e5)-8) < 1e-9 && s.Ropes[0].Frequencies[0] == 1
		}},
		{"llama-3.2-1b", func(s model.Shape) bool { return s.Tied && math.Abs(slow(s, 0, 5e5)-32) < 1e-9 }},
		{"mistral-7b-v0.1", func(s model.Shape) bool { return slices.Equal(windows(s), []int{4096, 4096, 4096, 4096, 4096, 4096}) }},
		{"mistral-7b-v0.3", func(s model.Shape) bool { return s.Kinds == nil }},
		{"qwen2.5-7b", func(s model.Shape) bool { return s.Kinds == nil && s.KVHeads == 4 }},
		{"qwen3-0.6b", func(s model.Shape) bool { return s.HeadDim == 128 && s.Queries() == 2048 && s.Hidden == 1024 }},
		{"smollm2-135m", func(s model.Shape) bool { return s.Layers == 30 && s.Heads == 9 && s.KVHeads == 3 && s.Tied }},
		{"phi-3-mini-128k", func(s model.Shape) bool {
			// √(1 + ln 32 / ln 4096) by LongRoPE's formula.
			return len(s.Ropes[0].Frequencies) == 48 && math.Abs(s.Ropes[0].Magnitude-1.190238) < 1e-6 && slow(s, 0, 1e4) > 60
		}},
		{"phi-4-mini", func(s model.Shape) bool { return s.HeadDim == 128 && len(s.Ropes[0].Frequencies) == 48 }},
		{"gemma-2-2b", func(s model.Shape) bool {
			return slices.Equal(windows(s), []int{4096, 0, 4096, 0, 4096, 0}) && s.ScoreCap == 50 && s.LogitCap == 30 &&
				s.Activation == model.GELUTanh && near(s.QueryScale, 1./16) && near(s.EmbeddingScale, math.Sqrt(2304)) && len(s.Ropes) == 1
		}},
		{"gemma-2-27b", func(s model.Shape) bool { return near(s.QueryScale, 1./12) && s.HeadDim == 128 }},
		{"gemma-3-4b", func(s model.Shape) bool {
			return slices.Equal(windows(s), []int{1024, 1024, 1024, 1024, 1024, 0}) && s.Kind(4).Rope == 1 && s.Kind(5).Rope == 0 &&
				math.Abs(slow(s, 0, 1e6)-8) < 1e-9 && math.Abs(slow(s, 1, 1e4)-1) < 1e-9 && s.ScoreCap == 0 && s.LogitCap == 0
		}},
		{"gemma-3-27b", func(s model.Shape) bool { return near(s.QueryScale, 1/math.Sqrt(168)) }},
		{"mixtral-8x7b", func(s model.Shape) bool {
			return s.Experts == model.Experts{Count: 8, PerToken: 2, Intermediate: 14336, Normalize: true} && s.Kinds == nil
		}},
		{"qwen3-30b-a3b", func(s model.Shape) bool {
			return s.Experts == model.Experts{Count: 128, PerToken: 8, Intermediate: 768, Normalize: true}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := published(t, c.name)
			if err != nil {
				t.Fatal(err)
			}
			if !c.right(s) {
				s.Ropes, s.Kinds = s.Ropes[:1], nil
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestPublishedModelsThatAreNotRun(t *testing.T) {
	for _, name := range []string{"deepseek-v3", "gpt-oss-20b", "gemma-4-31b", "olmoe-1b-7b", "granite-3.1-8b", "qwen1.5-moe-a2.7b", "falcon-7b", "llama-4-scout", "glm-4.5", "qwen2.5-vl-7b", "phi-3-small-8k"} {
		t.Run(name, func(t *testing.T) {
			if _, err := published(t, name); err == nil || !strings.Contains(err.Error(), "not supported") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Whatever a config.json says, it gives a shape that could be run or an error, and
// takes no more memory than the sizes it claims to have.
func FuzzConfig(f *testing.F) {
	for _, name := range []string{"llama-3.1-8b", "gemma-3-4b", "gemma-2-2b", "phi-4-mini", "qwen3-30b-a3b", "mixtral-8x7b", "qwen2.5-7b"} {
		data, err := profiles.ModelConfig(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"model_type":"llama","hidden_size":8,"num_attention_heads":1,"num_hidden_layers":1,"vocab_size":8,"intermediate_size":8,"max_position_embeddings":8,"rope_scaling":{"rope_type":"yarn","factor":2}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := profiles.ParseModel("fuzz", data)
		if err != nil {
			return
		}
		d, err := readDetails(data, *p)
		if err != nil {
			return
		}
		s, err := model.ShapeWith(*p, d)
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Ropes {
			for _, frequency := range r.Frequencies {
				if math.IsNaN(frequency) || math.IsInf(frequency, 0) {
					t.Fatalf("frequencies %v", r.Frequencies)
				}
			}
		}
	})
}
