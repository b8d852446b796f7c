package cpu

import (
	"math"

	"github.com/llmctl/llmctl/engine/model"
)

// rmsNorm writes x/√(mean(x²)+ε)·weight to dst (Zhang and Sennrich 2019).
func rmsNorm(dst, x, weight []float32, epsilon float32) {
	dst, weight = dst[:len(x)], weight[:len(x)]
	sum := float32(0)
	for _, v := range x {
		sum += float32(v * v)
	}
	scale := 1 / float32(math.Sqrt(float64(sum/float32(len(x))+epsilon)))
	for i, v := range x {
		dst[i] = float32(v*scale) * weight[i]
	}
}

// swiglu writes silu(gate)·up to dst, which may be gate.
func swiglu(dst, gate, up []float32) {
	dst, up = dst[:len(gate)], up[:len(gate)]
	for i, g := range gate {
		dst[i] = float32(g/(1+model.Exp(-g))) * up[i]
	}
}

func add(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += x[i]
	}
}

// rotary holds the cosines and sines of the rotary embedding (Su et al. 2021),
// [position][head dim/2].
type rotary struct {
	half     int
	cos, sin []float32
}

func newRotary(s model.Shape, positions int) rotary {
	r := rotary{half: s.HeadDim / 2}
	for p := range positions {
		for _, frequency := range s.Ropes[0].Frequencies {
			angle := float64(p) * frequency
			r.cos = append(r.cos, float32(math.Cos(angle)))
			r.sin = append(r.sin, float32(math.Sin(angle)))
		}
	}
	return r
}

// rotate turns each head of x in place. Element i pairs with i + half, the
// convention of Hugging Face's Llama.
func (r rotary) rotate(x []float32, position int) {
	cos, sin := r.cos[position*r.half:][:r.half], r.sin[position*r.half:][:r.half]
	for ; len(x) > 0; x = x[2*r.half:] {
		low, high := x[:r.half], x[r.half:2*r.half]
		for i, c := range cos {
			a, b, s := low[i], high[i], sin[i]
			low[i] = float32(a*c) - float32(b*s)
			high[i] = float32(b*c) + float32(a*s)
		}
	}
}
