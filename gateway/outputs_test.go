package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// An engine reads its own names first, so that a cap on OpenAI's alone is none; and
// an engine that does not know a name has no bound at all but for max_tokens.
func TestEnginesOwnNamesOfLimitsAreCapped(t *testing.T) {
	for _, d := range []*dialect{&chat, &completions, &responses} {
		for _, name := range outputNames {
			r, err := parseRequest(d, fmt.Appendf(nil, `{"model":"a",%q:100000}`, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.bound(config.MaxTokens{Cap: 10}); err != nil {
				t.Fatal(err)
			}
			body, _, err := r.address(dress{model: "b"})
			if err != nil {
				t.Fatal(err)
			}
			if got := gjson.GetBytes(body, name).Int(); got != 10 {
				t.Errorf("%s: %s is %d: %s", d.path, name, got, body)
			}
			if !gjson.GetBytes(body, d.maxKeys[0]).Exists() && (d == &responses || name != "max_completion_tokens") {
				t.Errorf("%s: %s alone: %s", d.path, name, body)
			}
			if got := r.ask(0).Tokens.Output; got != 10 || r.ask(0).Unbounded {
				t.Errorf("%s: %s: %d tokens are asked for", d.path, name, got)
			}
		}
	}
}

func TestWorkIsWhatAnyEngineWouldDo(t *testing.T) {
	for _, test := range []struct {
		name, body string
		limit      config.MaxTokens
		output     int64
		choices    int64
	}{
		{"the larger of an engine's name and OpenAI's", `"max_tokens":5,"n_predict":50`, config.MaxTokens{}, 50, 1},
		{"capped, whatever comes first", `"n_predict":50,"max_tokens":5`, config.MaxTokens{Cap: 20}, 20, 1},
		{"llama.cpp's n", `"max_tokens":5,"n_cmpl":4`, config.MaxTokens{}, 20, 1},
		{"sequences of Hugging Face", `"max_tokens":5,"num_return_sequences":3,"n":2`, config.MaxTokens{}, 15, 2},
		{"beams", `"max_tokens":5,"use_beam_search":true,"beam_width":8,"n":2`, config.MaxTokens{}, 40, 2},
		{"a least within the bound", `"max_tokens":5,"min_tokens":5,"ignore_eos":true`, config.MaxTokens{}, 5, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := parseRequest(&chat, []byte(`{"model":"a",`+test.body+`}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.bound(test.limit); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]int64{test.output, test.choices}, []int64{r.ask(0).Tokens.Output, r.choices}); diff != "" {
				t.Errorf("output and choices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWorkBeyondTheLimitsIsRefused(t *testing.T) {
	s := serve(t, replies(200, plainReply), configure(func(c *config.Config) { c.Models[0].MaxTokens = config.MaxTokens{Cap: 10} }))
	for field, param := range map[string]string{
		`"n_predict":-1`:                                 "n_predict",
		`"n_predict":5,"n_pr\u0065dict":9`:               "n_predict",
		`"max_tokens":5,"N_PREDICT":9`:                   "n_predict",
		`"min_tokens":11`:                                "min_tokens",
		`"max_tokens":3,"min_new_tokens":4`:              "min_new_tokens",
		`"min_tokens":"11"`:                              "min_tokens",
		`"n_cmpl":129`:                                   "n_cmpl",
		`"num_beams":1000`:                               "num_beams",
		`"options":{"num_predict":100}`:                  "options.num_predict",
		`"parameters":{"max_new_tokens":100}`:            "parameters.max_new_tokens",
		`"extra_body":{"MAX_TOKENS":100}`:                "extra_body.max_tokens",
		`"sampling_params":{},"sampling_params":{"n":4}`: "sampling_params.n",
	} {
		body := `{"model":"small","messages":[{"role":"user","content":"hi"}],` + field + `}`
		if got := s.post(body); got.status != 400 || gjson.Get(got.body, "error.param").Str != param || strings.Contains(got.body, "\n") || !json.Valid([]byte(got.body)) {
			t.Errorf("%s: status %d, %s", field, got.status, got.body)
		}
	}
	for _, field := range []string{`"options":{"num_ctx":4096}`, `"metadata":{"max_tokens":"9"}`, `"min_tokens":0`, `"n_predict":null`, `"ignore_eos":true`} {
		if got := s.post(`{"model":"small","messages":[{"role":"user","content":"hi"}],` + field + `}`); got.status != 200 {
			t.Errorf("%s: status %d, %s", field, got.status, got.body)
		}
	}
}

// Without a bound an engine that ignores the end of text goes on to the end of its
// context, and llama.cpp's for ever.
func TestAnswersWithoutAnEndNeedABound(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	got := s.post(`{"model":"small","messages":[{"role":"user","content":"hi"}],"ignore_eos":true}`)
	if got.status != 400 || gjson.Get(got.body, "error.param").Str != "ignore_eos" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
}
