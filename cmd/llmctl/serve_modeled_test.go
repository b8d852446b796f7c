package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A modeled device says the same at temperature 0, with a log-probability for each
// token, and a conversation that goes on finds its history in the cache.
func TestModeledAnswersRepeat(t *testing.T) {
	v, err := parsed(t, "--device", "modeled:h100-sxm-80gb", "--model", "llama-3.1-8b", "--time-scale", "100").open(quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	type answer struct {
		Choices []struct {
			Message  struct{ Content string }
			Logprobs struct {
				Content []struct {
					Logprob *float64
					Top     []any `json:"top_logprobs"`
				}
			}
		}
		Usage struct {
			Prompt  int `json:"prompt_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	ask := func(messages string) (a answer) {
		t.Helper()
		w := httptest.NewRecorder()
		v.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions",
			strings.NewReader(`{"messages":[`+messages+`],"max_tokens":64,"ignore_eos":true,"temperature":0,"logprobs":true,"top_logprobs":3}`)))
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || len(a.Choices) != 1 {
			t.Fatalf("%v: %s", err, w.Body)
		}
		return a
	}
	const first = `{"role":"user","content":"the old moon"}`
	a, again := ask(first), ask(first)
	said := a.Choices[0].Message.Content
	if said == "" || again.Choices[0].Message.Content != said {
		t.Errorf("%q, and again %q", said, again.Choices[0].Message.Content)
	}
	entries := a.Choices[0].Logprobs.Content
	if len(entries) != 64 || entries[0].Logprob == nil || len(entries[63].Top) != 3 {
		t.Errorf("%d entries, want 64 with three likeliest each: %v", len(entries), entries)
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	longer := ask(first + `,{"role":"assistant","content":` + string(text) + `},{"role":"user","content":"and then"}`)
	if u := longer.Usage; u.Details.Cached < 64 {
		t.Errorf("%d of %d tokens were in the cache, want the first turn's", u.Details.Cached, u.Prompt)
	}
}
