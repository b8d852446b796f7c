package shape

import (
	"math"
	"strings"

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
// share of the scales: fp8 has a float32 per block of group² weights, int4 a
// 16-bit scale per group and, for AWQ, a zero point of as many bits as a
// weight; mxfp4 a byte per 32, nvfp4 a byte per 16 (OCP MX 1.0; NVIDIA).
func (f Format) BytesPerWeight() float64 {
	q := f.Quantization
	bits, group := float64(q.Bits)/8, float64(q.GroupSize)
	switch q.Method {
	case "":
		return float64(f.Base.Bytes())
	case "fp8":
		if group > 0 {
			return bits + 4/(group*group)
		}
		return bits
	case "mxfp4", "nvfp4":
		return bits + 1/group
	case "awq":
		if group > 0 {
			return bits + (2+bits)/group
		}
		return bits
	default:
		if group > 0 {
			return bits + 2/group
		}
		return bits
	}
}

// WeightBytes splits the bytes of a model's weights by what becomes of them.
type WeightBytes struct {
	Embedding, Head float64
	Split, Copied   float64 // layers' weights that are divided among ranks, and that every rank holds
	KV              float64 // divided among at most KV-head-many ranks
	Experts         float64 // routed experts, divided among ranks
	Layers, KVHeads int
}

// Weights computes the bytes of the model's weights in a format.
func Weights(m *profiles.Model, f Format) WeightBytes {
	p := CountParameters(m)
	base, quantized := float64(f.Base.Bytes()), f.BytesPerWeight()
	attention, dense := quantized, quantized
	if keeps(m, f, "self_attn", "attention") {
		attention = base
	}
	if keeps(m, f, "shared_expert", "mlp.gate_proj", "mlp\\.(gate") {
		dense = base
	}
	w := WeightBytes{
		Embedding: float64(p.Embedding) * base,
		Head:      float64(p.Head) * base,
		Split:     float64(p.Attention-p.KV-p.Latent)*attention + float64(p.Dense)*dense,
		KV:        float64(p.KV) * attention,
		Copied:    float64(p.Latent)*attention + float64(p.Router+p.Small)*base,
		Experts:   float64(p.Experts) * quantized * padding(m, f),
		Layers:    len(m.Layers),
		KVHeads:   1,
	}
	for _, layer := range m.Layers {
		w.KVHeads = max(w.KVHeads, layer.Attention.KVHeads)
	}
	return w
}

// padding is what mxfp4 kernels add: the experts' width is rounded up to a
// multiple of 256 (vLLM mxfp4.py; 2,880 becomes 3,072 in gpt-oss).
func padding(m *profiles.Model, f Format) float64 {
	if f.Quantization.Method != "mxfp4" {
		return 1
	}
	for _, layer := range m.Layers {
		if n := layer.MLP.ExpertIntermediate; n > 0 {
			return math.Ceil(float64(n)/256) * 256 / float64(n)
		}
	}
	return 1
}

// keeps reports whether a checkpoint leaves the modules with one of these names
// unquantized in all layers: by a pattern over layers, or by naming each.
func keeps(m *profiles.Model, f Format, names ...string) bool {
	listed := 0
	for _, pattern := range f.Quantization.Kept {
		if strings.Contains(pattern, "vision") {
			continue
		}
		for _, name := range names {
			if !strings.Contains(pattern, name) {
				continue
			}
			before, _, _ := strings.Cut(pattern, name)
			if strings.Contains(before, "*") || !strings.ContainsAny(before, "0123456789") {
				return true
			}
			listed++
		}
	}
	return listed >= len(m.Layers)
}

// Total is the bytes of one copy of the weights.
func (w WeightBytes) Total() float64 {
	return w.Embedding + w.Head + w.Split + w.Copied + w.KV + w.Experts
}

// PerRank is the bytes on the accelerator that holds most, of tensor ×
// pipeline. The first stage of a pipeline holds the embeddings, the last one
// the head (a copy of the embeddings when they are tied).
func (w WeightBytes) PerRank(tensor, pipeline int) int64 {
	t := float64(tensor)
	kv := w.KV * math.Max(1, float64(w.KVHeads)/t) / float64(w.KVHeads)
	layers := (w.Split+w.Experts)/t + kv + w.Copied
	if pipeline <= 1 {
		return int64(layers + (w.Embedding+w.Head)/t)
	}
	share := math.Ceil(float64(w.Layers)/float64(pipeline)) / float64(w.Layers)
	return int64(layers*share + math.Max(w.Embedding, w.Head)/t)
}
