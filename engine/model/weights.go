package model

import (
	"math"
	"math/rand/v2"

	"github.com/llmctl/llmctl/internal/tokenizer"
)

// Weights are a model's parameters. Matrices stay as they are stored; vectors are
// float32.
type Weights struct {
	Shape
	Embedding Matrix // [vocab][hidden]
	Layers    []LayerWeights
	FinalNorm []float32 // [hidden]
	Head      Matrix    // [vocab][hidden]; Embedding itself when tied
	// Offsets is added to the logits; nil adds nothing. The synthetic model
	// uses it to write readable words only: −Inf rules a token out.
	Offsets []float32 // [vocab]
}

// LayerWeights are the parameters of one decoder block. What a family does not have
// is nil or the zero Matrix. Weights of norms are what values are multiplied by:
// where a file stores them less one, one is added in loading.
type LayerWeights struct {
	AttentionNorm     []float32 // [hidden]
	Query             Matrix    // [queries][hidden]
	Key, Value        Matrix    // [keys][hidden]
	QueryBias         []float32 // [queries]
	KeyBias           []float32 // [keys]
	ValueBias         []float32 // [keys]
	QueryNorm         []float32 // [head dim]: RMSNorm of each head, before the rotary embedding
	KeyNorm           []float32 // [head dim]
	Output            Matrix    // [hidden][queries]
	PostAttentionNorm []float32 // [hidden]: of the attention's output, before it is added

	MLPNorm     []float32 // [hidden]
	Gate, Up    Matrix    // [intermediate][hidden]
	Down        Matrix    // [hidden][intermediate]
	PostMLPNorm []float32 // [hidden]: of the MLP's output, before it is added

	Router  Matrix          // [experts][hidden]
	Experts []ExpertWeights // instead of Gate, Up and Down
}

// ExpertWeights are one expert's MLP.
type ExpertWeights struct {
	Gate, Up Matrix // [expert intermediate][hidden]
	Down     Matrix // [hidden][expert intermediate]
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
	uniform := func(rows, cols int, deviation float64) Matrix {
		tensor++
		return FloatMatrix(rows, cols, fill(rand.NewPCG(seed, tensor), rows*cols, deviation))
	}
	matrix := func(out, in int, gain float64) Matrix {
		return uniform(out, in, gain/math.Sqrt(float64(in)))
	}
	w := &Weights{
		Shape:     s,
		Embedding: uniform(s.Vocab, s.Hidden, embeddingDeviation),
		FinalNorm: constant(s.Hidden, float32(logitDeviation/(embeddingDeviation*math.Sqrt(float64(s.Hidden))))),
		Offsets:   readable(s),
	}
	w.Head = w.Embedding
	if !s.Tied {
		w.Head = uniform(s.Vocab, s.Hidden, embeddingDeviation)
	}
	for range s.Layers {
		l := LayerWeights{AttentionNorm: constant(s.Hidden, 1), MLPNorm: constant(s.Hidden, 1)}
		l.Query, l.Key = split(matrix(s.Queries()+s.Keys(), s.Hidden, queryKeyGain), s.Queries())
		l.Value = matrix(s.Keys(), s.Hidden, valueGain)
		l.Output = matrix(s.Hidden, s.Queries(), outputGain)
		l.Gate, l.Up = split(matrix(2*s.Intermediate, s.Hidden, gateUpGain), s.Intermediate)
		l.Down = matrix(s.Hidden, s.Intermediate, downGain)
		w.Layers = append(w.Layers, l)
	}
	return w
}

// split cuts a matrix behind some of its rows.
func split(m Matrix, rows int) (first, rest Matrix) {
	first, rest = m, m
	at := rows * m.RowBytes()
	first.Rows, first.Data = rows, m.Data[:at:at]
	rest.Rows, rest.Data = m.Rows-rows, m.Data[at:]
	return first, rest
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
