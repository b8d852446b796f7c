package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/gateway/anthropic/anthropictest"
)

const user = `"messages":[{"role":"user","content":"hi"}]`

// hi is what user becomes.
const hi = `"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]`

var tool = `{"type":"function","function":{"name":"weather","description":"tells it","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}`

var options = Options{Model: "vendor-large", MaxTokens: 512}

// requests are translations; want leaves out the model, and max_tokens where it
// is the default.
var requests = []struct{ name, body, want string }{
	{"a message", `{"model":"alias",` + user + `}`, hi},
	{"both limits, the newer one counts", `{` + user + `,"max_tokens":5,"max_completion_tokens":7}`, hi + `,"max_tokens":7`},
	{"the older limit", `{` + user + `,"max_tokens":5,"max_completion_tokens":null}`, hi + `,"max_tokens":5`},
	{"stream", `{` + user + `,"stream":true,"stream_options":{"include_usage":true}}`, hi + `,"stream":true`},
	{"no stream", `{` + user + `,"stream":false}`, hi},
	{"system and developer become the system prompt",
		`{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"},{"role":"developer","content":[{"type":"text","text":"be brief"}]}]}`,
		`"system":[{"type":"text","text":"be kind"},{"type":"text","text":"be brief"}],` + hi},
	{"neighbours of one role become one turn",
		`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},{"role":"system","content":"s"},{"role":"assistant","content":"d"}]}`,
		`"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}]`},
	{"empty texts are left out",
		`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":""},{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"b"}]}]}`,
		`"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`},
	{"text keeps its escapes", `{"messages":[{"role":"user","content":"a\n\"b\" \u00e9é漢🙂\ud83d\ude42"}]}`,
		`"messages":[{"role":"user","content":[{"type":"text","text":"a\n\"b\" éé漢🙂🙂"}]}]`},
	{"image inline", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}},{"type":"text","text":"what?"}]}]}`,
		`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"what?"}]}]`},
	{"image by address", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png?b=1&c=2"}}]}]}`,
		`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png?b=1&c=2"}}]}]`},
	{"marks of the prompt cache pass", `{"messages":[{"role":"system","content":[{"type":"text","text":"long","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"hi"}]}`,
		`"system":[{"type":"text","text":"long","cache_control":{"type":"ephemeral"}}],` + hi},
	{"tools", `{` + user + `,"tools":[` + tool + `]}`,
		hi + `,"tools":[{"name":"weather","description":"tells it","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}]`},
	{"tool without parameters", `{` + user + `,"tools":[{"type":"function","function":{"name":"now"}},{"type":"function","function":{"name":"then","parameters":{}}}]}`,
		hi + `,"tools":[{"name":"now","input_schema":{"type":"object","properties":{}}},{"name":"then","input_schema":{"type":"object","properties":{}}}]`},
	{"schema without a type", `{` + user + `,"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{ "properties":{"a":{}}}}}]}`,
		hi + `,"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{}}},"strict":true}]`},
	{"tool choice auto", `{` + user + `,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto"}`, hi + f + `,"tool_choice":{"type":"auto"}`},
	{"tool choice none", `{` + user + `,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none","parallel_tool_calls":false}`, hi + f + `,"tool_choice":{"type":"none"}`},
	{"tool choice required", `{` + user + `,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required"}`, hi + f + `,"tool_choice":{"type":"any"}`},
	{"tool choice by name, one call", `{` + user + `,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false}`,
		hi + f + `,"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true}`},
	{"one call at a time", `{` + user + `,"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":false}`, hi + f + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
	{"calls side by side", `{` + user + `,"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":true}`, hi + f},
	{"tool choice without tools", `{` + user + `,"tool_choice":"auto","parallel_tool_calls":false}`, hi},
	{"calls and their results",
		`{"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\": [1,2.50]}"}},{"id":"functions.f:1","type":"function","function":{"name":"g","arguments":""}}]},
		{"role":"tool","tool_call_id":"call_1","content":"sunny"},{"role":"user","content":"go on"},{"role":"tool","tool_call_id":"functions.f:1","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}]}`,
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"f","input":{"a":[1,2.50]}},{"type":"tool_use","id":"functions_f_1_4be0ea62e9dcd96b","name":"g","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"sunny"}]},{"type":"tool_result","tool_use_id":"functions_f_1_4be0ea62e9dcd96b","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},{"type":"text","text":"go on"}]}]`},
	{"result without content", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":""}]}`,
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]`},
	{"signed thoughts come back, unsigned ones do not",
		`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes","reasoning_content":"hm","refusal":"no","thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"thinking","thinking":"x"},{"type":"redacted_thinking","data":"ZGF0YQ"}]},{"role":"user","content":"on"}]}`,
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ"},{"type":"text","text":"yes"},{"type":"text","text":"no"}]},{"role":"user","content":[{"type":"text","text":"on"}]}]`},
	{"temperature as it is", `{` + user + `,"temperature":0.70,"top_p":0.9,"top_k":40}`, hi + `,"temperature":0.70,"top_p":0.9,"top_k":40`},
	{"temperature above the vendor's range", `{` + user + `,"temperature":1.7,"top_p":1}`, hi + `,"temperature":1`},
	{"stop string", `{` + user + `,"stop":"END"}`, hi + `,"stop_sequences":["END"]`},
	{"stop strings", `{` + user + `,"stop":["a","\n\nb"]}`, hi + `,"stop_sequences":["a","\n\nb"]`},
	{"user", `{` + user + `,"user":"u-17"}`, hi + `,"metadata":{"user_id":"u-17"}`},
	{"safety identifier", `{` + user + `,"safety_identifier":"s-1"}`, hi + `,"metadata":{"user_id":"s-1"}`},
	{"effort", `{` + user + `,"reasoning_effort":"minimal"}`, hi + `,"output_config":{"effort":"low"}`},
	{"no effort", `{` + user + `,"reasoning_effort":"none"}`, hi},
	{"thinking in the vendor's words", `{` + user + `,"thinking":{"type":"enabled","budget_tokens":2048}}`, hi + `,"thinking":{"type":"enabled","budget_tokens":2048}`},
	{"json schema", `{` + user + `,"reasoning_effort":"high","response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}}}`,
		hi + `,"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}}`},
	{"text as format", `{` + user + `,"response_format":{"type":"text"}}`, hi},
	{"hints are left out", `{` + user + `,"seed":7,"presence_penalty":1,"frequency_penalty":0.5,"store":true,"metadata":{"a":"b"},"service_tier":"auto","cache_salt":"x","priority":1,"prediction":{"type":"content"},"x_future":{"a":1}}`, hi},
	{"fields that ask for nothing", `{` + user + `,"n":1,"logprobs":false,"top_logprobs":0,"logit_bias":{},"functions":[],"function_call":null,"audio":null,"modalities":["text"],"stop":[]}`, hi},
}

// f is a tool f without parameters.
const f = `,"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}]`

func TestRequest(t *testing.T) {
	for _, tt := range requests {
		t.Run(tt.name, func(t *testing.T) {
			got, problem := Request([]byte(tt.body), options)
			if problem != nil {
				t.Fatal(problem)
			}
			want := `{"model":"vendor-large",` + tt.want + `}`
			if !strings.Contains(tt.want, `"max_tokens":`) {
				want = `{"max_tokens":512,` + want[1:]
			}
			if diff := cmp.Diff(decode(t, want), decode(t, string(got))); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if _, err := anthropictest.Check(got); err != nil {
				t.Errorf("the vendor refuses it: %v", err)
			}
		})
	}
}

func decode(t testing.TB, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// refusals name the field that the error is about, and its code.
var refusals = []struct{ name, body, param, code string }{
	{"several answers", `{` + user + `,"n":2}`, "n", "unsupported_parameter"},
	{"logprobs", `{` + user + `,"logprobs":true}`, "logprobs", "unsupported_parameter"},
	{"top logprobs", `{` + user + `,"top_logprobs":3}`, "top_logprobs", "unsupported_parameter"},
	{"bias", `{` + user + `,"logit_bias":{"50256":-100}}`, "logit_bias", "unsupported_parameter"},
	{"functions of old", `{` + user + `,"functions":[{"name":"f"}]}`, "functions", "unsupported_parameter"},
	{"sound", `{` + user + `,"modalities":["text","audio"]}`, "modalities", "unsupported_parameter"},
	{"a grammar of an engine's own", `{` + user + `,"guided_regex":"a+"}`, "guided_regex", "unsupported_parameter"},
	{"json without a schema", `{` + user + `,"response_format":{"type":"json_object"}}`, "response_format", "unsupported_parameter"},
	{"schema that is none", `{` + user + `,"response_format":{"type":"json_schema","json_schema":{"name":"n"}}}`, "response_format", ""},
	{"stop at white space", `{` + user + `,"stop":["a","\n"]}`, "stop", "unsupported_parameter"},
	{"stop that is no text", `{` + user + `,"stop":[1]}`, "stop", ""},
	{"temperature that is no number", `{` + user + `,"temperature":"hot"}`, "temperature", ""},
	{"effort without a meaning", `{` + user + `,"reasoning_effort":"some"}`, "reasoning_effort", ""},
	{"no messages", `{"messages":[]}`, "messages", ""},
	{"messages that are no list", `{"messages":"hi"}`, "messages", ""},
	{"nothing but a system prompt", `{"messages":[{"role":"system","content":"s"}]}`, "messages", ""},
	{"unknown role", `{"messages":[{"role":"user","content":"a"},{"role":"function","content":"b"}]}`, "messages[1].role", "unsupported_parameter"},
	{"content that is a number", `{"messages":[{"role":"user","content":7}]}`, "messages[0].content", ""},
	{"sound in a message", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio"}]}]}`, "messages[0].content[1].type", "unsupported_parameter"},
	{"image in a system prompt", `{"messages":[{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://example.com"}}]}]}`, "messages[0].content[0].type", "unsupported_parameter"},
	{"text that is no text", `{"messages":[{"role":"user","content":[{"type":"text","text":{}}]}]}`, "messages[0].content[0]", ""},
	{"image of an unknown kind", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AA=="}}]}]}`, "messages[0].content[0]", "unsupported_parameter"},
	{"image that is not base64", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,a\"b"}}]}]}`, "messages[0].content[0]", ""},
	{"image from a file", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]}`, "messages[0].content[0]", ""},
	{"tool of another type", `{` + user + `,"tools":[{"type":"custom","custom":{"name":"f"}}]}`, "tools[0].type", "unsupported_parameter"},
	{"tool without a name", `{` + user + `,"tools":[{"type":"function","function":{}}]}`, "tools[0].function.name", ""},
	{"unknown tool choice", `{` + user + `,"tools":[` + tool + `],"tool_choice":"often"}`, "tool_choice", ""},
	{"tool choice of several", `{` + user + `,"tools":[` + tool + `],"tool_choice":{"type":"allowed_tools"}}`, "tool_choice", "unsupported_parameter"},
	{"arguments that are no object", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"a\":"}}]}]}`, "messages[0].tool_calls[0].function.arguments", ""},
	{"arguments nested without end", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"a\":` + strings.Repeat("[", 1<<20) + `"}}]}]}`, "messages[0].tool_calls[0].function.arguments", ""},
	{"call without an id", `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}]}`, "messages[0].tool_calls[0]", ""},
	{"result without an id", `{"messages":[{"role":"tool","content":"x"}]}`, "messages[0].tool_call_id", ""},
}

func TestRequestRefuses(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			got, problem := Request([]byte(tt.body), options)
			if problem == nil {
				t.Fatalf("translated to %s", got)
			}
			code := ""
			if problem.Code != nil {
				code = *problem.Code
			}
			if problem.Param == nil || *problem.Param != tt.param || code != tt.code || problem.Type != "invalid_request_error" {
				t.Errorf("error about %v with code %q: %s", problem.Param, code, problem.Message)
			}
			if len(problem.Message) > 200 {
				t.Errorf("error of %d bytes", len(problem.Message))
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	h := http.Header{}
	SetHeaders(h, "secret")
	if h.Get("x-api-key") != "secret" || h.Get("anthropic-version") == "" || len(h) != 2 {
		t.Errorf("headers %v", h)
	}
	h = http.Header{}
	if SetHeaders(h, ""); h.Get("x-api-key") != "" || len(h) != 1 {
		t.Errorf("headers without a key %v", h)
	}
}

func TestCallIDsStayApart(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"", "a", "a.b", "a:b", "a_b", "é", "functions.f:0"} {
		got := callID(id)
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q both become %q", id, other, got)
		}
		seen[got] = id
	}
}

// FuzzRequest: whatever the client sends, the result is JSON with what the vendor
// requires, or an error that names a field.
func FuzzRequest(f *testing.F) {
	for _, tt := range requests {
		f.Add([]byte(tt.body))
	}
	for _, tt := range refusals {
		if len(tt.body) < 1<<10 {
			f.Add([]byte(tt.body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		got, problem := Request(body, options)
		if problem != nil {
			if problem.Param == nil || problem.Message == "" {
				t.Errorf("error %+v", problem)
			}
			return
		}
		var r struct {
			Model    string `json:"model"`
			Max      json.Number
			Messages []struct {
				Role    string            `json:"role"`
				Content []json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(got, &r); err != nil {
			t.Fatalf("%v in %s", err, got)
		}
		if r.Model != options.Model || len(r.Messages) == 0 {
			t.Errorf("translated to %s", got)
		}
		for i, m := range r.Messages {
			if len(m.Content) == 0 || m.Role != "user" && m.Role != "assistant" || i > 0 && m.Role == r.Messages[i-1].Role {
				t.Errorf("turn %d of %s", i, got)
			}
		}
	})
}
