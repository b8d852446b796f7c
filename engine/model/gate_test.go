package model

import (
	"math"
	"testing"
)

// TestGateIsTheActivation compares with the definitions in double precision, and
// vector kernels with plain Go to the bit.
func TestGateIsTheActivation(t *testing.T) {
	var gate []float32
	for x := -200.0; x < 200; x += 0.37 {
		gate = append(gate, float32(x))
	}
	gate = append(gate, 88.72, -88.72, 88.73, -88.73, -88.722, 0, 1e-30, -1e30, 1e30)
	up := make([]float32, len(gate))
	for i := range up {
		up[i] = float32(i%7) - 2.5
	}
	for a, define := range map[Activation]func(x float64) float64{
		SiLU: func(x float64) float64 { return x / (1 + math.Exp(-x)) },
		GELUTanh: func(x float64) float64 {
			return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		},
	} {
		got, one := make([]float32, len(gate)), make([]float32, 1)
		Gate(got, gate, up, a)
		for i, g := range gate {
			Gate(one, gate[i:i+1], up[i:i+1], a)
			if math.Float32bits(one[0]) != math.Float32bits(got[i]) && one[0] == one[0] {
				t.Errorf("activation %d of %v: %v alone, %v among others", a, g, one[0], got[i])
			}
			want := define(float64(g)) * float64(up[i])
			if math.Abs(float64(got[i])-want) > 2e-6*math.Max(1, math.Abs(want)) {
				t.Errorf("activation %d of %v times %v: got %v, want %v", a, g, up[i], got[i], want)
			}
		}
	}
}

func BenchmarkGate(b *testing.B) {
	gate, up := make([]float32, 1536), make([]float32, 1536)
	for b.Loop() {
		Gate(gate, gate, up, SiLU)
	}
	b.ReportMetric(float64(len(gate)*b.N)/b.Elapsed().Seconds()/1e6, "million/s")
}
