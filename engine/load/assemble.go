package load

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/profiles"
)

// assemble takes all tensors of a model.
func assemble(src source, n names, s model.Shape, p profiles.Model) (*model.Weights, error) {
	r := &reader{source: src, used: map[string]bool{}, lessOne: n.lessOne}
	w := &model.Weights{
		Shape:     s,
		Embedding: r.matrix(n.embedding+".weight", s.Vocab, s.Hidden),
		FinalNorm: r.norm(n.finalNorm+".weight", s.Hidden),
	}
	w.Head = w.Embedding
	if !s.Tied {
		w.Head = r.matrix(n.head+".weight", s.Vocab, s.Hidden)
	}
	w.Layers = make([]model.LayerWeights, s.Layers)
	for i := range w.Layers {
		l := layerReader{r, n, s, i}
		l.attention(&w.Layers[i], p)
		l.mlp(&w.Layers[i])
		if r.err != nil {
			return nil, r.err
		}
	}
	r.rest(n.harmless)
	return w, r.err
}

// layerReader takes the tensors of one layer.
type layerReader struct {
	*reader
	names names
	shape model.Shape
	layer int
}

func (l layerReader) rows(part string, rows, cols int) model.Matrix {
	return l.matrix(l.names.in(l.layer, part)+".weight", rows, cols)
}

func (l layerReader) weight(part string, n int) []float32 {
	return l.norm(l.names.in(l.layer, part)+".weight", n)
}

func (l layerReader) bias(part string, n int) []float32 {
	return l.vector(l.names.in(l.layer, part)+".bias", n)
}

func (l layerReader) attention(w *model.LayerWeights, p profiles.Model) {
	n, s := l.names, l.shape
	w.AttentionNorm = l.weight(n.attentionNorm, s.Hidden)
	if n.fusedQKV != "" {
		cut := parts(l.rows(n.fusedQKV, s.Queries()+2*s.Keys(), s.Hidden), s.Queries(), s.Keys(), s.Keys())
		w.Query, w.Key, w.Value = cut[0], cut[1], cut[2]
	} else {
		w.Query = l.rows(n.query, s.Queries(), s.Hidden)
		w.Key = l.rows(n.key, s.Keys(), s.Hidden)
		w.Value = l.rows(n.value, s.Keys(), s.Hidden)
	}
	if n.interleave {
		w.Query, w.Key = halves(w.Query, s.Heads), halves(w.Key, s.KVHeads)
	}
	if p.AttentionBias {
		w.QueryBias, w.KeyBias, w.ValueBias = l.bias(n.query, s.Queries()), l.bias(n.key, s.Keys()), l.bias(n.value, s.Keys())
	}
	if p.QKNorm {
		w.QueryNorm, w.KeyNorm = l.weight(n.queryNorm, s.HeadDim), l.weight(n.keyNorm, s.HeadDim)
	}
	w.Output = l.rows(n.output, s.Hidden, s.Queries())
	if n.postAttentionNorm != "" {
		w.PostAttentionNorm = l.weight(n.postAttentionNorm, s.Hidden)
	}
}

func (l layerReader) mlp(w *model.LayerWeights) {
	n, s := l.names, l.shape
	w.MLPNorm = l.weight(n.mlpNorm, s.Hidden)
	if n.postMLPNorm != "" {
		w.PostMLPNorm = l.weight(n.postMLPNorm, s.Hidden)
	}
	if !s.Dense(l.layer) {
		w.Router = l.rows(n.router, s.Experts.Count, s.Hidden)
		w.Experts = l.experts()
		return
	}
	if n.fusedGateUp != "" {
		cut := parts(l.rows(n.fusedGateUp, 2*s.Intermediate, s.Hidden), s.Intermediate, s.Intermediate)
		w.Gate, w.Up = cut[0], cut[1]
	} else {
		w.Gate, w.Up = l.rows(n.gate, s.Intermediate, s.Hidden), l.rows(n.up, s.Intermediate, s.Hidden)
	}
	w.Down = l.rows(n.down, s.Hidden, s.Intermediate)
}

func (l layerReader) experts() []model.ExpertWeights {
	n, s := l.names, l.shape
	x := s.Experts
	if l.err != nil {
		return nil // also where a file says more experts than it has
	}
	all := make([]model.ExpertWeights, x.Count)
	if !n.stacked {
		for e := range all {
			of := func(part string) string { return fmt.Sprintf(part, e) }
			all[e].Gate = l.rows(of(n.expertGate), x.Intermediate, s.Hidden)
			all[e].Up = l.rows(of(n.expertUp), x.Intermediate, s.Hidden)
			all[e].Down = l.rows(of(n.expertDown), s.Hidden, x.Intermediate)
		}
		return all
	}
	stack := func(part string, rows, cols int) []model.Matrix {
		return l.stack(n.in(l.layer, part)+".weight", x.Count, rows, cols)
	}
	gates, ups, downs := stack(n.expertGate, x.Intermediate, s.Hidden), stack(n.expertUp, x.Intermediate, s.Hidden), stack(n.expertDown, s.Hidden, x.Intermediate)
	for e := range all {
		all[e] = model.ExpertWeights{Gate: gates[e], Up: ups[e], Down: downs[e]}
	}
	return all
}
