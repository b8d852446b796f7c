package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/anthropic/anthropictest"
	"github.com/llmctl/llmctl/gateway/config"
)

// requestLine is the log line of the last request.
func (s *stand) requestLine() string {
	s.t.Helper()
	lines := strings.Split(strings.TrimSpace(s.logs.String()), "\n")
	return lines[len(lines)-1]
}

// What an upstream says that it used is believed as far as it can be: by what the
// request allows, what the target holds and what has come. Else the gateway's own count
// is on the bill, and the log says so.
func TestUsageIsHeldAgainstWhatCanBe(t *testing.T) {
	ask := func(fields string) string {
		return `{"model":"small",` + fields + `"messages":[{"role":"user","content":"hi"}],"stream":true}`
	}
	const image = `{"model":"small","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}],"stream":true}`
	const hosted = `"tools":[{"type":"web_search"}],`
	told := func(input, output int64, hidden ...int64) string {
		details := ""
		if len(hidden) > 0 {
			details = fmt.Sprintf(`,"completion_tokens_details":{"reasoning_tokens":%d,"rejected_prediction_tokens":%d}`, hidden[0], hidden[1])
		}
		return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d%s}`, input, output, details)
	}
	tests := []struct {
		name, body string
		context    config.Count
		fallback   config.MaxTokens
		usage      string
		believed   bool
	}{
		{"what came", ask(""), 0, config.MaxTokens{}, told(11, 20), true},
		{"a million for twenty events", ask(""), 0, config.MaxTokens{}, told(11, 1_000_000), false},
		{"the same with a context", ask(""), 32768, config.MaxTokens{}, told(11, 1_000_000), false},
		{"more than the context leaves", ask(""), 32768, config.MaxTokens{}, told(11, 32760), false},
		{"reasoning that is hidden and not told, in the context", ask(""), 32768, config.MaxTokens{}, told(11, 30000), true},
		{"reasoning that is hidden and not told, of the longest answers", ask(""), 0, config.MaxTokens{}, told(11, 100_000), true},
		{"reasoning that is told", ask(""), 0, config.MaxTokens{}, told(11, 50_020, 50_000, 0), true},
		{"reasoning that is told, and more than shows beside it", ask(""), 0, config.MaxTokens{}, told(11, 50_020, 1_000, 0), false},
		{"no reasoning, and more than shows", ask(""), 0, config.MaxTokens{}, told(11, 5_000, 0, 0), false},
		{"a prediction that was wrong", ask(""), 0, config.MaxTokens{}, told(11, 5_020, 0, 5_000), true},
		{"twice what the request allows", ask(`"max_tokens":500,`), 0, config.MaxTokens{}, told(11, 1000), true},
		{"more than that", ask(`"max_tokens":500,`), 0, config.MaxTokens{}, told(11, 1100), false},
		{"more than the alias's default allows", ask(""), 0, config.MaxTokens{Default: 500}, told(11, 1100), false},
		{"more than the alias's cap allows", ask(`"max_tokens":5000,`), 0, config.MaxTokens{Cap: 500}, told(11, 1100), false},
		{"as much of each of four answers", ask(`"n":4,"max_tokens":500,`), 32768, config.MaxTokens{}, told(11, 4000), true},
		{"the context of each of four answers", ask(`"n":4,`), 8192, config.MaxTokens{}, told(11, 30000), true},
		{"reasoning that is told, beyond what the request allows the answer", ask(`"max_tokens":100,`), 0, config.MaxTokens{}, told(11, 920, 900, 0), true},
		{"the same, and an answer beyond it", ask(`"max_tokens":4,`), 0, config.MaxTokens{}, told(11, 1000, 900, 0), false},
		{"more reasoning than any model writes", ask(""), 0, config.MaxTokens{}, told(11, 1_000_020, 1_000_000, 0), false},
		{"a template around the prompt", ask(""), 0, config.MaxTokens{}, told(2000, 20), true},
		{"more input than the prompt has bytes", ask(""), 0, config.MaxTokens{}, told(1_000_000, 20), false},
		{"an image in the context", image, 32768, config.MaxTokens{}, told(20_000, 20), true},
		{"an image beyond the context", image, 32768, config.MaxTokens{}, told(40_000, 20), false},
		{"what the server looked up", ask(hosted), 8192, config.MaxTokens{}, told(100_000, 5_000, 0, 0), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				sse(w, roleEvent, strings.Repeat(worldEvent, 20), finishEvent, `data: {"choices":[],"usage":`+test.usage+"}\n\n", doneEvent)
			}, configure(func(c *config.Config) {
				c.Models[0].Targets[0].Context, c.Models[0].MaxTokens = test.context, test.fallback
			}))
			if got := s.post(test.body); got.status != 200 {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			s.settled()
			wantOutput, wantSource := gjson.Get(test.usage, "completion_tokens").Int(), "usage"
			input := gjson.Get(test.usage, "prompt_tokens").Int()
			if !test.believed {
				wantSource = "estimated"
				if input <= 11 { // it is the output that cannot be
					wantOutput = 20 * int64(len(" world")) / bytesPerToken
				}
			}
			line := s.requestLine()
			if got := gjson.Get(line, "input_tokens").Int(); (got == input) != (test.believed || input <= 11) {
				t.Errorf("%d tokens of input are billed", got)
			}
			if got := gjson.Get(line, "output_tokens").Int(); got != wantOutput || gjson.Get(line, "tokens_source").Str != wantSource {
				t.Errorf("%d tokens by %s, want %d by %s", got, gjson.Get(line, "tokens_source").Str, wantOutput, wantSource)
			}
			if doubted := strings.Contains(s.logs.String(), "cannot be"); doubted == test.believed {
				t.Errorf("the log: %s", s.logs.String())
			}
		})
	}
}

// The prompts of one request, or the texts to embed, fill a context each.
func TestInputOfSeveralPromptsIsThatOfSeveralContexts(t *testing.T) {
	target := &target{context: 1000, provider: &provider{kind: openAI{}}}
	for _, test := range []struct {
		name  string
		d     *dialect
		body  string
		input int64
		want  bool
	}{
		{"one prompt", &completions, `{"model":"a","prompt":"x"}`, 1001, false},
		{"three prompts", &completions, `{"model":"a","prompt":["x","y","z"]}`, 3000, true},
		{"three texts to embed", &embeddings, `{"model":"a","input":["x","y","z"]}`, 3000, true},
		{"beyond three", &embeddings, `{"model":"a","input":["x","y","z"]}`, 3001, false},
		{"token ids", &completions, `{"model":"a","prompt":[1,2,3]}`, 1001, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, err := parseRequest(test.d, []byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			b := q.belief(target)
			if got := b.takesInput(test.input); got != test.want {
				t.Errorf("%d tokens are believed: %v", test.input, got)
			}
		})
	}
}

// A deployment that counts wrong does so with each request: the log says it once a minute.
func TestUsageThatCannotBeIsSaidNowAndThen(t *testing.T) {
	now := midnight
	s := serve(t, replies(200, `{"choices":[{"message":{"content":"12345678"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9000000,"completion_tokens":2}}`),
		func(_ *config.Config, o *Options) { o.Now = func() time.Time { return now } })
	for range 3 {
		s.post(plainBody)
	}
	now = now.Add(doubtsApart)
	s.post(plainBody)
	s.settled()
	if n := strings.Count(s.logs.String(), "cannot be"); n != 2 {
		t.Errorf("%d lines: %s", n, s.logs.String())
	}
}

// An answer of tool calls or of thoughts alone is not free where its usage is not believed.
func TestTheEstimateOfAWholeAnswerCountsAllChannels(t *testing.T) {
	for name, message := range map[string]string{
		"thoughts": `{"content":null,"reasoning_content":"12345678"}`, "a refusal": `{"refusal":"12345678"}`, "text": `{"content":"12345678"}`,
		"a call": `{"content":null,"tool_calls":[{"id":"call_1","function":{"name":"f","arguments":"1234567"}}]}`,
	} {
		if a := readCompletion([]byte(`{"choices":[{"message":` + message + `}]}`)); a.output != 2 {
			t.Errorf("%s: %d tokens, want 2", name, a.output)
		}
	}
}

// A vendor of another shape is believed no more: neither the input that it counted
// before its stream broke off, nor more output than it was told to write.
func TestCountsOfTheVendorAreHeldAgainstWhatCanBe(t *testing.T) {
	start := strings.Replace(vendorStart, `"input_tokens":`, `"input_tokens":900000`, 1)
	finish := strings.Replace(vendorFinish, `"output_tokens":`, `"output_tokens":100000`, 1)
	for _, test := range []struct {
		name          string
		events        []string
		input, output int64
	}{
		{"input of a stream that breaks off", []string{start, vendorText}, 1, 1},
		{"more output than the vendor's own default", []string{vendorStart, vendorText, finish, vendorStop}, 11, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := vendorFront(t, &anthropictest.Vendor{Answer: says(test.events...)})
			s.post(streamBody)
			s.settled()
			line := s.requestLine()
			if input, output := gjson.Get(line, "input_tokens").Int(), gjson.Get(line, "output_tokens").Int(); input != test.input || output != test.output {
				t.Errorf("%d and %d tokens, want %d and %d: %s", input, output, test.input, test.output, line)
			}
		})
	}
}

// An upstream that brings a response as a whole in its last event has shown it.
func TestOutputInTheLastEventOfAResponseIsSeen(t *testing.T) {
	text := strings.Repeat("word ", 200)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		sse(w, "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"content\":[{\"text\":\""+text+
			"\"}]}],\"usage\":{\"input_tokens\":11,\"output_tokens\":200,\"output_tokens_details\":{\"reasoning_tokens\":0}}}}\n\n")
	})
	s.at("/v1/responses", `{"model":"small","input":"hi","stream":true}`)
	s.settled()
	if line := s.requestLine(); gjson.Get(line, "output_tokens").Int() != 200 || gjson.Get(line, "tokens_source").Str != "usage" {
		t.Errorf("log %s", line)
	}
}
