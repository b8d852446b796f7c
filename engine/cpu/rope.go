package cpu

import (
	"math"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/model"
)

// angles are the cosines and sines of a step's tokens for one rotary embedding (Su et
// al. 2021), [row][pair].
type angles struct {
	rope     model.Rope
	cos, sin []float32
}

func (a *angles) resize(rows int) {
	a.cos = grow(a.cos, rows*len(a.rope.Frequencies))
	a.sin = grow(a.sin, rows*len(a.rope.Frequencies))
}

// set computes the angles of one row.
func (a *angles) set(row, position int) {
	magnitude := a.rope.Magnitude
	if magnitude == 0 {
		magnitude = 1
	}
	at := row * len(a.rope.Frequencies)
	for i, frequency := range a.rope.Frequencies {
		sin, cos := math.Sincos(float64(position) * frequency)
		a.cos[at+i], a.sin[at+i] = float32(cos*magnitude), float32(sin*magnitude)
	}
}

// rotate turns each head of x in place. Element i pairs with i + pairs, the convention
// of Hugging Face's Llama.
func (a *angles) rotate(x []float32, dim, row int) {
	pairs := len(a.rope.Frequencies)
	cos, sin := a.cos[row*pairs:][:pairs], a.sin[row*pairs:][:pairs]
	for ; len(x) > 0; x = x[dim:] {
		vector.Rotate(x[:pairs], x[pairs:2*pairs], cos, sin)
	}
}
