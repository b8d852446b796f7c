package shape

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// Format is how weights are stored: quantized linear layers, and the rest
// (embeddings, head, routers, norms) in Base.
type Format struct {
	Base         DType
	Quantization profiles.Quantization
}

// FormatOf is the format in which the model is published.
func FormatOf(m *profiles.Model) Format {
	return Format{Base: DType(m.DType), Quantization: m.Quantization}
}

// String names the format as --weight-dtype takes it.
func (f Format) String() string {
	if f.Quantization.Method == "" {
		return string(f.Base)
	}
	return f.Quantization.Method
}

// BytesPerWeight is the size of one weight of a quantized linear layer with its
// share of the scales.
func (f Format) BytesPerWeight() float64 {
	return encodedBytes(f.Quantization.Encoding, f.Base)
}

// encodedBytes is the size of one weight with its share of what goes with it:
// fp8 has a float32 per block of group² weights; int4 and int8 have a 16-bit
// scale per group and, where they are not symmetric, a zero point of as many
// bits as a weight; mxfp4 and mxfp8 a byte per 32, nvfp4 a byte per 16 (OCP MX
// 1.0; NVIDIA); nf4 a float32 per 64, or a byte and a float32 per 256 of those
// (QLoRA, arXiv 2305.14314 §3).
func encodedBytes(e profiles.Encoding, base DType) float64 {
	bits, group := float64(float64(e.Bits)/8), float64(e.GroupSize)
	switch {
	case e.Method == "":
		return float64(base.Bytes())
	case group == 0:
		return bits
	case e.Method == "fp8":
		return bits + 4/(group*group)
	case e.Method == "mxfp4", e.Method == "mxfp8", e.Method == "nvfp4":
		return bits + 1/group
	case e.Method == "nf4" && e.DoubleScale:
		return bits + 1/group + 4/(group*256)
	case e.Method == "nf4":
		return bits + 4/group
	case e.ZeroPoints:
		return bits + (2+bits)/group
	}
	return bits + 2/group
}

// WeightBytes splits the bytes of a model's weights by what becomes of them.
type WeightBytes struct {
	Embedding, Head float64
	Split, Copied   float64 // layers' weights that are divided among ranks, and that every rank holds
	KV              float64 // divided among at most KV-head-many ranks
	Experts         float64 // routed experts, divided among ranks
	Absorbed        float64 // copies of latent projections that engines make while loading, divided among ranks
	Tables          float64 // sines of the rotary embedding, on every rank
	Vision          float64 // vision tower and its projector, divided among ranks, whole on each stage
	Layers, KVHeads int
}

// Weights computes the bytes of the model's weights in a format.
func Weights(m *profiles.Model, f Format) WeightBytes { return StageWeights(m, f, 0, len(m.Layers)) }

// StageWeights computes them for the layers from one up to, not including,
// another, with all that stands outside of layers. Checkpoints name the layers
// that they leave unquantized by number, so a slice of a model will not do.
func StageWeights(m *profiles.Model, f Format, from, to int) WeightBytes {
	base := float64(f.Base.Bytes())
	w := WeightBytes{
		Embedding: base * float64(int64(m.VocabSize)*embeddingWidth(m)+perLayerEmbedding(m)+int64(m.PositionRows)*int64(m.HiddenSize)),
		Copied:    base * float64(outerSmall(m)),
		Split:     base * float64(m.OuterLinear),
		Layers:    to - from,
		KVHeads:   1,
	}
	w.Tables = base * ropeTable(m)
	if m.Vision != nil {
		w.Vision = base * float64(m.Vision.Encoder+m.Vision.Projector)
	}
	r := newRules(f.Quantization)
	if !m.TiedEmbeddings {
		w.Head = encodedBytes(r.head(), f.Base) * float64(int64(m.VocabSize)*embeddingWidth(m))
	}
	everywhere := f.BytesPerWeight()
	if stored(m, f) {
		w.take(m, from, to)
		return w
	}
	var modules []module
	for i := from; i < to; i++ {
		layer := m.Layers[i]
		w.KVHeads = max(w.KVHeads, layer.Attention.KVHeads)
		w.Absorbed += float64(base * absorbed(layer.Attention))
		modules = layerModules(modules[:0], m, layer)
		for _, x := range modules {
			bytes, e := everywhere, f.Quantization.Encoding
			switch {
			case x.part == routerPart || x.part == smallPart:
				bytes = base
			case !r.plain():
				e = r.encoding(i, x)
				bytes = encodedBytes(e, f.Base)
			}
			bytes *= float64(x.parameters)
			if x.part == expertPart {
				bytes *= padding(layer.MLP, e)
			}
			w.add(x, bytes)
		}
	}
	return w
}

func (w *WeightBytes) add(x module, bytes float64) {
	switch {
	case x.part == expertPart:
		w.Experts += bytes
	case x.spread == byKV:
		w.KV += bytes
	case x.spread == copied:
		w.Copied += bytes
	default:
		w.Split += bytes
	}
}

// padding is what mxfp4 kernels add: the experts' width is rounded up to a
// multiple of 256 (vLLM mxfp4.py; 2,880 becomes 3,072 in gpt-oss).
func padding(x profiles.MLP, e profiles.Encoding) float64 {
	n := x.ExpertIntermediate
	if e.Method != "mxfp4" || n == 0 {
		return 1
	}
	return math.Ceil(float64(n)/256) * 256 / float64(n)
}

// absorbed is the values of a latent layer's expansion that vLLM and SGLang
// hold a second time, split into keys and values and never quantized, to attend
// to the cached vector as it is (vLLM: MLACommonImpl.process_weights_after_loading,
// W_UK_T and W_UV).
func absorbed(a profiles.Attention) float64 {
	if a.Kind != profiles.LatentAttention {
		return 0
	}
	return float64(a.LatentRank) * float64(a.Heads) * float64(a.HeadDim-a.RopeHeadDim+a.ValueDim)
}

// ropeTable is the values of the tables of sines and cosines that engines keep
// in the type of activations (vLLM: RotaryEmbedding.cos_sin_cache).
func ropeTable(m *profiles.Model) float64 {
	width := 0.0
	for _, layer := range m.Layers {
		a := layer.Attention
		switch {
		case a.RopeHeadDim > 0:
			width = float64(a.RopeHeadDim)
		case a.HeadDim > 0:
			width = math.Round(float64(a.HeadDim) * m.RopeShare)
		}
		if width > 0 {
			break
		}
	}
	return float64(m.RopeRows) * width
}

// Total is the bytes of one copy of the language model's weights.
func (w WeightBytes) Total() float64 {
	return w.Embedding + w.Head + w.Split + w.Copied + w.KV + w.Experts
}

// PerRank is the bytes on the accelerator that holds most, of tensor ×
// pipeline. The first stage of a pipeline holds the embeddings, the last one
// the head (a copy of the embeddings when they are tied).
func (w WeightBytes) PerRank(tensor, pipeline int) int64 {
	t := float64(tensor)
	kv := w.KV * math.Max(1, float64(w.KVHeads)/t) / float64(w.KVHeads)
	layers := (w.Split+w.Absorbed+w.Experts)/t + kv + w.Copied + w.Tables
	if pipeline <= 1 {
		return int64(layers + (w.Embedding+w.Head+w.Vision)/t)
	}
	share := math.Ceil(float64(w.Layers)/float64(pipeline)) / float64(w.Layers)
	return int64(float64(layers*share) + (math.Max(w.Embedding, w.Head)+w.Vision)/t)
}
