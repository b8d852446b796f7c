package cost

import (
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// Parallel is how a replica is spread over accelerators. Tensor × Pipeline ×
// Data of them serve one batch: data-parallel ranks each hold the attention
// weights and a part of the sequences, and share the experts. Expert says that
// experts are divided whole instead of by width, over all tensor × data ranks of
// a stage; the bytes of a rank are the same either way. Zero means 1.
type Parallel struct{ Tensor, Pipeline, Expert, Data int }

// Facts are what a step's time depends on, of one model in one format spread
// over accelerators. Bytes, parameters and widths are those of one rank of a
// stage, summed over the stages.
type Facts struct {
	Layers       int
	ExpertLayers int // layers with routed experts
	LatentLayers int // layers with latent attention (MLA)
	Hidden       int
	Tensor       int
	Pipeline     int
	Data         int
	MoE          bool
	Units        Units // that multiply with the linear layers' weights

	SharedBytes float64 // weights that every step reads: all but embeddings and routed experts
	ExpertBytes float64 // all routed experts
	Experts     int     // per layer
	PerToken    int     // experts that a token visits

	LayerParameters  float64 // parameters that every token is multiplied with, without experts and head
	ExpertParameters float64 // parameters of the routed experts that one token visits
	HeadParameters   float64 // parameters of the output projection, once per sequence

	KV []KVKind
}

// NewFacts derives the facts from a model.
func NewFacts(m *profiles.Model, f shape.Format, kv shape.DType, p Parallel) Facts {
	p = Parallel{max(1, p.Tensor), max(1, p.Pipeline), max(1, p.Expert), max(1, p.Data)}
	facts := Facts{
		Layers: len(m.Layers), Hidden: m.HiddenSize, Tensor: p.Tensor, Pipeline: p.Pipeline, Data: p.Data,
		Units: unitsOf(f.Quantization),
	}
	facts.weigh(m, f)
	for _, layer := range m.Layers {
		a := layer.Attention
		if layer.MLP.Experts > 0 {
			facts.MoE, facts.Experts, facts.PerToken = true, layer.MLP.Experts, layer.MLP.ExpertsPerToken
			facts.ExpertLayers++
		}
		if a.Kind == profiles.LatentAttention {
			facts.LatentLayers++
		}
		facts.attend(a, kv)
	}
	return facts
}

// weigh fills in bytes and parameters of one rank. Latent compressions and the
// like are whole on every rank; K and V projections are copied when there are
// more ranks than KV heads; experts are divided over data ranks too.
func (f *Facts) weigh(m *profiles.Model, format shape.Format) {
	p, w := shape.CountParameters(m), shape.Weights(m, format)
	t, sharers := float64(f.Tensor), float64(f.Tensor*f.Data)
	copies := max(1, t/float64(w.KVHeads))
	head := w.Head
	if m.TiedEmbeddings {
		head = w.Embedding
	}
	f.SharedBytes = (w.Split+float64(w.KV*copies)+head)/t + w.Copied
	f.ExpertBytes = w.Experts / sharers
	f.HeadParameters = float64(p.Embedding) / t
	f.ExpertParameters = float64(p.Visited) / sharers
	divided := float64(p.Multiplied()-p.Visited-p.Embedding-p.Latent) + float64(float64(p.KV)*(copies-1))
	f.LayerParameters = divided/t + float64(p.Latent)
}

// touched is the share of the routed experts that a step of n tokens reads, if
// routing is uniform and independent: 1 − (1 − k/E)^n.
func (f *Facts) touched(n float64) float64 {
	if f.Experts == 0 {
		return 0
	}
	return 1 - power(1-float64(f.PerToken)/float64(f.Experts), n)
}

// unitsOf tells what multiplies with weights of a format. Those of GPTQ, AWQ,
// int4, mxfp4 and the like are only stored so and widened to 16 bits first:
// kernels that compute in 8 bits with them (W4A8) want checkpoints made for it,
// which none of the formats here is.
func unitsOf(q profiles.Quantization) Units {
	switch {
	case q.Method == "fp8":
		return FP8
	case q.Method == "int8" && !q.WeightOnly && q.GroupSize == 0:
		return INT8
	case q.Method == "nvfp4":
		return FP4
	}
	return Wide
}
