package model

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/profiles"
)

// builtin is a copy of the built-in model's profile that a test may change.
func builtin(t *testing.T) profiles.Model {
	t.Helper()
	m, err := profiles.LoadModel(profiles.BuiltinModel)
	if err != nil {
		t.Fatal(err)
	}
	m.Layers = slices.Clone(m.Layers)
	return *m
}

func TestBuiltinIsAMillionParameters(t *testing.T) {
	s, err := ShapeOf(builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	w := Synthetic(s, 1)
	size := func(m Matrix) int { return m.Rows * m.Cols }
	n := size(w.Embedding) + len(w.FinalNorm)
	for _, l := range w.Layers {
		n += len(l.AttentionNorm) + size(l.Query) + size(l.Key) + size(l.Value) + size(l.Output) + len(l.MLPNorm) + size(l.Gate) + size(l.Up) + size(l.Down)
	}
	// 2048·128 embeddings; per layer 128·(128+64+64) + 128·128 + 3·128·352 + 2·128; 128.
	if want := 2048*128 + 4*(128*256+128*128+3*128*352+2*128) + 128; n != want {
		t.Errorf("%d parameters, want %d", n, want)
	}
	if s.Vocab != tokenizer.Size {
		t.Errorf("vocabulary of %d, the tokenizer has %d", s.Vocab, tokenizer.Size)
	}
	if got := s.KVBytesPerToken(); got != 2048 {
		t.Errorf("%d bytes of K and V per token, want 2048", got)
	}
}

// TestWeightsAreTheSameEverywhere pins the synthetic weights: text that was
// generated anywhere can be generated again.
func TestWeightsAreTheSameEverywhere(t *testing.T) {
	s, err := ShapeOf(builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(seed uint64) string {
		w := Synthetic(s, seed)
		h := fnv.New64a()
		first := w.Layers[0]
		for _, m := range []Matrix{w.Embedding, first.Query, first.Key, first.Value, w.Layers[3].Down, FloatMatrix(1, len(w.FinalNorm), w.FinalNorm)} {
			_, _ = h.Write(m.Data) // a hash never fails
		}
		return fmt.Sprintf("%016x", h.Sum64())
	}
	if got, want := sum(1), "1b290aa5f97b5b98"; got != want {
		t.Errorf("weights of seed 1 hash to %s, want %s", got, want)
	}
	if sum(1) == sum(2) {
		t.Error("seeds 1 and 2 make the same weights")
	}
}

func TestOnlyReadableTokensAreLeft(t *testing.T) {
	s, err := ShapeOf(builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	s.Vocab += 10
	var rest []string
	for token, offset := range Synthetic(s, 1).Offsets {
		if math.IsInf(float64(offset), -1) {
			continue
		}
		if name := tokenizer.Name(int32(token)); tokenizer.ClassOf(int32(token)) != tokenizer.SpacedWord {
			rest = append(rest, name)
		}
	}
	if got := strings.Join(rest, " "); got != "</s> , ." {
		t.Errorf("besides words there are %q", got)
	}
}

func TestShapeOfRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*profiles.Model)
		want   string
	}{
		{"no layers", func(m *profiles.Model) { m.Layers = nil }, "has no layers"},
		{"sliding window", func(m *profiles.Model) { m.Layers[1].Attention.Kind = profiles.SlidingAttention }, "sliding attention in layer 1"},
		{"experts", func(m *profiles.Model) { m.Layers[0].MLP.Experts = 8 }, "mixture of experts"},
		{"no gate", func(m *profiles.Model) { m.Layers[2].MLP.Gated = false }, "without a gate in layer 2"},
		{"layers that differ", func(m *profiles.Model) { m.Layers[3].MLP.Intermediate = 5 }, "layer 3, whose sizes differ"},
		{"bias", func(m *profiles.Model) { m.AttentionBias = true }, "bias"},
		{"query norm", func(m *profiles.Model) { m.QKNorm = true }, "normalization"},
		{"query norm over all heads", func(m *profiles.Model) { m.QKNormWide = true }, "normalization"},
		{"sinks", func(m *profiles.Model) { all(m, func(l *profiles.Layer) { l.Attention.Sinks = true }) }, "sinks"},
		{"LayerNorm", func(m *profiles.Model) { m.NormBias = true }, "differs from Llama's"},
		{"learned positions", func(m *profiles.Model) { m.PositionRows = 8 }, "differs from Llama's"},
		{"part of a head rotated", func(m *profiles.Model) { m.RopeShare = 0.5 }, "rotary embedding of a part"},
		{"activation", func(m *profiles.Model) { m.Activation = "gelu" }, `activation "gelu"`},
		{"value width", func(m *profiles.Model) { all(m, func(l *profiles.Layer) { l.Attention.ValueDim = 8 }) }, "value width"},
		{"heads", func(m *profiles.Model) { all(m, func(l *profiles.Layer) { l.Attention.KVHeads = 3 }) }, "cannot share 3 KV heads"},
		{"odd head", func(m *profiles.Model) {
			all(m, func(l *profiles.Layer) { l.Attention.HeadDim, l.Attention.ValueDim = 5, 5 })
		}, "is odd"},
		{"no vocabulary", func(m *profiles.Model) { m.VocabSize = 0 }, "vocabulary is 0"},
		{"absurd size", func(m *profiles.Model) { m.HiddenSize = 1 << 23; m.VocabSize = 1 << 23 }, "too large"},
		{"theta", func(m *profiles.Model) { m.RopeTheta = 0 }, "must be positive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := builtin(t)
			c.change(&m)
			_, err := ShapeOf(m)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func all(m *profiles.Model, change func(*profiles.Layer)) {
	for i := range m.Layers {
		change(&m.Layers[i])
	}
}

func TestExpIsAccurate(t *testing.T) {
	for x := float32(-87.3); x < 88.7; x += 0.00917 {
		want := math.Exp(float64(x))
		ulp := math.Abs(float64(math.Nextafter32(float32(want), math.MaxFloat32)) - float64(float32(want)))
		if d := math.Abs(float64(Exp(x)) - want); d > 2*ulp {
			t.Fatalf("Exp(%v) = %v, want %v: off by %.1f ulp", x, Exp(x), want, d/ulp)
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{{0, 1}, {-inf, 0}, {-100, 0}, {100, inf}, {inf, inf}} {
		if got := Exp(c.x); got != c.want {
			t.Errorf("Exp(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	if got := Exp(float32(math.NaN())); got == got {
		t.Errorf("Exp(NaN) = %v", got)
	}
}

// TestExpAllIsExp compares the vector kernel with the scalar, to the bit.
func TestExpAllIsExp(t *testing.T) {
	for _, scale := range []float32{1, 0.5, 1.7} {
		for n := range 40 {
			top := float32(3.25)
			x := make([]float32, n)
			for i := range x {
				x[i] = top - float32(i*i*n)*0.0173
			}
			if n > 3 {
				x[0], x[1], x[2] = float32(math.Inf(-1)), top, top+expLowest
			}
			got := make([]float32, n)
			ExpAll(got, x, top, scale)
			for i := range x {
				want := Exp(float32((x[i] - top) * scale))
				if math.Float32bits(got[i]) != math.Float32bits(want) {
					t.Fatalf("element %d of %d, scale %v: e^%v is %v, want %v", i, n, scale, (x[i]-top)*scale, got[i], want)
				}
			}
		}
	}
	for x := float32(-90); x <= 0; x += 0.0113 {
		v := [8]float32{x, x, x, x, x, x, x, x}
		ExpAll(v[:], v[:], 0, 1)
		if math.Float32bits(v[5]) != math.Float32bits(Exp(x)) {
			t.Fatalf("e^%v is %v, want %v", x, v[5], Exp(x))
		}
	}
}
