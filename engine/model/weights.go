package model

import (
	"math"
	"math/rand/v2"

	"github.com/llmctl/llmctl/internal/tokenizer"
)

// Weights are a model's parameters in float32. A matrix is stored by output
// row: element (o, i) of an out×in matrix is at o·in + i, so that one output is
// the dot product of two contiguous slices.
type Weights struct {
	Shape
	Embedding []float32 // [vocab][hidden]
	Layers    []LayerWeights
	FinalNorm []float32 // [hidden]
	Head      []float32 // [vocab][hidden]; Embedding itself when tied
	// Offsets is added to the logits; nil adds nothing. The synthetic model
	// uses it to write readable words only: −Inf rules a token out.
	Offsets []float32 // [vocab]
}

// LayerWeights are the parameters of one decoder block.
type LayerWeights struct {
	AttentionNorm []float32 // [hidden]
	QKV           []float32 // [queries + keys + keys][hidden]
	Output        []float32 // [hidden][queries]
	MLPNorm       []float32 // [hidden]
	GateUp        []float32 // [2·intermediate][hidden], gate rows first
	Down          []float32 // [hidden][intermediate]
}

// Gains of the synthetic weights, found by looking at the text they make. A
// random transformer repeats itself unless three things hold: the residual
// stream is dominated by what the layers write rather than by the last token's
// embedding (which the tied head would just find again), attention is sharp
// enough to tell positions apart, and logits are spread widely enough to prefer
// some words without always preferring the same ones.
const (
	embeddingDeviation = 0.1
	queryKeyGain       = 1.6 // deviation of q and k, so scores deviate by its square
	valueGain          = 1.0
	outputGain         = 1.0
	gateUpGain         = 1.2
	downGain           = 1.0
	logitDeviation     = 2.0
)

// Synthetic makes weights for a shape from a seed: the same numbers on every
// machine. Matrices are uniform with the deviation gain/√in, which keeps
// activations near one deviation through the layers.
func Synthetic(s Shape, seed uint64) *Weights {
	tensor := uint64(0)
	uniform := func(elements int, deviation float64) []float32 {
		tensor++
		return fill(rand.NewPCG(seed, tensor), elements, deviation)
	}
	matrix := func(out, in int, gain float64) []float32 {
		return uniform(out*in, gain/math.Sqrt(float64(in)))
	}
	w := &Weights{
		Shape:     s,
		Embedding: uniform(s.Vocab*s.Hidden, embeddingDeviation),
		FinalNorm: constant(s.Hidden, float32(logitDeviation/(embeddingDeviation*math.Sqrt(float64(s.Hidden))))),
		Offsets:   readable(s),
	}
	w.Head = w.Embedding
	if !s.Tied {
		w.Head = uniform(s.Vocab*s.Hidden, embeddingDeviation)
	}
	for range s.Layers {
		w.Layers = append(w.Layers, LayerWeights{
			AttentionNorm: constant(s.Hidden, 1),
			QKV: append(matrix(s.Queries()+s.Keys(), s.Hidden, queryKeyGain),
				matrix(s.Keys(), s.Hidden, valueGain)...),
			Output:  matrix(s.Hidden, s.Queries(), outputGain),
			MLPNorm: constant(s.Hidden, 1),
			GateUp:  matrix(2*s.Intermediate, s.Hidden, gateUpGain),
			Down:    matrix(s.Hidden, s.Intermediate, downGain),
		})
	}
	return w
}

// fill returns numbers uniform in ±√3·deviation. Each takes one draw and one
// rounded product, so they are the same to the bit everywhere.
func fill(source rand.Source, elements int, deviation float64) []float32 {
	values := make([]float32, elements)
	scale := float32(deviation * math.Sqrt(3))
	for i := range values {
		// 24 random bits as a multiple of 2⁻²³ in [−1, 1): exact in float32.
		unit := float32(int32(source.Uint64()>>40)-1<<23) / (1 << 23)
		values[i] = float32(unit * scale)
	}
	return values
}

func constant(n int, v float32) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = v
	}
	return values
}

// readable returns offsets that leave the words with a leading space, the comma,
// the full stop and the end-of-sequence tokens, each of which is then about as
// likely as any one word. Offsets beyond the vocabulary of package tokenizer are
// ruled out, because they have no text.
func readable(s Shape) []float32 {
	offsets := constant(s.Vocab, float32(math.Inf(-1)))
	for token := range offsets {
		switch tokenizer.ClassOf(int32(token)) {
		case tokenizer.SpacedWord:
			offsets[token] = 0
		case tokenizer.Piece:
			if text := tokenizer.Text(int32(token)); text == "," || text == "." {
				offsets[token] = punctuationOffset
			}
		}
	}
	for _, token := range s.EOS {
		if int(token) < len(offsets) && token >= 0 {
			offsets[token] = 0
		}
	}
	return offsets
}

// punctuationOffset makes a comma or full stop e³ ≈ 20 times as likely as a
// word: about one in twenty tokens.
const punctuationOffset = 3
