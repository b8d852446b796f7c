package corpus

import (
	_ "embed"
	"strings"
)

//go:embed testdata/smollm2.txt
var smolLM2 string

// SmolLM2 are the Hashes of Lines by llama.cpp (of llama-cpp-python 0.3.36) with the vocabulary of
// SmolLM2-135M-Instruct, without special tokens.
func SmolLM2() []string { return strings.Fields(smolLM2) }
