package hf

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/internal/tokenizer"
)

// golden is one kind of tokenizer in testdata/ids.json, with what the tokenizers
// library makes of texts.
type golden struct {
	Name, Base string
	Change     map[string]json.RawMessage
	IDs        [][]int32 // with special tokens found in the text
	Plain      [][]int32 // with none, where that differs
	Decoded    []string  // of IDs
	Begin      []int32
}

func goldens(t *testing.T) (texts []string, cases []golden) {
	t.Helper()
	data, err := os.ReadFile("testdata/ids.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Texts []string
		Cases []golden
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 18 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	return file.Texts, file.Cases
}

func load(t testing.TB, data []byte) *Tokenizer {
	t.Helper()
	tokenizer, err := Load(data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func decode(t tokenizer.Tokenizer, tokens []int32) string {
	var b strings.Builder
	d := t.Decoder(true)
	for _, token := range tokens {
		b.WriteString(d.Push(token))
	}
	b.WriteString(d.Flush())
	return b.String()
}

// TestTokensAndTextsAreThoseOfTheTokenizersLibrary holds tokens, and the texts that
// they give, against the tokenizers library (0.23), for the kinds of tokenizer that
// models have, with small vocabularies.
func TestTokensAndTextsAreThoseOfTheTokenizersLibrary(t *testing.T) {
	texts, cases := goldens(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			tokenizer := load(t, change(t, c.Base, c.Change))
			for i, text := range texts {
				if diff := cmp.Diff(c.IDs[i], tokenizer.Encode([]int32{}, text, true)); diff != "" {
					t.Errorf("%q: %s", text, diff)
				}
				plain := c.Plain[i]
				if plain == nil {
					plain = c.IDs[i]
				}
				if diff := cmp.Diff(plain, tokenizer.Encode([]int32{}, text, false)); diff != "" {
					t.Errorf("%q without special tokens: %s", text, diff)
				}
				if got := decode(tokenizer, c.IDs[i]); got != c.Decoded[i] {
					t.Errorf("%q: decoded %q, want %q", text, got, c.Decoded[i])
				}
			}
			if diff := cmp.Diff(c.Begin, append([]int32{}, tokenizer.Begin()...)); diff != "" {
				t.Errorf("begin: %s", diff)
			}
		})
	}
}
