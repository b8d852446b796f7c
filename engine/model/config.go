package model

import (
	"fmt"

	"github.com/llmctl/llmctl/profiles"
)

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
		NormEpsilon: float32(m.NormEpsilon), Tied: m.TiedEmbeddings,
	}
	for _, t := range m.EOSTokens {
		s.EOS = append(s.EOS, int32(t))
	}
	if why := unsupported(m, first); why != "" {
		return Shape{}, fmt.Errorf("model %q: %s is not supported by this engine", m.Name, why)
	}
	if m.RopeTheta <= 0 {
		return Shape{}, fmt.Errorf("model %q: rope theta %g must be positive", m.Name, m.RopeTheta)
	}
	s.Ropes = []Rope{PlainRope(m.RopeTheta, s.HeadDim)}
	return s, s.Check()
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
