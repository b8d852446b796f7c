package request

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// session is one of plain turns.
func session(turns ...workload.Turn) workload.Session {
	return workload.Session{Tenant: "tenant-1", Class: "batch", Turns: turns}
}

// oneWord makes texts that can be written down in tests.
var oneWord = Prompts{Salt: "a", Lengths: Lengths{words: []string{"w"}}}

func extra(t *testing.T, text string) Extra {
	t.Helper()
	e, err := ParseExtra(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestBody(t *testing.T) {
	plain := workload.Turn{Group: workload.NoGroup, Input: 5, Output: 7}
	shared := workload.Turn{Group: 0, Prefix: 3, Input: 5, Output: 7}
	const streamed = `"stream":true,"stream_options":{"include_usage":true},"user":"tenant-1"`
	tests := []struct {
		name    string
		turn    workload.Turn
		api     client.API
		change  func(*Writer)
		without Without
		want    string
	}{
		{"chat", plain, client.Chat, nil, Without{},
			`{"model":"m",` + streamed + `,"messages":[{"role":"user","content":"7 w w w w"}],"max_tokens":7}`},
		{"chat with a shared prefix", shared, client.Chat, nil, Without{},
			`{"model":"m",` + streamed + `,"messages":[{"role":"system","content":"8 w w"},{"role":"user","content":"7 w"}],"max_tokens":7}`},
		{"completions", plain, client.Completions, nil, Without{},
			`{"model":"m",` + streamed + `,"prompt":"7 w w w w","max_tokens":7}`},
		{"completions with a shared prefix", shared, client.Completions, nil, Without{},
			`{"model":"m",` + streamed + `,"prompt":"8 w w 7 w","max_tokens":7}`},
		{"responses", shared, client.Responses, nil, Without{},
			`{"model":"m","stream":true,"user":"tenant-1","input":[{"role":"system","content":"8 w w"},{"role":"user","content":"7 w"}],"max_output_tokens":7}`},
		{"embeddings", plain, client.Embeddings, func(w *Writer) { w.Exact = true }, Without{},
			`{"model":"m","user":"tenant-1","input":"7 w w w w"}`},
		{"usage of each event", plain, client.Completions, func(w *Writer) { w.Continuous = true }, Without{},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"user":"tenant-1","prompt":"7 w w w w","max_tokens":7}`},
		{"usage refused", plain, client.Completions, func(w *Writer) { w.Continuous = true }, Without{Usage: true},
			`{"model":"m","stream":true,"user":"tenant-1","prompt":"7 w w w w","max_tokens":7}`},
		{"exact length", plain, client.Completions, func(w *Writer) { w.Exact = true }, Without{Usage: true},
			`{"model":"m","stream":true,"ignore_eos":true,"min_tokens":7,"user":"tenant-1","prompt":"7 w w w w","max_tokens":7}`},
		{"exact length refused", plain, client.Completions, func(w *Writer) { w.Exact = true }, Without{Usage: true, Exact: true},
			`{"model":"m","stream":true,"user":"tenant-1","prompt":"7 w w w w","max_tokens":7}`},
		{"priority and cache salt", plain, client.Completions, func(w *Writer) {
			w.Priority, w.CacheSalt = map[string]int{"batch": 0}, true
		}, Without{Usage: true},
			`{"model":"m","stream":true,"user":"tenant-1","priority":0,"cache_salt":"a","prompt":"7 w w w w","max_tokens":7}`},
		{"priority of another class", plain, client.Completions, func(w *Writer) { w.Priority = map[string]int{"interactive": 3} }, Without{Usage: true},
			`{"model":"m","stream":true,"user":"tenant-1","prompt":"7 w w w w","max_tokens":7}`},
		{"extra", plain, client.Completions, func(w *Writer) { w.Extra = extra(t, `{"temperature": 0.7, "stop": ["x"]}`) }, Without{Usage: true},
			`{"model":"m","stream":true,"user":"tenant-1","prompt":"7 w w w w","max_tokens":7,"temperature":0.7,"stop":["x"]}`},
		{"text of a trace", workload.Turn{Group: workload.NoGroup, Text: "say \"<hi>\"\n", Output: 7}, client.Completions, nil, Without{Usage: true},
			`{"model":"m","stream":true,"user":"tenant-1","prompt":"say \"\u003chi\u003e\"\n","max_tokens":7}`},
		{"recorded body", workload.Turn{Body: []byte(`{"model":"theirs", "prompt":"x","top_p":0.5,"stream":false}`), Output: 7}, client.Completions,
			func(w *Writer) { w.Exact, w.Extra = true, extra(t, `{"top_p":1}`) }, Without{},
			`{"model":"theirs", "prompt":"x","top_p":1,"stream":true,"stream_options":{"include_usage":true}}`},
		{"recorded body, model replaced", workload.Turn{Body: []byte(`{"model":"theirs","prompt":"x","stream_options":{}}`)}, client.Completions,
			func(w *Writer) { w.ReplaceModel = true }, Without{Usage: true},
			`{"model":"m","prompt":"x","stream":true}`},
		{"recorded body without a model", workload.Turn{Body: []byte(`{"input":"x"}`)}, client.Embeddings, nil, Without{},
			`{"input":"x","model":"m"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &Writer{Model: "m", API: tt.api, Prompts: oneWord}
			if tt.change != nil {
				tt.change(w)
			}
			if diff := cmp.Diff(tt.want, string(w.Write(session(tt.turn), 0, nil, tt.without))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLaterTurns: a turn carries what was said before, the real answers and
// what the tools that they called would say.
func TestLaterTurns(t *testing.T) {
	turn := workload.Turn{Group: workload.NoGroup, Input: 2, Output: 7}
	s := session(turn, turn, turn)
	history := []client.Answer{
		{Text: " hello"},
		{ToolCalls: json.RawMessage(`[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]`)},
	}
	tests := []struct {
		name    string
		api     client.API
		turn    int
		history []client.Answer
		want    string
	}{
		{"chat, second turn", client.Chat, 1, history[:1],
			`{"model":"m","stream":true,"user":"tenant-1","messages":[{"role":"user","content":"7 w"},{"role":"assistant","content":" hello"},{"role":"user","content":"3 w"}],"max_tokens":7}`},
		{"chat, after a call", client.Chat, 2, history,
			`{"model":"m","stream":true,"user":"tenant-1","messages":[{"role":"user","content":"7 w"},{"role":"assistant","content":" hello"},{"role":"user","content":"3 w"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","content":"{\"status\":\"ok\",\"result\":\"42\"}","tool_call_id":"c1"},{"role":"user","content":"9 w"}],"max_tokens":7}`},
		{"responses, after a call", client.Responses, 2, history,
			`{"model":"m","stream":true,"user":"tenant-1","input":[{"role":"user","content":"7 w"},{"role":"assistant","content":" hello"},{"role":"user","content":"3 w"},` +
				`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},` +
				`{"type":"function_call_output","call_id":"c1","output":"{\"status\":\"ok\",\"result\":\"42\"}"},{"role":"user","content":"9 w"}],"max_output_tokens":7}`},
		{"completions", client.Completions, 1, history[:1],
			`{"model":"m","stream":true,"user":"tenant-1","prompt":"7 w hello 3 w","max_tokens":7}`},
		{"calls that can not be read", client.Chat, 1, []client.Answer{{Text: "x", ToolCalls: json.RawMessage(`{"a":`)}},
			`{"model":"m","stream":true,"user":"tenant-1","messages":[{"role":"user","content":"7 w"},{"role":"assistant","content":"x"},{"role":"user","content":"3 w"}],"max_tokens":7}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &Writer{Model: "m", API: tt.api, Prompts: oneWord}
			if diff := cmp.Diff(tt.want, string(w.Write(s, tt.turn, tt.history, Without{Usage: true}))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestToolsAndSchema checks what is asked in the words of each dialect.
func TestToolsAndSchema(t *testing.T) {
	turn := workload.Turn{Group: workload.NoGroup, Input: 2, Output: 7, Tools: true, Schema: true}
	var chat struct {
		Tools []struct {
			Type     string
			Function struct {
				Name       string
				Parameters struct{ Type string }
			}
		}
		ToolChoice     string `json:"tool_choice"`
		ResponseFormat struct {
			Type   string
			Schema struct {
				Name   string
				Strict bool
				Schema map[string]any
			} `json:"json_schema"`
		} `json:"response_format"`
		MinTokens int `json:"min_tokens"`
	}
	w := &Writer{Model: "m", Exact: true, Prompts: oneWord}
	if err := json.Unmarshal(w.Write(session(turn), 0, nil, Without{}), &chat); err != nil {
		t.Fatal(err)
	}
	if len(chat.Tools) != 3 || chat.Tools[0].Type != "function" || chat.Tools[0].Function.Name == "" || chat.Tools[0].Function.Parameters.Type != "object" || chat.ToolChoice != "auto" {
		t.Errorf("tools of a chat: %+v", chat)
	}
	if f := chat.ResponseFormat; f.Type != "json_schema" || f.Schema.Name == "" || !f.Schema.Strict || f.Schema.Schema["type"] != "object" {
		t.Errorf("schema of a chat: %+v", f)
	}
	if chat.MinTokens != 0 || w.Exactly(&turn) {
		t.Error("the length of an answer by a grammar is the grammar's")
	}

	var responses struct {
		Tools []struct {
			Type, Name string
			Parameters struct{ Type string }
		}
		ToolChoice string `json:"tool_choice"`
		Text       struct {
			Format struct {
				Type, Name string
				Schema     map[string]any
			}
		}
	}
	w = &Writer{Model: "m", API: client.Responses, Prompts: oneWord}
	w.ToolChoice = ToolsRequired
	if err := json.Unmarshal(w.Write(session(turn), 0, nil, Without{}), &responses); err != nil {
		t.Fatal(err)
	}
	if len(responses.Tools) != 3 || responses.Tools[0].Type != "function" || responses.Tools[0].Name == "" || responses.ToolChoice != "required" {
		t.Errorf("tools of responses: %+v", responses)
	}
	if f := responses.Text.Format; f.Type != "json_schema" || f.Name == "" || f.Schema["type"] != "object" {
		t.Errorf("schema of responses: %+v", f)
	}
}

func TestParseExtraRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no object":      {`[1]`, `extra body "[1]", expected a JSON object such as {"temperature":0.7}`},
		"not JSON":       {`temperature=1`, `extra body "temperature=1", expected a JSON object such as {"temperature":0.7}`},
		"does not end":   {`{"a":1`, `extra body "{\"a\":1": the object does not end`},
		"two objects":    {`{"a":1}{}`, `extra body "{\"a\":1}{}": something follows the object`},
		"contradiction":  {`{"stream":false}`, `extra body sets "stream", which requests have already; use nothing: answers are always streamed`},
		"said elsewhere": {`{"max_tokens":3}`, `extra body sets "max_tokens", which requests have already; use --osl`},
		"twice":          {`{"a":1,"a":2}`, `extra body sets "a" twice`},
		"bad value":      {`{"a":x}`, `extra body, value of "a": invalid character 'x' looking for beginning of value`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseExtra(tt.text); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func FuzzParseExtra(f *testing.F) {
	for _, text := range []string{`{}`, `{"temperature":0.7,"a":{"b":[1]}}`, `{"a":"\u2028"}`, `{"\ud800":1}`, `[`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExtra(text)
		if err != nil {
			return
		}
		if body := e.appendTo([]byte(`{"model":"m"}`)); !json.Valid(body) {
			t.Fatalf("%q makes %q", text, body)
		}
	})
}
