package model

import (
	"fmt"
	"math"
)

// Shape holds the sizes of a decoder-only transformer, and what tells its family
// from others: RMSNorm, rotary embedding, grouped-query attention and a gated MLP
// are common to all.
type Shape struct {
	Name         string
	Hidden       int
	Layers       int
	Heads        int // query heads
	KVHeads      int
	HeadDim      int
	Intermediate int // width of a dense MLP
	Vocab        int
	MaxPositions int
	NormEpsilon  float32
	Tied         bool // the output head is the embedding
	EOS          []int32

	Ropes []Rope      // the rotary embeddings that layers name; at least one
	Kinds []LayerKind // per layer; nil when all are LayerKind{}

	Activation     Activation
	Experts        Experts // of the layers that are not dense; zero when all are
	EmbeddingScale float32 // embeddings are multiplied by it; 0 is 1 (Gemma: √Hidden)
	QueryScale     float32 // scores are multiplied by it; 0 is 1/√HeadDim
	ScoreCap       float32 // scores s become cap·tanh(s/cap); 0 is no cap (Gemma 2)
	LogitCap       float32 // the same for logits
}

// LayerKind is what may differ between layers.
type LayerKind struct {
	Window int  // a token attends to itself and the Window−1 before it; 0 is all
	Rope   int  // which of Shape.Ropes
	Dense  bool // without experts, in a model that has some
}

// Activation is the nonlinearity of the MLP's gate.
type Activation uint8

// The activations.
const (
	SiLU     Activation = iota
	GELUTanh            // the tanh approximation of GELU
)

// Experts are the sizes of a mixture of experts: the router's softmax picks
// PerToken of Count.
type Experts struct {
	Count, PerToken int
	Intermediate    int
	Normalize       bool // the picked weights are divided by their sum
}

// Kind is what layer i is.
func (s Shape) Kind(i int) LayerKind {
	if s.Kinds == nil {
		return LayerKind{}
	}
	return s.Kinds[i]
}

// Queries is the width of all query heads together.
func (s Shape) Queries() int { return s.Heads * s.HeadDim }

// Keys is the width of all key heads (and of all value heads) together.
func (s Shape) Keys() int { return s.KVHeads * s.HeadDim }

// KVBytesPerToken is what one token occupies in the cache, at four bytes per
// value.
func (s Shape) KVBytesPerToken() int { return 2 * s.Layers * s.Keys() * 4 }

// maxElements bounds the size of any one weight matrix, so that products of
// sizes from a file cannot overflow.
const maxElements = math.MaxInt32

// maxWidth bounds each size on its own.
const maxWidth = 1 << 24

// Check reports sizes that no executor could run.
func (s Shape) Check() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"hidden size", s.Hidden}, {"layers", s.Layers}, {"heads", s.Heads}, {"KV heads", s.KVHeads}, {"head size", s.HeadDim},
		{"vocabulary", s.Vocab}, {"positions", s.MaxPositions},
	} {
		if f.value < 1 || f.value > maxWidth {
			return fmt.Errorf("model %q: %s is %d", s.Name, f.name, f.value)
		}
	}
	switch {
	case s.Heads%s.KVHeads != 0:
		return fmt.Errorf("model %q: %d heads cannot share %d KV heads evenly", s.Name, s.Heads, s.KVHeads)
	case s.HeadDim%2 != 0:
		return fmt.Errorf("model %q: head size %d is odd, the rotary embedding needs pairs", s.Name, s.HeadDim)
	case s.NormEpsilon <= 0:
		return fmt.Errorf("model %q: norm epsilon %g must be positive", s.Name, s.NormEpsilon)
	case s.Kinds != nil && len(s.Kinds) != s.Layers:
		return fmt.Errorf("model %q: %d kinds of %d layers", s.Name, len(s.Kinds), s.Layers)
	}
	if err := s.checkMLPs(); err != nil {
		return err
	}
	for i := range s.Layers {
		if k := s.Kind(i); k.Rope < 0 || k.Rope >= len(s.Ropes) || k.Window < 0 {
			return fmt.Errorf("model %q: layer %d has rotary embedding %d of %d and a window of %d", s.Name, i, k.Rope, len(s.Ropes), k.Window)
		}
	}
	for _, r := range s.Ropes {
		if 2*len(r.Frequencies) > s.HeadDim {
			return fmt.Errorf("model %q: the rotary embedding turns %d of %d elements of a head", s.Name, 2*len(r.Frequencies), s.HeadDim)
		}
	}
	for _, rows := range []int{s.Vocab, s.Queries() + 2*s.Keys(), 2 * s.Intermediate, 2 * s.Experts.Intermediate, s.Experts.Count} {
		if rows > maxElements/s.Hidden {
			return fmt.Errorf("model %q: a matrix of %d by %d is too large", s.Name, rows, s.Hidden)
		}
	}
	return nil
}

// Dense says whether layer i has a dense MLP.
func (s Shape) Dense(i int) bool { return s.Experts.Count == 0 || s.Kind(i).Dense }

// checkMLPs reports widths of MLPs that layers need and the shape lacks.
func (s Shape) checkMLPs() error {
	x := s.Experts
	for i := range s.Layers {
		switch {
		case s.Dense(i):
			if s.Intermediate < 1 || s.Intermediate > maxWidth {
				return fmt.Errorf("model %q: intermediate size is %d", s.Name, s.Intermediate)
			}
		case x.Count > maxWidth || x.Intermediate < 1 || x.Intermediate > maxWidth || x.PerToken < 1 || x.PerToken > x.Count:
			return fmt.Errorf("model %q: %d of %d experts of size %d", s.Name, x.PerToken, x.Count, x.Intermediate)
		}
	}
	return nil
}
