package model

// Both activations are x·σ(z), with z a polynomial in x: SiLU has z = x, and the
// tanh approximation of GELU (Hendrycks and Gimpel 2016), x/2·(1 + tanh(u)), has
// z = 2u = 2√(2/π)·(x + 0.044715·x³), because (1 + tanh(u))/2 = σ(2u).
const (
	geluLinear = 1.5957691216057308 // 2√(2/π)
	geluCubic  = geluLinear * 0.044715

	largestSquare = 1e30 // z is far beyond what makes a difference there, and 0·x² is 0
)

// exponent returns the coefficients of −z/x = linear + cubic·x².
func (a Activation) exponent() (linear, cubic float32) {
	if a == GELUTanh {
		return -geluLinear, -geluCubic
	}
	return -1, 0
}

// Gate writes a(gate)·up to dst, which may be gate.
func Gate(dst, gate, up []float32, a Activation) {
	dst, up = dst[:len(gate)], up[:len(gate)]
	linear, cubic := a.exponent()
	i := 0
	if n := len(gate) &^ 7; hasVector && n > 0 {
		gateVector(&dst[0], &gate[0], &up[0], n, linear, cubic, &expTable)
		i = n
	}
	for ; i < len(gate); i++ {
		g := gate[i]
		z := float32(float32(min(float32(g*g), largestSquare)*cubic)+linear) * g
		dst[i] = float32(g/(1+Exp(z))) * up[i]
	}
}

// SoftCap replaces each x by limit·tanh(x/limit), which keeps its size below limit.
func SoftCap(x []float32, limit float32) {
	for i, v := range x {
		// tanh(y) = 1 − 2/(1 + e^2y).
		x[i] = limit * float32(1-2/(1+Exp(2*float32(v/limit))))
	}
}
