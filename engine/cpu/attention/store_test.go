package attention

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// TestStoredElementsAreNearWhatWasWritten bounds the error of elements by half a step of
// their type, and holds vector kernels' conversions against plain Go's.
func TestStoredElementsAreNearWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom(dtypes).Draw(rt, "type")
		dim := 2 * rapid.IntRange(1, 40).Draw(rt, "half a head")
		size := rapid.IntRange(1, 40).Draw(rt, "block size")
		c := New(shape(2, 1, dim, 0), d, 2, size)
		position := rapid.IntRange(0, size-1).Draw(rt, "position")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		key, value := random(r, 2*dim), random(r, 2*dim)
		vector.Scale(key, key, float32(math.Exp2(10*r.Float64()-5)))
		c.Write(0, []kv.Block{1}, position, key, value)
		for level := vector.Plain; level <= vector.Supported(); level++ {
			restore := vector.Use(level)
			for h := range 2 {
				keys, values := make([]float32, size*dim+vector.Width), make([]float32, size*dim+vector.Width)
				c.wideKeys(keys, c.keys[0], 1, h)
				c.wideValues(values, c.values[0], 1, h)
				got, second := make([]float32, dim), values[position*dim:][:dim]
				for i := range got {
					got[i] = keys[i*size+position]
				}
				near(rt, d, key[h*dim:][:dim], got)
				near(rt, d, value[h*dim:][:dim], second)
			}
			restore()
		}
	})
}

func near(t *rapid.T, d DType, want, got []float32) {
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i, v := range want {
		size := math.Abs(float64(v))
		bound := map[DType]float64{
			Float32: 0, Float16: max(size/2048, 0x1p-25), BFloat16: size / 256,
			Int8: largest / 254 * 1.001, FP8: max(size/16*1.001, largest/448*0x1p-10*1.001),
		}[d]
		if math.Abs(float64(v)-float64(got[i])) > bound {
			t.Fatalf("element %d of %s: %v became %v, more than %v away", i, d, v, got[i], bound)
		}
	}
}

// TestVectorsWithoutAScale writes what has none: zeros, numbers too small, and what is
// no number, which must not look like one afterwards.
func TestVectorsWithoutAScale(t *testing.T) {
	inf, nan := float32(math.Inf(-1)), float32(math.NaN())
	for _, d := range []DType{Int8, FP8} {
		for _, tc := range []struct {
			name string
			x    []float32
			want func(float32) bool
		}{
			{"zeros", []float32{0, 0}, func(v float32) bool { return v == 0 }},
			{"tiny", []float32{1e-38, -1e-42}, func(v float32) bool { return v == 0 }},
			{"infinite", []float32{1, inf}, func(v float32) bool { return v != v }},
			{"NaN", []float32{nan, 1}, func(v float32) bool { return v != v }},
		} {
			t.Run(d.String()+" "+tc.name, func(t *testing.T) {
				c := New(shape(1, 1, 2, 0), d, 1, 1)
				c.Write(0, []kv.Block{0}, 0, tc.x, tc.x)
				got := make([]float32, 2+vector.Width)
				c.wideValues(got, c.values[0], 0, 0)
				if !tc.want(got[0]) || !tc.want(got[1]) {
					t.Errorf("%v became %v", tc.x, got[:2])
				}
			})
		}
	}
}

func TestNamesOfTypes(t *testing.T) {
	for name, want := range map[string]DType{
		"auto": Auto, "float16": Float16, "bfloat16": BFloat16, "fp8": FP8, "fp8_e4m3": FP8, "int8": Int8, "float32": Float32,
	} {
		if d, err := ParseDType(name); d != want || err != nil {
			t.Errorf("%s: %s, %v", name, d, err)
		}
	}
	for name, want := range map[string]string{
		"fp8_e5m2": "KV cache type fp8_e5m2 is not supported: fp8_e4m3 takes as little memory",
		"":         `KV cache type "", expected auto, float32, float16`,
		"FP8":      `KV cache type "FP8", expected`,
	} {
		if d, err := ParseDType(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %s", name, d, err, want)
		}
	}
	for kind, want := range map[block.Type]DType{block.F32: Float32, block.F16: Float16, block.Q4_1: Float16} {
		w := &model.Weights{Embedding: model.Matrix{Type: kind}}
		if d := Auto.For(w); d != want || Int8.For(w) != Int8 {
			t.Errorf("auto for weights in %s is %s, want %s", kind, d, want)
		}
	}
}

func TestBytesPerToken(t *testing.T) {
	s := shape(3, 3, 64, 0, 0) // two layers
	for d, want := range map[DType]int{Float32: 3072, Float16: 1536, BFloat16: 1536, Int8: 816, FP8: 816} {
		if got := BytesPerToken(s, d); got != want {
			t.Errorf("%s: %d, want %d", d, got, want)
		}
		if got := len(New(s, d, 1, 16).keys[0]) - slack; got != 16*want/4 {
			t.Errorf("%s: a block of K has %d bytes in a layer", d, got)
		}
	}
}

// TestTablesOutsideTheCacheAreRefused names blocks that do not exist.
func TestTablesOutsideTheCacheAreRefused(t *testing.T) {
	c := New(shape(1, 1, 2, 0), Float32, 4, 16)
	for _, tc := range []struct {
		name string
		q    model.Sequence
		n    int
		want string
	}{
		{"fits", model.Sequence{Blocks: []kv.Block{3, 0}, Copies: []model.Copy{{From: 0, To: 3}}}, 32, ""},
		{"too short", model.Sequence{Blocks: []kv.Block{3}}, 17, "block table of 1 blocks does not cover 17 tokens"},
		{"beyond", model.Sequence{Blocks: []kv.Block{4}}, 1, "block 4 is outside the cache of 4 blocks"},
		{"negative", model.Sequence{Blocks: []kv.Block{-1}}, 1, "block -1 is outside the cache of 4 blocks"},
		{"copied beyond", model.Sequence{Blocks: []kv.Block{1}, Copies: []model.Copy{{From: 1, To: 9}}}, 1, "copying block 1 to 9: outside the cache of 4 blocks"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if err := c.Check(&tc.q, tc.n); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestLargeBlocksAreCutIntoUnits(t *testing.T) {
	for blockSize, want := range map[int]int{1: 1, 3: 3, 16: 16, 64: 64, 128: 64, 100: 50, 8192: 64, 1000: 50, 67: 67, 90: 45} {
		if got := New(shape(1, 1, 2, 0), Float32, 1, blockSize).blockSize; got != want {
			t.Errorf("blocks of %d have units of %d, want %d", blockSize, got, want)
		}
	}
}
