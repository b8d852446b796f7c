package attention

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/cpu/vector"
)

// TestEveryWayGivesTheSameBits computes random steps in all ways and holds them against
// the definition: types, block sizes, places of blocks, with and without sharing them,
// one worker's items or several's, in any order, on every level.
func TestEveryWayGivesTheSameBits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		w := draw(rt, r)
		d := rapid.SampledFrom(dtypes).Draw(rt, "type")
		var want [2][]float32
		for i := range 2 {
			size := rapid.SampledFrom([]int{1, 3, 8, 16, 48, 67, 128, 1000}).Draw(rt, "block size")
			c := w.place(r, d, size, i == 0)
			for layer := range w.shape.Layers {
				restore := vector.Use(vector.Plain)
				got := w.define(c, layer)
				if i == 0 {
					want[layer] = got
				}
				if diff := difference(got, want[layer]); diff != "" {
					rt.Fatalf("block size %d, definition: %s", size, diff)
				}
				restore()
				for level := vector.Plain; level <= vector.Supported(); level++ {
					restore := vector.Use(level)
					for _, workers := range []int{1, 40} {
						if diff := difference(w.attend(t, r, c, workers, layer), want[layer]); diff != "" {
							rt.Fatalf("%s, block size %d, %d workers, layer %d: %s", level, size, workers, layer, diff)
						}
					}
					restore()
				}
			}
		}
	})
}

// TestAttentionAgreesWithDoublePrecision bounds the error of each type: elements are of
// deviation one, so scores deviate by √dim times that of the queries.
func TestAttentionAgreesWithDoublePrecision(t *testing.T) {
	bounds := map[DType]float64{Float32: 2e-5, Float16: 2e-3, BFloat16: 2e-2, Int8: 3e-2, FP8: 1.5e-1}
	for _, d := range dtypes {
		t.Run(d.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			w := &world{shape: shape(2, 3, 64, 0, 100)}
			w.shape.ScoreCap = 5
			w.add(r, 600, 1, 0, 0)
			w.add(r, 555, 1, 0, 512)
			w.add(r, 300, 20, 0, 256)
			w.add(r, 0, 1, 0, 0)
			for i := range w.queries {
				w.queries[i] /= 8
			}
			c := w.place(r, d, 16, true)
			for layer := range w.shape.Layers {
				got, worst := w.attend(t, r, c, 2, layer), 0.0
				for i, want := range w.truth(layer) {
					worst = max(worst, math.Abs(float64(got[i])-want))
				}
				t.Logf("layer %d: largest error %.2g", layer, worst)
				if !(worst <= bounds[d]) {
					t.Errorf("layer %d: largest error %g, expected at most %g", layer, worst, bounds[d])
				}
				if d != Float32 && worst < bounds[d]/50 {
					t.Errorf("layer %d: largest error %g: the bound %g says nothing", layer, worst, bounds[d])
				}
			}
		})
	}
}
