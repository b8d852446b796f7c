package workload

import (
	"math"

	"github.com/llmctl/llmctl/internal/portable"
)

// zipf returns the cumulative shares of n groups where the k-th most popular
// one has a share proportional to 1/k^exponent.
func zipf(n int, exponent float64) []float64 {
	weights := make([]float64, n)
	for k := range weights {
		weights[k] = power(float64(k+1), -exponent)
	}
	return cumulative(weights)
}

// power returns x^y for x > 0.
func power(x, y float64) float64 { return portable.Exp(y * portable.Log(x)) }

// zipfian draws ranks 1 to n with shares proportional to 1/k^exponent without a
// table of them: W. Hörmann and G. Derflinger, "Rejection-inversion to generate
// variates from monotone discrete distributions", ACM Transactions on Modeling
// and Computer Simulation 6 (1996), 169–184. Below, h is 1/x^exponent and H its
// integral.
type zipfian struct {
	n, exponent     float64
	lowest, highest float64 // H(3/2) − h(1) and H(n + 1/2)
	sure            float64 // a rank this close above its x needs no test
}

func newZipfian(n, exponent float64) zipfian {
	z := zipfian{n: n, exponent: exponent}
	z.lowest = z.integral(1.5) - 1
	z.highest = z.integral(n + 0.5)
	z.sure = 2 - z.inverse(z.integral(2.5)-power(2, -exponent))
	return z
}

func (z *zipfian) draw(r *random) float64 {
	for {
		u := z.highest + float64(r.uniform()*(z.lowest-z.highest))
		x := z.inverse(u)
		k := min(max(1, math.Floor(x+0.5)), z.n)
		if k-x <= z.sure || u >= z.integral(k+0.5)-power(k, -z.exponent) {
			return k
		}
	}
}

// integral is (x^(1−s) − 1)/(1−s), which is ln x for s = 1.
func (z *zipfian) integral(x float64) float64 {
	log := portable.Log(x)
	return log * growth((1-z.exponent)*log)
}

// inverse is the x whose integral is y: ln x = ln(1 + (1−s)·y)/(1−s).
func (z *zipfian) inverse(y float64) float64 {
	t := max(-1, (1-z.exponent)*y)
	return portable.Exp(y * decay(t))
}

// growth is (e^t − 1)/t, by its series near 0, where the difference would
// cancel.
func growth(t float64) float64 {
	if math.Abs(t) < 1e-5 {
		return 1 + float64(t/2) + float64(t*t/6)
	}
	return (portable.Exp(t) - 1) / t
}

// decay is ln(1 + t)/t, likewise.
func decay(t float64) float64 {
	if math.Abs(t) < 1e-5 {
		return 1 - float64(t/2) + float64(t*t/3)
	}
	return portable.Log(1+t) / t
}
