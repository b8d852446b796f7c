package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func randoms(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestAccumulateIsThePlainSum compares the kernels of every level with the
// definition, to the bit.
func TestAccumulateIsThePlainSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 9).Draw(t, "rows")
		outputs := rapid.IntRange(1, 50).Draw(t, "outputs")
		n := rapid.IntRange(0, 40).Draw(t, "inputs")
		stride := outputs + rapid.IntRange(0, 5).Draw(t, "gap")
		aStride := n + rapid.IntRange(0, 5).Draw(t, "gap of a")
		dstStride := outputs + rapid.IntRange(0, 5).Draw(t, "gap of dst")
		seed := rapid.Uint64().Draw(t, "seed")
		a, b, start := randoms(rows*aStride, seed), randoms(max(n, 1)*stride, seed+1), randoms(rows*dstStride, seed+2)
		want := slices.Clone(start)
		for r := range rows {
			for j := range outputs {
				for i := range n {
					p := a[r*aStride+i] * b[i*stride+j]
					want[r*dstStride+j] += float32(p)
				}
			}
		}
		for level := Plain; level <= Supported(); level++ {
			restore := Use(level)
			got := slices.Clone(start)
			AccumulateRows(got, dstStride, a, aStride, b, stride, rows, n, outputs)
			restore()
			if !sameBits(got, want) {
				t.Fatalf("%s: %v\nwant %v", level, got, want)
			}
		}
	})
}

// TestRowsAreTheSameOnEveryLevel compares the kernels on rows with plain Go.
func TestRowsAreTheSameOnEveryLevel(t *testing.T) {
	run := func(n int, level Level) []float32 {
		defer Use(level)()
		x, y := randoms(n, 1), randoms(n, 2)
		var all []float32
		Add(x, y)
		all = append(all, x...)
		Scale(x, y, 1.7)
		all = append(all, x...)
		Norm(x, y, randoms(n, 3), 1e-5)
		all = append(all, x...)
		Rotate(x, y, randoms(n, 4), randoms(n, 5))
		all = append(append(all, x...), y...)
		return append(all, Largest(x))
	}
	for n := range 40 {
		want := run(n, Plain)
		for level := AVX2; level <= Supported(); level++ {
			if got := run(n, level); !sameBits(got, want) {
				t.Errorf("%d elements, %s: got %v, want %v", n, level, got, want)
			}
		}
	}
}

func BenchmarkAccumulate(b *testing.B) {
	const in, out = 128, 704
	for _, rows := range []int{1, 2, 3, 4, 16} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			w, x, dst := randoms(in*out, 1), randoms(rows*in, 2), make([]float32, rows*out)
			for b.Loop() {
				AccumulateRows(dst, out, x, in, w, out, rows, in, out)
			}
			b.ReportMetric(float64(rows*in*out)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}
