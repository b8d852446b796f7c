package model

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// Details are what computing needs of a model's config beyond what its sizes do.
type Details struct {
	Scaling       RopeScaling // of the rotary embedding; where windowed layers have their own, not of theirs
	WindowedTheta float64     // base of the rotary embedding of windowed layers; 0 is the same as that of all
	Positions     int         // longest sequence that will be run; 0 is the model's window

	Activation       Activation
	NormalizeExperts bool    // weights of the picked experts are divided by their sum
	EmbeddingScale   float64 // as in Shape, as are the others
	QueryScale       float64
	ScoreCap         float64
	LogitCap         float64
}

// ShapeOf checks that m is a plain Llama, such as the built-in model, and returns its
// sizes. Only of those can weights be made by Synthetic: what else a family has needs
// weights, and details, that come from a file.
func ShapeOf(m profiles.Model) (Shape, error) {
	if why := unplain(m); why != "" {
		return Shape{}, fmt.Errorf("model %q: %s is not supported without the model's own files", m.Name, why)
	}
	return ShapeWith(m, Details{})
}

// unplain names what m has that a plain Llama has not.
func unplain(m profiles.Model) string {
	for i, l := range m.Layers {
		switch {
		case l.Attention.Kind == profiles.SlidingAttention:
			return fmt.Sprintf("sliding attention in layer %d", i)
		case l.MLP.Experts > 0:
			return fmt.Sprintf("mixture of experts in layer %d", i)
		}
	}
	switch {
	case m.AttentionBias:
		return "bias"
	case m.QKNorm:
		return "query and key normalization"
	case m.Norms == 4:
		return "norms behind attention and MLP"
	case m.RopeShare > 0 && m.RopeShare < 1:
		return "a rotary embedding of a part of each head"
	case m.RopeScaling != "":
		return fmt.Sprintf("rope scaling %q", m.RopeScaling)
	case m.Activation != "" && m.Activation != "silu":
		return fmt.Sprintf("activation %q", m.Activation)
	}
	return ""
}

// ShapeWith checks that m is a model this engine can run and returns its sizes, with
// what profiles.Model does not hold.
func ShapeWith(m profiles.Model, d Details) (Shape, error) {
	if len(m.Layers) == 0 {
		return Shape{}, fmt.Errorf("model %q has no layers", m.Name)
	}
	if why := unsupported(m); why != "" {
		return Shape{}, fmt.Errorf("model %q: %s is not supported by this engine", m.Name, why)
	}
	first := m.Layers[0].Attention
	s := Shape{
		Name: m.Name, Hidden: m.HiddenSize, Layers: len(m.Layers),
		Heads: first.Heads, KVHeads: first.KVHeads, HeadDim: first.HeadDim,
		Vocab: m.VocabSize, MaxPositions: m.MaxPositions,
		NormEpsilon: float32(m.NormEpsilon), Tied: m.TiedEmbeddings,
		Activation: d.Activation, EmbeddingScale: float32(d.EmbeddingScale),
		QueryScale: float32(d.QueryScale), ScoreCap: float32(d.ScoreCap), LogitCap: float32(d.LogitCap),
	}
	for _, t := range m.EOSTokens {
		s.EOS = append(s.EOS, int32(t))
	}
	if err := s.setKinds(m, d); err != nil {
		return Shape{}, err
	}
	// Checked before the rotary embedding, whose table has the size of a head.
	if err := s.Check(); err != nil {
		return Shape{}, err
	}
	if err := s.setRopes(m, d); err != nil {
		return Shape{}, fmt.Errorf("model %q: %w", m.Name, err)
	}
	return s, s.Check()
}

// setKinds fills in what differs between layers.
func (s *Shape) setKinds(m profiles.Model, d Details) error {
	s.Ropes = []Rope{{}}
	if d.WindowedTheta != 0 {
		s.Ropes = append(s.Ropes, Rope{})
	}
	kinds, plain := make([]LayerKind, len(m.Layers)), true
	for i, l := range m.Layers {
		k := LayerKind{Window: l.Attention.Window}
		if k.Window > 0 && d.WindowedTheta != 0 {
			k.Rope = 1
		}
		if x := l.MLP; x.Experts > 0 {
			e := Experts{Count: x.Experts, PerToken: x.ExpertsPerToken, Intermediate: x.ExpertIntermediate, Normalize: d.NormalizeExperts}
			if s.Experts.Count != 0 && s.Experts != e {
				return fmt.Errorf("model %q: layer %d has other experts than those before it, which is not supported by this engine", m.Name, i)
			}
			s.Experts = e
		} else {
			k.Dense = m.HasExperts()
			if s.Intermediate != 0 && s.Intermediate != x.Intermediate {
				return fmt.Errorf("model %q: layer %d, whose sizes differ from those of layers before it, is not supported by this engine", m.Name, i)
			}
			s.Intermediate = x.Intermediate
		}
		kinds[i], plain = k, plain && k == LayerKind{}
	}
	if !plain {
		s.Kinds = kinds
	}
	return nil
}

// setRopes computes the rotary embeddings.
func (s *Shape) setRopes(m profiles.Model, d Details) error {
	if !(m.RopeTheta > 0) || math.IsInf(m.RopeTheta, 1) {
		return fmt.Errorf("rope theta %g must be positive", m.RopeTheta)
	}
	rotated := s.HeadDim
	if m.RopeShare > 0 && m.RopeShare < 1 {
		rotated = int(float64(s.HeadDim) * m.RopeShare)
	}
	if rotated%2 != 0 || rotated < 2 {
		return fmt.Errorf("the rotary embedding turns %d elements of a head, expected pairs", rotated)
	}
	positions := d.Positions
	if positions == 0 {
		positions = m.MaxPositions
	}
	var err error
	if s.Ropes[0], err = d.Scaling.Rope(m.RopeTheta, rotated, positions); err != nil {
		return err
	}
	if len(s.Ropes) == 1 {
		return nil
	}
	if !(d.WindowedTheta > 0) || math.IsInf(d.WindowedTheta, 1) {
		return fmt.Errorf("rope theta %g of layers with a window must be positive", d.WindowedTheta)
	}
	s.Ropes[1] = PlainRope(d.WindowedTheta, rotated)
	return nil
}

// runs are the model types whose computation is known here. Others may have the same
// sizes and yet compute differently.
var runs = map[string]bool{
	"llama": true, "mistral": true, "qwen2": true, "qwen3": true, "phi3": true,
	"gemma2": true, "gemma3_text": true, "mixtral": true, "qwen3_moe": true,
}

// unsupported names what of m the engine does not do.
func unsupported(m profiles.Model) string {
	first := m.Layers[0].Attention
	for i, l := range m.Layers {
		a := l.Attention
		switch {
		case a.Kind != profiles.FullAttention && a.Kind != profiles.SlidingAttention:
			return fmt.Sprintf("%s attention in layer %d", a.Kind, i)
		case !l.MLP.Gated:
			return fmt.Sprintf("an MLP without a gate in layer %d", i)
		case l.MLP.Experts > 0 && (l.MLP.SharedExperts > 0 || l.MLP.RouterBias || l.MLP.ExpertHidden > 0 || l.MLP.Intermediate > 0):
			return fmt.Sprintf("a mixture with shared experts, a dense MLP beside them or a corrected router in layer %d", i)
		}
		a.Kind, a.Window = first.Kind, first.Window
		if a != first {
			return fmt.Sprintf("layer %d, whose sizes differ from those of layer 0,", i)
		}
	}
	switch a := first; {
	case a.ValueDim != 0 && a.ValueDim != a.HeadDim:
		return "a value width that differs from the key width"
	case m.OutputBias || m.MLPBias:
		return "a bias on the attention's output or in the MLP"
	case m.QKNormWide:
		return "query and key normalization over all heads together"
	case a.Sinks || a.OutputGate || a.HeadGate > 0 || a.ReusedKV || a.IndexDim > 0 || a.State.Mixer != "":
		return "attention with sinks, gates, an index, a state or another layer's keys"
	case m.NormBias || m.Norms != 4 && m.Norms != 2 && m.Norms != 0 || m.PositionRows > 0 || m.HeadBias || m.LayerSmall > 0 || m.PerLayerWidth > 0:
		return "a layer that differs from Llama's in norms, positions or biases"
	case !runs[m.Type]:
		return fmt.Sprintf("model type %q (%s)", m.Type, m.Architecture)
	}
	return ""
}
