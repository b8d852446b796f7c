package model

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// Shape holds the sizes of a dense Llama-shaped transformer: RMSNorm, rotary
// embedding, grouped-query attention, SwiGLU.
type Shape struct {
	Name         string
	Hidden       int
	Layers       int
	Heads        int
	KVHeads      int
	HeadDim      int
	Intermediate int
	Vocab        int
	MaxPositions int
	NormEpsilon  float32
	RopeTheta    float64
	Tied         bool
	EOS          []int32
}

// Queries is the width of all query heads together.
func (s Shape) Queries() int { return s.Heads * s.HeadDim }

// Keys is the width of all key heads (and of all value heads) together.
func (s Shape) Keys() int { return s.KVHeads * s.HeadDim }

// KVBytesPerToken is what one token occupies in the cache, at four bytes per
// value.
func (s Shape) KVBytesPerToken() int { return 2 * s.Layers * s.Keys() * 4 }

// ShapeOf checks that m is a model this engine can run and returns its sizes.
func ShapeOf(m profiles.Model) (Shape, error) {
	if len(m.Layers) == 0 {
		return Shape{}, fmt.Errorf("model %q has no layers", m.Name)
	}
	first := m.Layers[0]
	s := Shape{
		Name: m.Name, Hidden: m.HiddenSize, Layers: len(m.Layers),
		Heads: first.Attention.Heads, KVHeads: first.Attention.KVHeads, HeadDim: first.Attention.HeadDim,
		Intermediate: first.MLP.Intermediate, Vocab: m.VocabSize, MaxPositions: m.MaxPositions,
		NormEpsilon: float32(m.NormEpsilon), RopeTheta: m.RopeTheta, Tied: m.TiedEmbeddings,
	}
	for _, t := range m.EOSTokens {
		s.EOS = append(s.EOS, int32(t))
	}
	if why := unsupported(m, first); why != "" {
		return Shape{}, fmt.Errorf("model %q: %s is not supported by this engine", m.Name, why)
	}
	return s, s.check()
}

func unsupported(m profiles.Model, first profiles.Layer) string {
	for i, l := range m.Layers {
		switch {
		case l.Attention.Kind != profiles.FullAttention:
			return fmt.Sprintf("%s attention in layer %d", l.Attention.Kind, i)
		case l.MLP.Experts != 0:
			return fmt.Sprintf("mixture of experts in layer %d", i)
		case !l.MLP.Gated:
			return fmt.Sprintf("an MLP without a gate in layer %d", i)
		case l != first:
			return fmt.Sprintf("layer %d, whose sizes differ from those of layer 0,", i)
		}
	}
	a := first.Attention
	switch {
	case a.ValueDim != 0 && a.ValueDim != a.HeadDim:
		return "a value width that differs from the key width"
	case m.AttentionBias || m.OutputBias || m.MLPBias:
		return "bias"
	case m.QKNorm || m.QKNormWide:
		return "query and key normalization"
	case a.Sinks || a.OutputGate || a.HeadGate > 0 || a.ReusedKV || a.IndexDim > 0 || a.State.Mixer != "":
		return "attention with sinks, gates, an index, a state or another layer's keys"
	case m.RopeShare > 0 && m.RopeShare < 1:
		return "a rotary embedding of a part of each head"
	case m.NormBias || m.Norms != 2 && m.Norms != 0 || m.PositionRows > 0 || m.HeadBias || m.LayerSmall > 0 || m.PerLayerWidth > 0:
		return "a layer that differs from Llama's in norms, positions or biases"
	case m.Activation != "" && m.Activation != "silu":
		return fmt.Sprintf("activation %q", m.Activation)
	}
	return ""
}

// maxElements bounds the size of any one weight matrix, so that products of
// sizes from a file cannot overflow.
const maxElements = math.MaxInt32

func (s Shape) check() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"hidden size", s.Hidden}, {"heads", s.Heads}, {"KV heads", s.KVHeads}, {"head size", s.HeadDim},
		{"intermediate size", s.Intermediate}, {"vocabulary", s.Vocab}, {"positions", s.MaxPositions},
	} {
		if f.value < 1 || f.value > 1<<24 {
			return fmt.Errorf("model %q: %s is %d", s.Name, f.name, f.value)
		}
	}
	switch {
	case s.Heads%s.KVHeads != 0:
		return fmt.Errorf("model %q: %d heads cannot share %d KV heads evenly", s.Name, s.Heads, s.KVHeads)
	case s.HeadDim%2 != 0:
		return fmt.Errorf("model %q: head size %d is odd, the rotary embedding needs pairs", s.Name, s.HeadDim)
	case s.RopeTheta <= 0 || s.NormEpsilon <= 0:
		return fmt.Errorf("model %q: rope theta %g and norm epsilon %g must be positive", s.Name, s.RopeTheta, s.NormEpsilon)
	}
	for _, rows := range []int{s.Vocab, s.Queries() + 2*s.Keys(), 2 * s.Intermediate} {
		if rows > maxElements/s.Hidden {
			return fmt.Errorf("model %q: a matrix of %d by %d is too large", s.Name, rows, s.Hidden)
		}
	}
	return nil
}
