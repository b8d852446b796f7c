package gateway

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// lines returns the log's lines about requests.
func (s *stand) lines() (lines []gjson.Result) {
	for text := range strings.Lines(s.logs.String()) {
		if line := gjson.Parse(text); line.Get("msg").Str == "request" {
			lines = append(lines, line)
		}
	}
	return lines
}

// The line of a request says who asked for what, who answered, what it took and
// cost, how long each part lasted, and why it went where it went.
func TestLogLineOfARequest(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Queue-Time", "12.5")
		sse(w, helloEvent, worldEvent, finishEvent, usageEvent, doneEvent)
	}, configure(func(c *config.Config) {
		c.Models[0].Targets[0].USDPer1M = config.Price{Input: new(1.0), Output: new(2.0)}
	}))
	r := s.request(t.Context(), streamBody)
	r.Header.Set("X-Request-Id", "my-1")
	s.do(r)
	s.settled()
	line := s.lines()[0]
	got := map[string]any{}
	for _, name := range []string{
		"request_id", "tenant", "key", "alias", "class", "deployment", "arm", "status", "outcome", "finish_reason", "attempts",
		"input_tokens", "cached_input_tokens", "output_tokens", "tokens_source", "engine_queue_s", "usd", "route",
	} {
		got[name] = line.Get(name).Value()
	}
	want := map[string]any{
		"request_id": "my-1", "tenant": "search", "key": "key-1", "alias": "small", "class": "interactive", "deployment": "cluster/real-model", "arm": "stable",
		"status": 200.0, "outcome": "ok", "finish_reason": "stop", "attempts": 1.0,
		"input_tokens": 11.0, "cached_input_tokens": 8.0, "output_tokens": 2.0, "tokens_source": "usage", "engine_queue_s": 0.0125, "usd": 15e-6, "route": "weight",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields differ (-want +got):\n%s", diff)
	}
	for _, name := range []string{"ttft_s", "e2e_s", "queue_s"} {
		if v := line.Get(name); v.Type != gjson.Number || v.Num < 0 {
			t.Errorf("%s is %s", name, v.Raw)
		}
	}
}

// How long a request waited in the engine comes from where engines say it, and is
// absent, not 0, where they do not.
func TestWaitingInTheEngine(t *testing.T) {
	usage := func(more string) string {
		return strings.Replace(plainReply, `"total_tokens":13`, `"total_tokens":13`+more, 1)
	}
	for _, test := range []struct {
		name, header, body string
		want               any
	}{
		{"a header, in milliseconds", "250", plainReply, 0.25},
		{"the usage object, in seconds", "", usage(`,"queue_time":0.75`), 0.75},
		{"nothing", "", plainReply, nil},
		{"no number", "soon", usage(`,"queue_time":"long"`), nil},
		{"what cannot be", "-1", usage(`,"queue_time":1e99`), nil},
		{"not a number", "NaN", plainReply, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if test.header != "" {
					w.Header().Set("X-Queue-Time", test.header)
				}
				replies(200, test.body)(w, r)
			})
			s.post(plainBody)
			s.settled()
			if got := s.lines()[0].Get("engine_queue_s").Value(); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// Each field that a line can have is in the table of the documents, and the table
// has none that no line can have.
func TestEveryFieldOfTheLogIsDocumented(t *testing.T) {
	docs := readDocs(t)
	_, table, _ := strings.Cut(docs, "| field of the log | |")
	table, _, found := strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("no table of fields")
	}
	inDocs := map[string]bool{}
	for row := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(first, -1) {
			inDocs[name[1]] = true
		}
	}
	inCode := map[string]bool{}
	for _, file := range []string{"log.go", "plan.go"} {
		for _, name := range regexp.MustCompile(`(?:slog\.\w+|l\.(?:text|seconds|measured|count))\("(\w+)"`).FindAllStringSubmatch(readFile(t, file), -1) {
			inCode[name[1]] = true
		}
	}
	if len(inCode) < 25 {
		t.Fatalf("%d fields found", len(inCode))
	}
	if diff := cmp.Diff(inCode, inDocs); diff != "" {
		t.Errorf("the documents (+) are not as the code (-):\n%s", diff)
	}
}
