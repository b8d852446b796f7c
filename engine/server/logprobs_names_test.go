package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// halves is a tokenizer whose first tokens are halves of characters.
type halves struct{ tokenizer.Tokenizer }

func (h halves) Bytes(token int32) []byte {
	if token < 3 {
		return []byte{0xf0, 0x90 + byte(token)}
	}
	return h.Tokenizer.Bytes(token)
}

// Tokens that are parts of characters stay apart in the lists of a completion, where
// all of them would read as U+FFFD.
func TestTokensOfHalfCharactersStayApart(t *testing.T) {
	e, err := engine.New(engine.Config{Blocks: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	o := offsets{server: newServer(e, Options{Tokenizer: halves{tokenizer.Builtin()}})}
	var got openai.CompletionLogprobs
	o.add(&got, &model.Logprob{Token: 0, Logprob: -1, Rank: 1, Top: []model.TokenLogprob{{Token: 0, Logprob: -1}, {Token: 1, Logprob: -2}, {Token: 2, Logprob: -3}}})
	want := []map[string]float32{{`bytes:\xf0\x90`: -1, `bytes:\xf0\x91`: -2, `bytes:\xf0\x92`: -3}}
	if diff := cmp.Diff(want, got.TopLogprobs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`bytes:\xf0\x90`}, got.Tokens); diff != "" {
		t.Error(diff)
	}
}
