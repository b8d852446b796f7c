package shape

import (
	"reflect"

	"github.com/llmctl/llmctl/profiles"
)

// stored reports whether the bytes of a format are those of the model's own
// files: it has headers, and nothing is converted while loading.
func stored(m *profiles.Model, f Format) bool {
	return m.Stored != nil && m.Stored.Files > 0 && f.Base == DType(m.DType) && reflect.DeepEqual(f.Quantization, m.Quantization)
}

// FromHeaders reports whether Weights takes a format's bytes from the headers
// of the model's files.
func FromHeaders(m *profiles.Model, f Format) bool { return stored(m, f) }

// take replaces what the formula says by the bytes in the files. What engines
// make while loading stays: rotary tables, absorbed projections, padding.
func (w *WeightBytes) take(m *profiles.Model, from, to int) {
	s := m.Stored
	w.Embedding, w.Head, w.Vision = float64(s.Embedding), float64(s.Head), float64(s.Vision)
	w.Split, w.Copied, w.Absorbed = 0, float64(s.Outer), 0
	base := float64(DType(m.DType).Bytes())
	for i := from; i < to; i++ {
		l, layer := s.Layers[i], m.Layers[i]
		w.Split += float64(l.Split)
		w.KV += float64(l.KV)
		w.Copied += float64(l.Copied)
		w.Experts += float64(float64(l.Experts) * padding(layer.MLP, m.Quantization.Encoding))
		w.Absorbed += float64(base * absorbed(layer.Attention))
		w.KVHeads = max(w.KVHeads, layer.Attention.KVHeads)
	}
}

// Discrepancy compares the parameters that the headers' shapes hold with those
// that the config says: 0.01 when the files have 1 % more. 0 without headers.
func Discrepancy(m *profiles.Model) float64 {
	if m.Stored == nil || m.Stored.Parameters == 0 {
		return 0
	}
	return float64(m.Stored.Parameters)/float64(CountParameters(m).Total()) - 1
}
