package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/internal/units"
)

// announce tells what vLLM tells at the start, in its words where scripts look for
// them, and then every setting in force as the flag that changes it.
func (v *servedModel) announce(w io.Writer, took time.Duration) {
	st := v.engine.Stats()
	tokens, window := int64(st.Blocks*st.BlockSize), int64(v.engine.Window())
	what := "model " + v.engine.ModelName()
	if v.weights > 0 {
		what += fmt.Sprintf(", %s of weights", units.Bytes(v.weights))
	}
	what += v.reduced
	if len(v.modeled) == 0 {
		what += ", " + vector.Current().String() + " kernels"
	} else {
		what += ", modeled"
	}
	fmt.Fprintf(w, "%s, ready in %.2f s\n", what, took.Seconds())
	memory := ""
	if _, bytes := v.engine.KVCache(); cmp.Or(bytes, v.kvBytes) > 0 {
		memory = ", " + units.Bytes(cmp.Or(bytes, v.kvBytes))
	}
	fmt.Fprintf(w, "KV cache size: %s tokens, %s blocks of %d%s\n", units.Count(tokens), units.Count(int64(st.Blocks)), st.BlockSize, memory)
	fmt.Fprintf(w, "Maximum concurrency for %s tokens per request: %.2fx\n", units.Count(window), float64(tokens)/float64(window))
	wrapWords(w, "settings:", v.settings(), announceWidth)
}

const announceWidth = 80

// settings are those in force, as flags.
func (v *servedModel) settings() []string {
	limits := v.engine.Limits()
	set := []string{
		fmt.Sprintf("--max-model-len %d", v.engine.Window()),
		fmt.Sprintf("--max-num-seqs %d", limits.MaxNumSeqs),
		fmt.Sprintf("--max-num-batched-tokens %d", limits.MaxNumBatchedTokens),
		fmt.Sprintf("--enable-prefix-caching=%t", !limits.DisablePrefixCache),
	}
	if dtype, _ := v.engine.KVCache(); dtype != "" {
		set = append(set, "--kv-cache-dtype "+dtype)
	}
	if v.options.Template != nil && v.options.Tokenizer != nil {
		set = append(set, "--tool-call-parser "+cmp.Or(v.options.ToolParser, noParser), "--reasoning-parser "+cmp.Or(v.options.ReasoningParser, noParser))
	}
	return append(set, v.modeled...)
}

// noParser is how a flag says that there is none.
const noParser = "none"

// wrapWords writes words over lines that are indented after the first.
func wrapWords(w io.Writer, line string, words []string, width int) {
	for _, word := range words {
		if len(line)+1+len(word) > width && strings.TrimSpace(line) != "" {
			fmt.Fprintln(w, line)
			line = " "
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
