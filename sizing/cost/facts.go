package cost

import (
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// Facts are what a step's time depends on, of one model in one format spread
// over Tensor × Pipeline accelerators. Bytes are those of one tensor rank.
type Facts struct {
	Layers    int
	Hidden    int
	Tensor    int
	Pipeline  int
	MoE       bool
	WeightBit int // bits of the linear layers' weights that the matrix units compute in

	SharedBytes float64 // weights that every step reads: all but embeddings and routed experts
	ExpertBytes float64 // all routed experts
	Experts     int     // per layer
	PerToken    int     // experts that a token visits

	LayerParameters float64 // parameters that every token is multiplied with, without the head, on one rank
	HeadParameters  float64 // parameters of the output projection, once per sequence, on one rank

	KV         []KVKind
	HeadsWidth float64 // sum over layers of heads × (head width + value width), on one rank
}

// KVKind is what the layers of one window cache per token on one rank.
type KVKind struct {
	BytesPerToken float64
	Window        int // 0 is unbounded
}

// NewFacts derives the facts from a model.
func NewFacts(m *profiles.Model, f shape.Format, kv shape.DType, tensor, pipeline int) Facts {
	tensor, pipeline = max(1, tensor), max(1, pipeline)
	p, w := shape.CountParameters(m), shape.Weights(m, f)
	t := float64(tensor)
	facts := Facts{
		Layers: len(m.Layers), Hidden: m.HiddenSize, Tensor: tensor, Pipeline: pipeline,
		WeightBit:      computeBits(f),
		SharedBytes:    (w.Total() - w.Embedding - w.Experts) / t,
		ExpertBytes:    w.Experts / t,
		HeadParameters: float64(p.Embedding) / t,
	}
	if m.TiedEmbeddings {
		facts.SharedBytes += w.Embedding / t // the head reads them
	}
	facts.LayerParameters = float64(p.Multiplied())/t - facts.HeadParameters
	for _, layer := range m.Layers {
		a := layer.Attention
		if layer.MLP.Experts > 0 {
			facts.MoE, facts.Experts, facts.PerToken = true, layer.MLP.Experts, layer.MLP.ExpertsPerToken
		}
		facts.addKV(float64(shape.LayerKVBytes(a, kv, tensor)), a.Window)
		facts.HeadsWidth += float64(a.Heads*(a.HeadDim+a.ValueDim)) / t
	}
	return facts
}

func (f *Facts) addKV(bytes float64, window int) {
	if bytes == 0 {
		return
	}
	for i := range f.KV {
		if f.KV[i].Window == window {
			f.KV[i].BytesPerToken += bytes
			return
		}
	}
	f.KV = append(f.KV, KVKind{bytes, window})
}

// KVBytes is what one rank reads of the cache of a sequence.
func (f Facts) KVBytes(context float64) float64 {
	sum := 0.0
	for _, k := range f.KV {
		held := context
		if k.Window > 0 {
			held = min(held, float64(k.Window))
		}
		sum += k.BytesPerToken * held
	}
	return sum
}

// attended is how many tokens of the context a new token attends to, as a mean
// over the layers weighted by what they cache.
func (f Facts) attended(context float64) float64 {
	total := 0.0
	for _, k := range f.KV {
		total += k.BytesPerToken
	}
	if total == 0 {
		return 0
	}
	return f.KVBytes(context) / total
}

// computeBits is the width that matrix units compute in: weights that are only
// stored in 4 bits (AWQ, GPTQ, mxfp4 on most devices) are widened to 16 first.
func computeBits(f shape.Format) int {
	switch f.Quantization.Method {
	case "fp8", "int8":
		return 8
	case "nvfp4":
		return 4
	}
	return 16
}
