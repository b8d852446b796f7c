package cpu

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

// TestAccumulateIsThePlainSum compares the kernels, vector and scalar, with the
// definition, to the bit.
func TestAccumulateIsThePlainSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		outputs := rapid.IntRange(1, 50).Draw(t, "outputs")
		n := rapid.IntRange(0, 40).Draw(t, "inputs")
		stride := outputs + rapid.IntRange(0, 5).Draw(t, "gap")
		seed := rapid.Uint64().Draw(t, "seed")
		a, b, start := randoms(n, seed), randoms(max(n, 1)*stride, seed+1), randoms(outputs, seed+2)
		want := slices.Clone(start)
		for j := range want {
			for i, x := range a {
				p := x * b[i*stride+j]
				want[j] += float32(p)
			}
		}
		vector, scalar := slices.Clone(start), slices.Clone(start)
		accumulate(vector, a, b, stride)
		accumulateScalar(scalar, a, b, stride)
		if !sameBits(vector, want) || !sameBits(scalar, want) {
			t.Fatalf("accumulate %v\nscalar     %v\nwant       %v", vector, scalar, want)
		}
	})
}

func TestMultiplyIsThePlainSum(t *testing.T) {
	for _, in := range []int{1, 3, 32, 129} {
		for rows := range 10 {
			for _, out := range []int{1, 5, 15, 16, 17, 32, 50} {
				t.Run(fmt.Sprintf("%d×%d by %d", rows, in, out), func(t *testing.T) {
					x, w := randoms(rows*in, 1), randoms(out*in, 2)
					m := pack(w, in, out)
					got, want := randoms(rows*out, 3), make([]float32, rows*out)
					m.multiply(got, x, rows)
					for r := range rows {
						for o := range out {
							for i := range in {
								p := x[r*in+i] * w[o*in+i]
								want[r*out+o] += float32(p)
							}
						}
					}
					if !sameBits(got, want) {
						t.Fatalf("got %v\nwant %v", got, want)
					}
				})
			}
		}
	}
}

func BenchmarkMultiply(b *testing.B) {
	const in, out = 128, 704
	m := pack(randoms(in*out, 1), in, out)
	for _, rows := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			x, dst := randoms(rows*in, 2), make([]float32, rows*out)
			for b.Loop() {
				m.multiply(dst, x, rows)
			}
			b.ReportMetric(float64(rows*in*out)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}

func BenchmarkAccumulateScalar(b *testing.B) {
	const in, out = 128, 704
	w, x, dst := randoms(in*out, 1), randoms(in, 2), make([]float32, out)
	for b.Loop() {
		accumulateScalar(dst, x, w, out)
	}
	b.ReportMetric(float64(in*out)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
}
