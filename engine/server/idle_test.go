package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
)

// A server that does nothing takes what is larger than its queue: to come again later
// would not make it smaller.
func TestAnIdleServerTakesACallLargerThanItsQueue(t *testing.T) {
	two := sched.Config{MaxNumSeqs: 2, MaxNumBatchedTokens: 64, MaxModelLen: 256}
	short := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"the old moon",`, n), ",") }
	long := "[" + strings.TrimSuffix(strings.Repeat("350,", 200), ",") + "]"
	for _, c := range []struct {
		name    string
		config  engine.Config
		body    string
		answers int
	}{
		{"ten prompts where five have a place", engine.Config{MaxQueue: 3}, `"prompt":[` + short(10) + `]`, 10},
		{"ten prompts of more tokens than may wait", engine.Config{MaxQueueTokens: 500}, `"prompt":[` + strings.TrimSuffix(strings.Repeat(long+",", 10), ",") + `]`, 10},
		{"one prompt of more tokens than may wait", engine.Config{MaxQueueTokens: 100}, `"prompt":` + long, 1},
		{"more answers than have a place", engine.Config{MaxQueue: 3}, `"prompt":"the old moon","n":10`, 10},
		{"best of more than have a place", engine.Config{MaxQueue: 3}, `"prompt":"the old moon","n":10,"best_of":10`, 10},
		{"answers whose prompts have more tokens than may wait", engine.Config{MaxQueueTokens: 500}, `"prompt":` + long + `,"n":10`, 10},
		{"prompts that wait for each other", engine.Config{MaxQueueDelay: time.Nanosecond}, `"prompt":[` + short(10) + `]`, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Sched = two
			f := serve(t, c.config, Options{})
			for range 2 { // the pace of the first call refuses the second no more than itself
				status, _, body := f.post("/v1/completions", `{`+c.body+`,"max_tokens":2}`)
				if status != http.StatusOK {
					t.Fatalf("%d: %s", status, body)
				}
				if n := len(decode[openai.Completion](t, body).Choices); n != c.answers {
					t.Errorf("%d answers, want %d", n, c.answers)
				}
			}
		})
	}
}

// A prompt of one token has its place in the lists of echo and of prompt_logprobs,
// where its entry is null.
func TestPromptOfOneTokenKeepsItsPlaceInLogprobs(t *testing.T) {
	f := serve(t, engine.Config{}, Options{})
	type lists struct {
		Offsets  []int                `json:"text_offset"`
		Logprobs []*float32           `json:"token_logprobs"`
		Tokens   []string             `json:"tokens"`
		Top      []map[string]float32 `json:"top_logprobs"`
	}
	type answer struct {
		Choices []struct {
			Text     string
			Logprobs *lists
			Prompt   []any `json:"prompt_logprobs"`
		}
	}
	for _, c := range []struct {
		name, rest string
		tokens     int
	}{
		{"with an answer", `"max_tokens":1`, 2},
		{"the prompt alone", `"max_tokens":0`, 1},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %v", c.name, stream), func(t *testing.T) {
				_, _, body := f.post("/v1/completions", fmt.Sprintf(`{"prompt":[350],"echo":true,"logprobs":1,"ignore_eos":true,%s,"stream":%v}`, c.rest, stream))
				if stream {
					if s := collect(t, body); len(s.tokens[0]) != c.tokens || strings.Join(s.tokens[0], "") != s.text[0] {
						t.Errorf("tokens %q of the text %q", s.tokens[0], s.text[0])
					}
					return
				}
				got := decode[answer](t, body).Choices[0]
				l := got.Logprobs
				if len(l.Tokens) != c.tokens || strings.Join(l.Tokens, "") != got.Text || len(l.Logprobs) != c.tokens || l.Logprobs[0] != nil || len(l.Top) != c.tokens {
					t.Fatalf("%s", body)
				}
				if diff := cmp.Diff([]int{0, len(l.Tokens[0])}[:c.tokens], l.Offsets); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
	for _, path := range []string{`"prompt":[350]`, `"prompt":[350],"n":2`} {
		_, _, body := f.post("/v1/completions", `{`+path+`,"prompt_logprobs":0,"max_tokens":1}`)
		for _, c := range decode[answer](t, body).Choices {
			if diff := cmp.Diff([]any{nil}, c.Prompt); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
		}
	}
}
