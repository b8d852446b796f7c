package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func randoms(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// TestMatmulIsTheSameSumForEveryShape compares every kernel with the plain sum,
// to the bit.
func TestMatmulIsTheSameSumForEveryShape(t *testing.T) {
	for _, in := range []int{1, 3, 32, 129} {
		for rows := range 10 {
			for out := range 8 {
				t.Run(fmt.Sprintf("%d×%d by %d", rows, in, out), func(t *testing.T) {
					x, w := randoms(rows*in, 1), randoms(out*in, 2)
					got := make([]float32, rows*out)
					matmul(got, x, w, rows, in, out)
					for r := range rows {
						for o := range out {
							var want float32
							for i := range in {
								p := x[r*in+i] * w[o*in+i]
								want += float32(p)
							}
							if bits := math.Float32bits(want); math.Float32bits(got[r*out+o]) != bits {
								t.Fatalf("row %d output %d: got %v, want %v", r, o, got[r*out+o], want)
							}
						}
					}
				})
			}
		}
	}
}

func BenchmarkMatmul(b *testing.B) {
	const in, out = 128, 704
	w := randoms(in*out, 1)
	for _, rows := range []int{1, 4, 16, 32} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			x, dst := randoms(rows*in, 2), make([]float32, rows*out)
			for b.Loop() {
				matmul(dst, x, w, rows, in, out)
			}
			b.ReportMetric(float64(rows*in*out)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}
