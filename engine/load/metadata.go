package load

import (
	"fmt"
	"math"
	"slices"

	"github.com/llmctl/llmctl/internal/tokenizer/hf"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/internal/weights/gguf"
)

// metadata reads what a GGUF file says, and keeps the first error.
type metadata struct {
	file         *gguf.File
	architecture string
	err          error
}

// value is what a reading method found; the zero value where the file has nothing.
func value[T any](m *metadata, read func(string) (T, bool, error), key string) (T, bool) {
	v, ok, err := read(key)
	if err != nil && m.err == nil {
		m.err = err
	}
	return v, ok
}

func (m *metadata) text(key string) string {
	s, _ := value(m, m.file.String, key)
	return s
}

// number is a whole number of the architecture; 0 when it is absent.
func (m *metadata) number(key string) int {
	n, _ := value(m, m.file.Uint, m.architecture+"."+key)
	if n > 1<<40 {
		m.fail("metadata %q is %d, which is too large", m.architecture+"."+key, n)
		return 0
	}
	return int(n)
}

// real is a finite number of the architecture; 0 when it is absent.
func (m *metadata) real(key string) float64 {
	x, _ := value(m, m.file.Float, m.architecture+"."+key)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		m.fail("metadata %q is %v, expected a finite number", m.architecture+"."+key, x)
		return 0
	}
	return x
}

// positive is a number of the architecture that is above 0 where it is there.
func (m *metadata) positive(key string) float64 {
	x := m.real(key)
	if _, ok := value(m, m.file.Float, m.architecture+"."+key); ok && x <= 0 {
		m.fail("metadata %q is %v, expected more than 0", m.architecture+"."+key, x)
	}
	return x
}

func (m *metadata) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// vectorOf decodes a tensor of one dimension; nil when it is absent.
func (m *metadata) vectorOf(name string) []float32 {
	t, ok := m.file.Tensor(name)
	if !ok {
		return nil
	}
	if err := t.Supported(); err != nil || len(t.Shape) != 1 {
		m.fail("tensor %q of type %s and shape %v, expected one row of numbers", name, t.Kind, t.Shape)
		return nil
	}
	values := make([]float32, t.Elements())
	block.Decode(values, t.Type, t.Data)
	return values
}

// endings are markers that end an answer in the chats of models whose files name only
// the one that ends a text (llama.cpp, llama-vocab.cpp, special_eog_ids).
var endings = []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|eom_id|>"}

// vocabulary reads the tokenizer, and the tokens that end a text, the file's own
// first.
func (m *metadata) vocabulary() (v hf.Vocabulary, ends []int32) {
	const prefix = "tokenizer.ggml."
	v.Model, v.Pre = m.text(prefix+"model"), m.text(prefix+"pre")
	if v.Model == "" {
		m.fail("metadata %q is missing: the file has no tokenizer", prefix+"model")
		return v, nil
	}
	v.Tokens, _ = value(m, m.file.Strings, prefix+"tokens")
	v.Merges, _ = value(m, m.file.Strings, prefix+"merges")
	v.TrimMarkers = m.architecture == "phi3"
	scores, _ := value(m, m.file.Floats, prefix+"scores")
	for _, s := range scores {
		v.Scores = append(v.Scores, float32(s))
	}
	types, _ := value(m, m.file.Ints, prefix+"token_type")
	for _, t := range types {
		v.Types = append(v.Types, int32(t))
	}
	v.BOS, v.Unknown = m.token(prefix+"bos_token_id"), m.token(prefix+"unknown_token_id")
	for _, key := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		if token := m.token(prefix + key); token != nil && !slices.Contains(ends, *token) {
			ends = append(ends, *token)
		}
	}
	for i, text := range v.Tokens {
		if text != "" && text[0] == '<' && slices.Contains(endings, text) && !slices.Contains(ends, int32(i)) {
			ends = append(ends, int32(i))
		}
	}
	v.Ends = ends
	if add, ok := value(m, m.file.Bool, prefix+"add_bos_token"); ok {
		v.AddBOS = &add
	}
	if add, ok := value(m, m.file.Bool, prefix+"add_space_prefix"); ok {
		v.AddSpacePrefix = &add
	}
	return v, ends
}

// token is a token's number; nil when the key is absent.
func (m *metadata) token(key string) *int32 {
	n, ok := value(m, m.file.Uint, key)
	if !ok || n > 1<<31-1 {
		return nil // llama.cpp writes −1 as 2³²−1 for none
	}
	token := int32(n)
	return &token
}
