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
	WeightBit    int // bits of the linear layers' weights that the matrix units compute in

	SharedBytes float64 // weights that every step reads: all but embeddings and routed experts
	ExpertBytes float64 // all routed experts
	Experts     int     // per layer
	PerToken    int     // experts that a token visits

	LayerParameters  float64 // parameters that every token is multiplied with, without experts and head
	ExpertParameters float64 // parameters of the routed experts that one token visits
	HeadParameters   float64 // parameters of the output projection, once per sequence

	KV         []KVKind
	HeadsWidth float64 // sum over layers of heads × (head width + value width)
}

// KVKind is what the layers of one window cache per token on one rank.
type KVKind struct {
	BytesPerToken float64
	Window        int // 0 is unbounded
}

// NewFacts derives the facts from a model.
func NewFacts(m *profiles.Model, f shape.Format, kv shape.DType, p Parallel) Facts {
	p = Parallel{max(1, p.Tensor), max(1, p.Pipeline), max(1, p.Expert), max(1, p.Data)}
	facts := Facts{
		Layers: len(m.Layers), Hidden: m.HiddenSize, Tensor: p.Tensor, Pipeline: p.Pipeline, Data: p.Data,
		WeightBit: computeBits(f),
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
		facts.addKV(float64(shape.LayerKVBytes(a, kv, p.Tensor)), a.Window)
		facts.HeadsWidth += float64(a.Heads*(a.HeadDim+a.ValueDim)) / float64(p.Tensor)
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
	f.SharedBytes = (w.Split+w.KV*copies+head)/t + w.Copied
	f.ExpertBytes = w.Experts / sharers
	f.HeadParameters = float64(p.Embedding) / t
	f.ExpertParameters = float64(p.Visited) / sharers
	divided := float64(p.Multiplied()-p.Visited-p.Embedding-p.Latent) + float64(p.KV)*(copies-1)
	f.LayerParameters = divided/t + float64(p.Latent)
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
func (f *Facts) attended(context float64) float64 {
	total, held := 0.0, 0.0
	for _, k := range f.KV {
		total += k.BytesPerToken
		if k.Window > 0 {
			held += k.BytesPerToken * min(context, float64(k.Window))
		} else {
			held += k.BytesPerToken * context
		}
	}
	if total == 0 {
		return 0
	}
	return held / total
}

// touched is the share of the routed experts that a step of n tokens reads, if
// routing is uniform and independent: 1 − (1 − k/E)^n.
func (f *Facts) touched(n float64) float64 {
	if f.Experts == 0 {
		return 0
	}
	return 1 - power(1-float64(f.PerToken)/float64(f.Experts), n)
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
