package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const created = 1_790_000_000

// answers are messages and what their choice and usage become.
var answers = []struct{ name, message, choice, usage string }{
	{"text", `"content":[{"type":"text","text":"Hello \u00e9 \"you\"\n"}],"stop_reason":"end_turn","usage":{"input_tokens":11,"output_tokens":4}`,
		`{"role":"assistant","content":"Hello é \"you\"\n","refusal":null}|stop`, `11 0 4 0`},
	{"texts are joined", `"content":[{"type":"text","text":"a"},{"type":"text","text":"b","citations":null}],"stop_reason":"stop_sequence","stop_sequence":"END","usage":{"input_tokens":1,"output_tokens":2}`,
		`{"role":"assistant","content":"ab","refusal":null}|stop`, `1 0 2 0`},
	{"two tools", `"content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": "x\"y"}},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}`,
		`{"role":"assistant","content":"let me see","refusal":null,"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"f","arguments":"{\"a\": \"x\\\"y\"}"}},{"id":"toolu_2","type":"function","function":{"name":"g","arguments":"{}"}}]}|tool_calls`, `1 0 2 0`},
	{"a tool and no text", `"content":[{"type":"tool_use","id":"t","name":"f"}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}`,
		`{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{}"}}]}|tool_calls`, `1 0 2 0`},
	{"thoughts", `"content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"ZA"},{"type":"text","text":"yes"}],"stop_reason":"max_tokens","usage":{"input_tokens":1,"output_tokens":20,"output_tokens_details":{"thinking_tokens":15}}`,
		`{"role":"assistant","content":"yes","refusal":null,"reasoning_content":"hm","thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"ZA"}]}|length`, `1 0 20 15`},
	{"cache", `"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_read_input_tokens":2000,"cache_creation_input_tokens":300,"output_tokens":2}`,
		`{"role":"assistant","content":"a","refusal":null}|stop`, `2310 2000 2 0`},
	{"no cache", `"content":[{"type":"text","text":"a"}],"stop_reason":"model_context_window_exceeded","usage":{"input_tokens":10,"cache_read_input_tokens":null,"cache_creation":{"ephemeral_5m_input_tokens":0},"output_tokens":2,"service_tier":"standard"}`,
		`{"role":"assistant","content":"a","refusal":null}|length`, `10 0 2 0`},
	{"refused", `"content":[],"stop_reason":"refusal","usage":{"input_tokens":1,"output_tokens":0}`, `{"role":"assistant","content":null,"refusal":null}|content_filter`, `1 0 0 0`},
	{"empty text", `"content":[{"type":"text","text":""}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}`, `{"role":"assistant","content":"","refusal":null}|stop`, `1 0 1 0`},
	{"blocks of tools on the vendor's side", `"content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"a"}],"stop_reason":"pause_turn","usage":{"input_tokens":1,"output_tokens":1}`, `{"role":"assistant","content":"a","refusal":null}|stop`, `1 0 1 0`},
	{"no usage", `"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"`, `{"role":"assistant","content":"a","refusal":null}|stop`, ``},
	{"usage that cannot be", `"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":-4,"output_tokens":2}`, `{"role":"assistant","content":"a","refusal":null}|stop`, ``},
	{"usage beyond all sums", `"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,"output_tokens":2}`, `{"role":"assistant","content":"a","refusal":null}|stop`, ``},
}

func message(rest string) string {
	return `{"id":"msg_01","type":"message","role":"assistant","model":"vendor-large-2",` + rest + `}`
}

func TestAnswer(t *testing.T) {
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Answer([]byte(message(tt.message)), created)
			if err != nil {
				t.Fatal(err)
			}
			choice, reason, _ := strings.Cut(tt.choice, "|")
			want := `{"id":"msg_01","object":"chat.completion","created":1790000000,"model":"vendor-large-2","choices":[{"index":0,"message":` + choice +
				`,"logprobs":null,"finish_reason":"` + reason + `"}],"usage":` + usageOf(t, tt.usage) + `}`
			if diff := cmp.Diff(decode(t, want), decode(t, string(got))); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// usageOf is OpenAI's usage object for "prompt cached completion reasoning".
func usageOf(t testing.TB, counts string) string {
	t.Helper()
	if counts == "" {
		return "null"
	}
	var n []json.Number
	if err := json.Unmarshal([]byte("["+strings.ReplaceAll(counts, " ", ",")+"]"), &n); err != nil || len(n) != 4 {
		t.Fatalf("usage %q: %v", counts, err)
	}
	prompt, _ := n[0].Int64()
	completion, _ := n[2].Int64()
	text, err := json.Marshal(map[string]any{
		"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
		"prompt_tokens_details":     map[string]any{"cached_tokens": n[1]},
		"completion_tokens_details": map[string]any{"reasoning_tokens": n[3]},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnswerThatIsNone(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `"a"`, "null", `{"type":"error","error":{"type":"overloaded_error"}}`, `{"choices":[]}`, `{"a":` + strings.Repeat("[", 1<<20)} {
		if got, err := Answer([]byte(text), created); err == nil {
			t.Errorf("Answer(%.40q) = %s", text, got)
		}
	}
}

func TestFailure(t *testing.T) {
	for _, tt := range []struct {
		name       string
		status     int
		body       string
		want       int
		kind, code string
	}{
		{"invalid request", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"m"}}`, 400, "invalid_request_error", ""},
		{"prompt too long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, 400, "invalid_request_error", "context_length_exceeded"},
		{"key refused", 401, `{"type":"error","error":{"type":"authentication_error","message":"m"}}`, 401, "authentication_error", "invalid_api_key"},
		{"unpaid bill is no fault of the client's", 402, `{"type":"error","error":{"type":"billing_error","message":"m"}}`, 403, "insufficient_quota", "insufficient_quota"},
		{"permission", 403, `{"type":"error","error":{"type":"permission_error","message":"m"}}`, 403, "permission_error", ""},
		{"model", 404, `{"type":"error","error":{"type":"not_found_error","message":"m"}}`, 404, "invalid_request_error", "model_not_found"},
		{"too large", 413, `{"type":"error","error":{"type":"request_too_large","message":"m"}}`, 413, "invalid_request_error", "request_too_large"},
		{"rate", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"m"}}`, 429, "rate_limit_error", "rate_limit_exceeded"},
		{"fault of the vendor's", 500, `{"type":"error","error":{"type":"api_error","message":"m"}}`, 500, "server_error", ""},
		{"time-out", 504, `{"type":"error","error":{"type":"timeout_error","message":"m"}}`, 504, "timeout_error", "upstream_timeout"},
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, 503, "server_error", "overloaded"},
		{"overloaded without words", 529, ``, 503, "server_error", "overloaded"},
		{"type that is new", 418, `{"type":"error","error":{"type":"teapot_error","message":"m"}}`, 418, "upstream_error", ""},
		{"page of a proxy", 502, `<html>Bad Gateway</html>`, 502, "upstream_error", ""},
		{"inside a stream", 0, `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, 0, "server_error", "overloaded"},
		{"inside a stream, type that is new", 0, `{"type":"error","error":{"type":"teapot_error","message":"m"}}`, 0, "upstream_error", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, problem := statusOf(tt.status), Failure(tt.status, []byte(tt.body))
			code := ""
			if problem.Code != nil {
				code = *problem.Code
			}
			if status != tt.want || problem.Type != tt.kind || code != tt.code || problem.Message == "" {
				t.Errorf("Failure = %d %+v (code %q), want %d %s %q", status, problem, code, tt.want, tt.kind, tt.code)
			}
		})
	}
}

func FuzzAnswer(f *testing.F) {
	for _, tt := range answers {
		f.Add([]byte(message(tt.message)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Answer(data, created)
		if err == nil && !json.Valid(got) {
			t.Errorf("%s becomes %s", data, got)
		}
		if problem := Failure(400, data); problem.Message == "" {
			t.Errorf("%s as an error: %+v", data, problem)
		}
	})
}
