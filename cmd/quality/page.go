package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/engine/cpu/attention"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/quality"
	"github.com/llmctl/llmctl/internal/smollm2"
)

// table is what was measured; the first row is the baseline.
type table struct {
	model  string
	stored string // types of the matrices in the file
	rows   []row
}

// row is one format, with a result for each kind of text.
type row struct {
	format  quality.Format
	results []quality.Result
}

// storedTypes names the types of a model's matrices.
func storedTypes(w *model.Weights) string {
	names := map[string]bool{w.Head.Type.String(): true}
	for _, l := range w.Layers {
		names[l.Output.Type.String()] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " and ")
}

// line is a row in Markdown.
func (t *table) line(i int) string {
	r, base := t.rows[i], t.rows[0]
	weights := r.format.Weights
	if weights == "stored" {
		weights = t.stored
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s |", weights, r.format.KV)
	same, places := 0.0, 0
	for k, result := range r.results {
		fmt.Fprintf(&b, " %.3f", result.Perplexity)
		if i > 0 {
			fmt.Fprintf(&b, " (%+.2f %%)", 100*(result.Perplexity/base.results[k].Perplexity-1))
		}
		b.WriteString(" |")
		same += result.Same(base.results[k]) * float64(result.Places)
		places += result.Places
	}
	fmt.Fprintf(&b, " %.2f %% |", 100*same/float64(places))
	return b.String()
}

func (t *table) markdown() string {
	var b strings.Builder
	places := 0
	for _, r := range t.rows[0].results {
		places += r.Places
	}
	fmt.Fprintf(&b, `# What formats of weights and KV cache cost

Perplexity of %s on four kinds of text: prose, code, arithmetic and, as
“other”, nine languages other than English. Lower is better, and what counts is the change
against the first row. There, the matrices of the file, which are %s, have the
same values in single precision, and nothing is rounded to less. What the file itself lost
when it was quantized is in every row, and does not show here.

`+"`make quality`"+` measures this. The texts are in internal/smollm2/testdata: %d places in
chunks of %d tokens, each read with nothing before it. “Same token” is in how many
places the likeliest token is that of the first row.

| weights | KV cache | %s | same token |
|---|---|%s---|
`, t.model, t.stored, places, chunkTokens, strings.Join(smollm2.Kinds, " | "), strings.Repeat("---|", len(smollm2.Kinds)))
	for i := range t.rows {
		b.WriteString(t.line(i) + "\n")
	}
	fmt.Fprintf(&b, `
- **Block formats**, those of a GGUF file and %[1]s, are multiplied by activations of eight bits
  with a scale for each 32 values, as in llama.cpp. Where a file's own formats are kept, that
  is all that changes. Plain numbers and %[2]s are multiplied by activations in single precision.
- **Weights in %[1]s and %[2]s** are made of the values in single precision:
  %[1]s has a scale for each 32 inputs, %[2]s (E4M3) a power of two for each output. Embedding
  and output head are not quantized.
- **KV caches of %[1]s and %[2]s** have a scale for each token and KV head, of K and of V, so that
  they need no calibration.
- Changes of a few tenths of a percent are noise: a thousand places of one kind of text
  tell no smaller ones.
`, attention.Int8, attention.FP8)
	return b.String()
}
