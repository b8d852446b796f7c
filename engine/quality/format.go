package quality

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/cpu"
	"github.com/llmctl/llmctl/engine/cpu/attention"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// Format is how weights and KV cache are stored.
type Format struct {
	Weights string // float32, float16, bfloat16, int8, fp8; stored: as the file has them
	KV      attention.DType
}

// Baseline is the format in which nothing is rounded to less than single precision.
var Baseline = Format{"float32", attention.Float32}

// Formats are the ones that the engine has, the Baseline first, then those that differ
// from it in the weights, then those that differ in the KV cache.
func Formats() []Format {
	all := []Format{Baseline}
	for _, weights := range []string{"float16", "bfloat16", "int8", "fp8", "stored"} {
		all = append(all, Format{weights, attention.Float32})
	}
	for _, kv := range []attention.DType{attention.Float16, attention.BFloat16, attention.Int8, attention.FP8} {
		all = append(all, Format{"float32", kv})
	}
	return all
}

// Apply stores a model's weights in a format. int8 and fp8 are made of the values in
// single precision, as the engine quantizes a model that has plain numbers.
func (f Format) Apply(w *model.Weights) (*model.Weights, error) {
	switch f.Weights {
	case "stored":
		return w, nil
	case "float32":
		return Float(w, block.F32)
	case "float16":
		return Float(w, block.F16)
	case "bfloat16":
		return Float(w, block.BF16)
	}
	plain, err := Float(w, block.F32)
	if err != nil {
		return nil, err
	}
	return model.Quantize(plain, f.Weights)
}

// Result is how well texts of one kind are predicted in a format.
type Result struct {
	Places     int
	Perplexity float64
	Top        []int32 // per place, the likeliest token
}

// Same is in which share of the places the likeliest token is another result's.
func (r Result) Same(other Result) float64 {
	same := 0
	for i, token := range r.Top {
		if token == other.Top[i] {
			same++
		}
	}
	return float64(same) / float64(len(r.Top))
}

// Measure runs texts, kind by kind, each a list of chunks, on the CPU in a format.
func Measure(w *model.Weights, f Format, kinds [][][]int32) ([]Result, error) {
	longest := 0
	for _, chunks := range kinds {
		for _, tokens := range chunks {
			longest = max(longest, len(tokens))
		}
	}
	applied, err := f.Apply(w)
	if err != nil {
		return nil, err
	}
	e, err := cpu.New(applied, cpu.Config{Blocks: Blocks(longest), BlockSize: BlockSize, MaxPositions: longest, KV: f.KV})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	var results []Result
	for i, chunks := range kinds {
		var scores []model.Logprob
		for _, tokens := range chunks {
			some, err := Score(e, tokens, 1)
			if err != nil {
				return nil, fmt.Errorf("kind %d: %w", i, err)
			}
			scores = append(scores, some...)
		}
		r := Result{Places: len(scores), Perplexity: Perplexity(scores)}
		for _, s := range scores {
			r.Top = append(r.Top, s.Top[0].Token)
		}
		results = append(results, r)
	}
	return results, nil
}
