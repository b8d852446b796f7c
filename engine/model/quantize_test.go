package model

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/internal/weights/block"
)

// layered is a model of one layer with a mixture of experts beside a dense MLP, which
// is no model but has all matrices there are.
func layered(r *rand.Rand, kind block.Type, cols int) *Weights {
	matrix := func(rows int) Matrix {
		values := make([]float32, rows*cols)
		deviation := math.Exp2(r.Float64()*30 - 20)
		for i := range values {
			values[i] = float32(r.NormFloat64() * deviation)
		}
		m := FloatMatrix(rows, cols, values)
		if kind != block.F32 {
			size, _ := kind.Size(len(values))
			m.Type, m.Data = kind, make([]byte, size)
			if err := block.Encode(m.Data, kind, values); err != nil {
				panic(err)
			}
		}
		return m
	}
	return &Weights{
		Embedding: matrix(3), Head: matrix(3), FinalNorm: []float32{1},
		Layers: []LayerWeights{{
			Query: matrix(130), Key: matrix(2), Value: matrix(2), Output: matrix(5),
			Gate: matrix(70), Up: matrix(70), Down: matrix(1), Router: matrix(2),
			Experts: []ExpertWeights{{matrix(2), matrix(2), matrix(2)}, {matrix(2), matrix(2), matrix(2)}},
		}},
	}
}

func TestQuantizedWeightsAreNearThoseOfTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		kind := rapid.SampledFrom([]block.Type{block.F32, block.BF16}).Draw(rt, "stored as")
		method := rapid.SampledFrom([]string{"int8", "fp8"}).Draw(rt, "method")
		w := layered(r, kind, 32*rapid.IntRange(1, 3).Draw(rt, "blocks"))
		q, err := Quantize(w, method)
		if err != nil {
			rt.Fatal(err)
		}
		from, to := w.Layers[0].matrices(), q.Layers[0].matrices()
		for i := range from {
			if from[i].Type != kind || to[i].Type == kind {
				rt.Fatalf("matrix %d is %s, and was %s", i, to[i].Type, from[i].Type)
			}
			near(rt, from[i], to[i])
		}
		if &q.Embedding.Data[0] != &w.Embedding.Data[0] || &q.Layers[0].Router.Data[0] != &w.Layers[0].Router.Data[0] {
			rt.Fatal("embedding and router are no longer those of the model")
		}
	})
}

// Eight bits are a quarter of single precision, and numbers of eight bits run as halves.
func TestMemoryOfQuantizedWeights(t *testing.T) {
	w := layered(rand.New(rand.NewPCG(1, 1)), block.F32, 64)
	const ends, router, layer = (3 + 3) * 64, 2 * 64, (130 + 2 + 2 + 5 + 70 + 70 + 1 + 12) * 64
	for method, want := range map[string]int64{
		"": 4 * (ends + router + layer), "int8": 4*(ends+router) + layer*34/32, "fp8": 4*(ends+router) + 2*layer,
	} {
		q := w
		if method != "" {
			var err error
			if q, err = Quantize(w, method); err != nil {
				t.Fatal(err)
			}
		}
		if got := q.Memory(); got != want {
			t.Errorf("%q takes %d bytes, want %d", method, got, want)
		}
	}
	if got := (*Weights)(nil).Memory(); got != 0 {
		t.Errorf("no model takes %d bytes", got)
	}
}

// near holds quantized weights against half a step of their type.
func near(t *rapid.T, from, to *Matrix) {
	row, got := make([]float32, from.Cols), make([]float32, from.Cols)
	all := to.Floats()
	for r := range from.Rows {
		from.Row(row, r)
		to.Row(got, r)
		for b := 0; b < len(row); b += 32 {
			largest := 0.0
			for _, v := range row[b : b+32] {
				largest = max(largest, math.Abs(float64(v)))
			}
			for i := b; i < b+32; i++ {
				v := float64(row[i])
				bound := largest/254*1.01 + largest/2048 + 127*0x1p-25
				if to.Scales != nil {
					scale := float64(to.Scales[r])
					if 448*scale < largest {
						t.Fatalf("row %d: scale %g is too small for %g", r, scale, largest)
					}
					bound = max(math.Abs(v)/16, scale*0x1p-10)
				}
				if math.Abs(float64(got[i])-v) > bound || got[i] != all[r*from.Cols+i] {
					t.Fatalf("row %d: %g became %g and %g, more than %g away", r, v, got[i], all[r*from.Cols+i], bound)
				}
			}
		}
	}
}

func TestWhatCannotBeQuantized(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	nan := layered(r, block.F32, 32)
	copy(nan.Layers[0].Gate.Data, []byte{0, 0, 0xc0, 0x7f})
	for _, tc := range []struct {
		name, method string
		w            *Weights
		want         string
	}{
		{"no method", "int4", nan, `quantization "int4", expected int8 or fp8`},
		{"no whole blocks", "int8", layered(r, block.F32, 20), "layer 0: quantizing a matrix of 130 by 20: 20 values are no whole number of Q8_0 blocks of 32"},
		{"quantized already", "int8", layered(r, block.Q8_0, 32), "layer 0: weights stored as Q8_0 are quantized already: quantization is for models in F32, F16 or BF16"},
		{"no number", "int8", nan, "quantizing output 0 of 70: encoding values 0 to 31: largest of NaN has no Q8_0 scale"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Quantize(tc.w, tc.method); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func BenchmarkQuantize(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	w := &Weights{Layers: make([]LayerWeights, 1)}
	values := make([]float32, 1<<22)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	w.Layers[0].Query = FloatMatrix(1<<11, 1<<11, values)
	for _, method := range []string{"int8", "fp8"} {
		b.Run(method, func(b *testing.B) {
			b.SetBytes(int64(len(w.Layers[0].Query.Data)))
			for b.Loop() {
				if _, err := Quantize(w, method); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
