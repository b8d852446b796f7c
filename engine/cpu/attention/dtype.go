package attention

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// DType is how the cache stores the elements of K and V.
type DType uint8

// The types. Int8 and FP8 have a float32 scale for each token and KV head, of K and of
// V, which is its largest element's: so they need no calibration.
const (
	Auto     DType = iota // Float32 for models in float32, else Float16
	Float32               //
	Float16               // IEEE 754 half
	BFloat16              //
	Int8                  // symmetric
	FP8                   // E4M3
)

var names = [...]string{"auto", "float32", "float16", "bfloat16", "int8", "fp8"}

// String is the type's name.
func (d DType) String() string {
	if int(d) < len(names) {
		return names[d]
	}
	return fmt.Sprintf("type %d", uint8(d))
}

// ParseDType reads the value of vLLM's --kv-cache-dtype, which may be float32 and int8
// here, too.
func ParseDType(name string) (DType, error) {
	switch name {
	case "fp8_e4m3":
		return FP8, nil
	case "fp8_e5m2":
		return Auto, fmt.Errorf("KV cache type fp8_e5m2 is not supported: fp8_e4m3 takes as little memory and keeps one bit more")
	}
	for d, n := range names {
		if n == name {
			return DType(d), nil
		}
	}
	return Auto, fmt.Errorf("KV cache type %q, expected auto, float32, float16, bfloat16, int8, fp8 or fp8_e4m3", name)
}

// For replaces Auto by the type that a model gets.
func (d DType) For(w *model.Weights) DType {
	switch {
	case d != Auto:
		return d
	case w.Embedding.Type == block.F32:
		return Float32
	}
	return Float16
}

// size is the bytes of an element.
func (d DType) size() int {
	switch d {
	case Float16, BFloat16:
		return 2
	case Int8, FP8:
		return 1
	}
	return 4
}

// scaled says whether each vector of K or V has a scale.
func (d DType) scaled() bool { return d == Int8 || d == FP8 }

// BytesPerToken is what one token occupies in the cache of a model, in all layers.
func BytesPerToken(s model.Shape, d DType) int {
	vector := s.HeadDim * d.size()
	if d.scaled() {
		vector += scaleBytes
	}
	return 2 * s.Layers * s.KVHeads * vector
}

// scaleBytes is the size of a scale.
const scaleBytes = 4
