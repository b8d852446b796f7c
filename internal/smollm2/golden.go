package smollm2

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed testdata/*.txt testdata/golden.json.gz
var files embed.FS

// Kinds are the kinds of text, in the order of tables.
var Kinds = []string{"prose", "code", "arithmetic", "other"}

// Every is how far apart the places are that have a Distribution: after the tokens
// 0, Every, 2·Every, … of a chunk.
const Every = 16

// Golden is what llama.cpp computes in single precision with the weights of the GGUF
// file, whose matrices are Q4_1 and Q8_0.
type Golden struct {
	Version string             `json:"llama-cpp-python"`
	Texts   map[string][]Chunk `json:"texts"` // by kind
	Answers []Answer           `json:"answers"`
}

// Chunk is a part of a text, read with nothing before it. A place is what comes after
// one of its tokens; the last token has none.
type Chunk struct {
	Tokens []int32 `json:"tokens"`
	Predictions
	Distributions []Distribution `json:"distributions"`

	// Stored is what llama.cpp makes of the matrices as they are stored, with
	// activations of eight bits and K and V of sixteen. Divergence is that from the
	// predictions above, in nats, the mean over all places and all tokens.
	Stored struct {
		Predictions
		Divergence float64 `json:"divergence"`
	} `json:"stored"`
}

// Predictions say, per place, which token is the likeliest, and the natural logarithm
// of the probability of the one that comes.
type Predictions struct {
	Top      []int32   `json:"top"`
	Logprobs []float64 `json:"logprobs"`
}

// Distribution are the likeliest tokens of one place, likeliest first, with the
// natural logarithms of their probabilities.
type Distribution struct {
	Tokens   []int32   `json:"tokens"`
	Logprobs []float64 `json:"logprobs"`
}

// Answer is what follows a prompt when the likeliest token is taken each time, with
// the distance of its logit to the second one's.
type Answer struct {
	Tokens  []int32   `json:"tokens"` // of the prompt
	Answer  []int32   `json:"answer"`
	Margins []float64 `json:"margins"`
}

// Text is the whole text of a kind, of which the chunks are the beginning.
func Text(kind string) (string, error) {
	data, err := files.ReadFile("testdata/" + kind + ".txt")
	if err != nil {
		return "", fmt.Errorf("reading a text: %w", err)
	}
	return string(data), nil
}

// Load reads the golden.
func Load() (*Golden, error) {
	data, err := files.ReadFile("testdata/golden.json.gz")
	if err != nil {
		return nil, fmt.Errorf("reading golden: %w", err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading golden: %w", err)
	}
	var g Golden
	if err := json.NewDecoder(unpacked).Decode(&g); err != nil {
		return nil, fmt.Errorf("reading golden: %w", err)
	}
	return &g, nil
}
