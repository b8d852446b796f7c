package infer_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/infer"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestLog(t *testing.T) {
	tests := []struct {
		name, line string
		want       infer.Request
	}{
		{"gateway", `{"time":"2026-01-02T03:04:07Z","level":"INFO","msg":"request","request_id":"r","tenant":"search","alias":"chat","status":200,"outcome":"ok","e2e_s":1.5,"deployment":"d","input_tokens":100,"output_tokens":20,"tokens_source":"usage","cached_tokens":64}`,
			infer.Request{At: at("2026-01-02T03:04:05.5Z"), Took: 1500 * time.Millisecond, Input: 100, Output: 20, Cached: 64, Tenant: "search", Model: "chat"}},
		{"a record of a run", `{"id":"1","tenant":"tenant-3","class":"batch","session":"7","scheduled_s":2.5,"input_tokens":10,"cached_tokens":0,"output_tokens":4,"outcome":"ok"}`,
			infer.Request{At: time.Unix(2, 5e8), Input: 10, Output: 4, Tenant: "tenant-3", Class: "batch", Session: "7"}},
		{"chat completion", `{"id":"c","object":"chat.completion","created":1700000000,"model":"gpt-4o","usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":8}}}`,
			infer.Request{At: time.Unix(1700000000, 0), Input: 19, Output: 10, Cached: 8, Model: "gpt-4o"}},
		{"response of the Responses API", `{"created_at":1700000000,"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":0},"output_tokens":87}}`,
			infer.Request{At: time.Unix(1700000000, 0), Input: 36, Output: 87}},
		{"batch output", `{"id":"b","custom_id":"1","response":{"status_code":200,"body":{"model":"m","usage":{"prompt_tokens":3,"completion_tokens":5}}},"error":null}`,
			infer.Request{Input: 3, Output: 5, Cached: -1, Model: "m"}},
		{"Anthropic", `{"model":"c","usage":{"input_tokens":5,"cache_read_input_tokens":90,"cache_creation_input_tokens":5,"output_tokens":7}}`,
			infer.Request{Input: 100, Output: 7, Cached: 90, Model: "c"}},
		{"Gemini", `{"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":6}}`,
			infer.Request{Input: 4, Output: 6, Cached: -1}},
		{"OpenTelemetry", `{"@timestamp":"2026-01-02T03:04:05Z","attributes":{"gen_ai.request.model":"m","gen_ai.usage.input_tokens":4,"gen_ai.usage.output_tokens":"6"}}`,
			infer.Request{At: at("2026-01-02T03:04:05Z"), Input: 4, Output: 6, Cached: -1, Model: "m"}},
		{"further out counts", `{"body":{"model":"inner","prompt_tokens":1},"model":"outer","prompt_tokens":2,"durationMs":250,"priority":1}`,
			infer.Request{Took: 250 * time.Millisecond, Input: 2, Cached: -1, Model: "outer", Class: "1"}},
		{"turned away", `{"time":"2026-01-02T03:04:05Z","status":429,"tenant":"t"}`,
			infer.Request{At: at("2026-01-02T03:04:05Z"), Cached: -1, Tenant: "t"}},
		{"a record of an open loop", `{"session":"7","scheduled_s":2.5,"sent_s":2.6,"closed_s":3.75,"input_tokens":10,"output_tokens":4,"outcome":"ok","http_status":200}`,
			infer.Request{At: time.Unix(2, 5e8), Took: 1250 * time.Millisecond, Input: 10, Output: 4, Cached: -1, Session: "7"}},
		{"a record of a closed loop", `{"session":"7","sent_s":2.5,"closed_s":3.5,"input_tokens":10,"output_tokens":4,"outcome":"ok","http_status":200}`,
			infer.Request{At: time.Unix(2, 5e8), Closed: true, Took: time.Second, Input: 10, Output: 4, Cached: -1, Session: "7"}},
		{"times as text", `{"duration_ms":"250","prompt_tokens":"3"}`, infer.Request{Took: 250 * time.Millisecond, Input: 3, Cached: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := infer.NewLog(strings.NewReader(tt.line), "log")
			got := slices.Collect(log.All())
			if err := log.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]infer.Request{tt.want}, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// What did not end well is load and has no lengths, whatever it says; what was
// refused for a fault of its own is nothing.
func TestFailedRequests(t *testing.T) {
	for fields, want := range map[string]string{
		`"status":200`:                         "counts",
		`"status":"200 OK"`:                    "counts",
		`"status":"completed"`:                 "counts",
		`"outcome":"ok","error":null`:          "counts",
		`"error":""`:                           "counts",
		`"error":{}`:                           "counts",
		`"status":429`:                         "load",
		`"status":"503"`:                       "load",
		`"status":"500 Internal Server Error"`: "load",
		`"status":499`:                         "load",
		`"status":408`:                         "load",
		`"status":"failed"`:                    "load",
		`"error":{"message":"out of memory"}`:  "load",
		`"error":"out of memory"`:              "load",
		`"error":true`:                         "load",
		`"response":{"status_code":502}`:       "load",
		`"response":{"error":{"code":1}}`:      "load",
		`"http_status":200,"outcome":"failed"`: "load",
		`"outcome":"cancelled"`:                "load",
		`"outcome":"client_gone"`:              "load",
		`"outcome":"cut"`:                      "load",
		`"status":400`:                         "nothing",
		`"status":"401"`:                       "nothing",
		`"http_status":422,"outcome":"failed"`: "nothing",
	} {
		log := infer.NewLog(strings.NewReader(`{"prompt_tokens":1}`+"\n"+`{"prompt_tokens":900,"completion_tokens":80,"cached_tokens":7,`+fields+"}"), "log")
		requests := slices.Collect(log.All())
		got := "nothing"
		if len(requests) == 2 {
			got = map[bool]string{true: "counts", false: "load"}[requests[1].Input == 900]
			if q := requests[1]; got == "load" && (q.Input != 0 || q.Output != 0 || q.Cached != -1) {
				t.Errorf("%s: %+v", fields, q)
			}
		}
		if got != want {
			t.Errorf("%s %s, want that it %s", fields, got, want)
		}
	}
}

func TestLogSkips(t *testing.T) {
	good := strings.Repeat(`{"prompt_tokens":1}`+"\n", 200)
	for line, want := range map[string]string{
		`{"prompt_tokens":-1}`:                            "1 of 201 rows broken and skipped at line 201, column 1: a count of tokens that is none",
		`{"prompt_tokens":"many"}`:                        "a count of tokens that is none",
		`{"prompt_tokens":1e99}`:                          "a count of tokens that is none",
		`{"prompt_tokens":{"a":1}}`:                       "a count of tokens that is none",
		`{"prompt_tokens":1,"time":true}`:                 "a time that is none",
		`{"prompt_tokens":1`:                              "line 201, column 18: no JSON",
		`{"msg":"request","status":401,"input_tokens":3}`: "left out at line 201, column 1: refused for a fault of its own",
		`{"level":"INFO","msg":"ready"}`:                  "1 of 201 rows left out at line 201, column 1: no count of tokens",
		`{"status":401}`:                                  "left out",
	} {
		log := infer.NewLog(strings.NewReader(good+line+"\n"), "log")
		if n := len(slices.Collect(log.All())); n != 200 || log.Err() != nil {
			t.Errorf("%s: %d requests, %v", line, n, log.Err())
		}
		if got := strings.Join(log.Report().Skipped(), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: skipped %q, want %q", line, got, want)
		}
	}
	log := infer.NewLog(strings.NewReader(`{"level":"INFO"}`), "log")
	for range log.All() {
		t.Error("a request of nothing")
	}
	if err := log.Err(); err == nil || !strings.Contains(err.Error(), "none of 1 rows") {
		t.Error(err)
	}
	if _, err := infer.FromRequests(log.All(), infer.Options{}); err == nil {
		t.Error("a scenario of nothing")
	}
}

func TestSourceIsTold(t *testing.T) {
	for text, want := range map[string]string{
		"# HELP a b\n": "page",
		"vllm:prompt_tokens_total{model_name=\"m\"} 3\n":               "page",
		"go_goroutines 7\r\n":                                          "page",
		`{"msg":"listening"}` + "\n" + `{"usage":{"prompt_tokens":1}}`: "log",
		`{"msg":"request","status":401}` + "\n":                        "log",
		`{"messages":[],"usage":{"prompt_tokens":1,"x":"cut`:           "log",
		`{"timestamp":1,"input_length":3,"output_length":4}` + "\n":    "",
		"TIMESTAMP,ContextTokens,GeneratedTokens\n":                    "",
		`[{"conversations":[]}]`:                                       "",
		`{"prompt_tokens":1,"status":500}` + "\n":                      "log",
		`{"messages":[]}`:                                              "",
		"":                                                             "",
	} {
		got := ""
		if infer.IsPage([]byte(text)) {
			got = "page"
		}
		if infer.IsLog([]byte(text)) {
			got += "log"
		}
		if got != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-02T03:04:07Z","msg":"request","tenant":"search","alias":"chat","status":200,"e2e_s":1.5,"input_tokens":100,"output_tokens":20,"cached_tokens":64}`))
	f.Add([]byte(`{"created":1700000000,"usage":{"prompt_tokens":19,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":8}}}` + "\n{"))
	f.Add([]byte(`{"ts":9e18,"session":"s","model":" ","prompt_tokens":1}` + "\n" + `{"ts":"2026-01-02 03:04:05","session":"s","prompt_tokens":1,"priority":"\n"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, sessions := range []bool{false, true} {
			log := infer.NewLog(strings.NewReader(string(data)), "log")
			r, err := infer.FromRequests(log.All(), infer.Options{Sessions: sessions})
			if err != nil {
				continue
			}
			w := r.Scenario.Workload
			if err := w.Validate(); err != nil {
				t.Fatalf("%v: %+v", err, w)
			}
			if math.IsNaN(w.Input.Mean) || len(r.Basis) == 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}
