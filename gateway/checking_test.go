package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// filtering gives the alias filters.
func filtering(filters ...config.Filter) func(*config.Config, *Options) {
	return configure(func(c *config.Config) {
		c.Filters = filters
		for _, f := range filters {
			c.Models[0].Filters = append(c.Models[0].Filters, f.Name)
		}
	})
}

var (
	secretWord   = config.Filter{Name: "secret", Kind: "keyword", Words: []string{"project bluebird", "xyzzy"}, On: "both", Message: "not here"}
	socialNumber = config.Filter{Name: "ssn", Kind: "regex", Pattern: `\b\d{3}-\d{2}-\d{4}\b`, On: "both"}
)

func TestRequestsThatMakeNoSenseNeverReachTheUpstream(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	for _, test := range []struct{ body, param, code string }{
		{`{"model":"small"}`, "messages", "missing_required_parameter"},
		{`{"model":"small","messages":[{"role":"tool","content":"x"}]}`, "messages[0].tool_call_id", "missing_required_parameter"},
		{`{"tools":[{"type":"function","function":{"name":"a b"}}],` + plainBody[1:], "tools[0].function.name", "invalid_value"},
		{`{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"obj"}}}],` + plainBody[1:], "tools[0].function.parameters", "invalid_function_parameters"},
		{`{"tool_choice":{"type":"function","function":{"name":"f"}},` + plainBody[1:], "tool_choice", "invalid_value"},
		{`{"response_format":{"type":"json_schema"},` + plainBody[1:], "response_format.json_schema", "missing_required_parameter"},
		{`{"temperature":"hot",` + plainBody[1:], "temperature", "invalid_type"},
	} {
		got := s.post(test.body)
		e := gjson.Get(got.body, "error")
		if got.status != 400 || e.Get("type").Str != "invalid_request_error" || e.Get("param").Str != test.param || e.Get("code").Str != test.code {
			t.Errorf("%s: status %d, %s", test.body, got.status, got.body)
		}
	}
	s.settled()
	if reserved := s.gateway.limits.Ledger().Reserved; reserved != 0 {
		t.Errorf("%d tokens were reserved", reserved)
	}
}

// Fields that are not known here, and engines' own, reach the upstream as they are.
func TestUnknownFieldsPassTheChecks(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	body := `{"guided_json":{"type":1},"chat_template_kwargs":{"x":[1]},"x_future":{"a":1},"tools":[{"type":"web_search"}],"temperature":3,` + plainBody[1:]
	if got := s.post(body); got.status != 200 {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestForbiddenTextInARequestIsRefusedAndNotQuoted(t *testing.T) {
	s := serve(t, mustNotBeCalled(t), filtering(secretWord, socialNumber))
	for _, test := range []struct{ path, body, param string }{
		{"/v1/chat/completions", `{"model":"small","messages":[{"role":"user","content":"what is Project\tBluebird?"}]}`, "messages"},
		{"/v1/chat/completions", `{"model":"small","messages":[{"role":"user","content":[{"type":"text","text":"ok"},{"type":"text","text":"XYZZY"}]}]}`, "messages"},
		{"/v1/chat/completions", `{"model":"small","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"1","content":"123-45-6789"}]}`, "messages"},
		{"/v1/completions", `{"model":"small","prompt":["ok","xyzzy"]}`, "prompt"},
		{"/v1/embeddings", `{"model":"small","input":"xyzzy"}`, "input"},
		{"/v1/responses", `{"model":"small","input":[{"role":"user","content":[{"type":"input_text","text":"xyzzy"}]}]}`, "input"},
	} {
		got := s.at(test.path, test.body)
		e := gjson.Get(got.body, "error")
		if got.status != 400 || e.Get("code").Str != "content_filter" || e.Get("param").Str != test.param {
			t.Errorf("%s: status %d, %s", test.body, got.status, got.body)
		}
		for _, secret := range []string{"xyzzy", "bluebird", "123-45"} {
			if strings.Contains(strings.ToLower(got.body), secret) {
				t.Errorf("the answer quotes what matched: %s", got.body)
			}
		}
	}
	if got := s.at("/v1/completions", `{"model":"small","prompt":[1,2,3]}`); got.status != 400 || gjson.Get(got.body, "error.param").Str != "prompt" {
		t.Errorf("token ids, which no filter can read: status %d, %s", got.status, got.body)
	}
	s.settled()
	logs := strings.ToLower(s.logs.String())
	if strings.Contains(logs, "xyzzy") || strings.Contains(logs, "bluebird") || strings.Count(logs, `"outcome":"content_filter"`) != 6 {
		t.Errorf("log %s", logs)
	}
	metrics := s.metrics()
	for _, want := range []string{`llmctl_gateway_filtered_total{alias="small",filter="secret",on="input"} 5`, `llmctl_gateway_filtered_total{alias="small",filter="ssn",on="input"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestOtherAliasesAreNotFiltered(t *testing.T) {
	s := serve(t, replies(200, strings.Replace(plainReply, "Hello", "xyzzy", 1)), filtering(secretWord))
	if got := s.post(`{"model":"large","messages":[{"role":"user","content":"xyzzy"}]}`); got.status != 200 || !strings.Contains(got.body, "xyzzy") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestForbiddenTextInAWholeAnswerIsTakenOut(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/completions":
			replies(200, `{"id":"2","object":"text_completion","choices":[{"index":0,"text":"so xyzzy","finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)(w, r)
		case "/v1/responses":
			replies(200, `{"object":"response","status":"completed","output":[{"content":[{"text":"xyzzy"}]}],"usage":`+responseUsage+`}`)(w, r)
		default:
			replies(200, strings.Replace(plainReply, "world", "xyzzy", 1))(w, r)
		}
	}, filtering(secretWord), cachingExactly)
	got := s.post(coldBody)
	choice := gjson.Get(got.body, "choices.0")
	if got.status != 200 || strings.Contains(got.body, "xyzzy") || choice.Get("finish_reason").Str != "content_filter" || choice.Get("message.content").Type != gjson.Null ||
		gjson.Get(got.body, "usage.completion_tokens").Int() != 2 || gjson.Get(got.body, "id").Str != "1" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if again := s.post(coldBody); again.header.Get("X-Llmctl-Cache") != "miss" {
		t.Error("a filtered answer was kept")
	}
	got = s.at("/v1/completions", `{"model":"small","prompt":"x"}`)
	if got.status != 200 || gjson.Get(got.body, "choices.0.text").Str != "" || gjson.Get(got.body, "choices.0.finish_reason").Str != "content_filter" {
		t.Errorf("completion: status %d: %s", got.status, got.body)
	}
	got = s.at("/v1/responses", `{"model":"small","input":"x"}`)
	if got.status != 400 || gjson.Get(got.body, "error.code").Str != "content_filter" || strings.Contains(got.body, "xyzzy") {
		t.Errorf("response: status %d: %s", got.status, got.body)
	}
	s.settled()
	if used := s.gateway.limits.Ledger().Settled; used != 13+13+3+16 {
		t.Errorf("%d tokens charged; what was generated is paid for", used)
	}
}

// contentEvent is an event with a piece of text.
func contentEvent(text string) string {
	return `data: {"id":"1","choices":[{"index":0,"delta":{"content":` + string(gjson.AppendJSONString(nil, text)) + `},"finish_reason":null}]}` + "\n\n"
}

func TestForbiddenTextInAStreamIsFoundBeforeAnyOfItIsSent(t *testing.T) {
	for _, test := range []struct {
		name   string
		filter config.Filter
		pieces []string
		want   string // the text that passes
	}{
		{"in one chunk", secretWord, []string{"I say xyzzy!"}, ""},
		{"over three chunks", secretWord, []string{"I say ", "xy", "zz", "y now"}, "I say "},
		{"a phrase over chunks", secretWord, []string{"the ", "project", " blue", "bird ", "x"}, "the "},
		{"at the very end", secretWord, []string{"say ", "xyzzy"}, "say "},
		{"a number over chunks", socialNumber, []string{"the ", "number is ", "123", "-45-", "678", "9."}, "the "},
	} {
		t.Run(test.name, func(t *testing.T) {
			gone := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				sse(w, roleEvent)
				for _, p := range test.pieces {
					sse(w, contentEvent(p))
				}
				if test.name == "at the very end" {
					sse(w, finishEvent, usageEvent, doneEvent)
					close(gone)
					return
				}
				<-r.Context().Done()
				close(gone)
			}, filtering(test.filter))
			got := s.post(streamBody)
			wait(t, gone, "the upstream to be told")
			if text := said(got.body); text != test.want {
				t.Errorf("%q passed, want %q", text, test.want)
			}
			if !strings.Contains(got.body, `"finish_reason":"content_filter"`) || !strings.HasSuffix(got.body, doneEvent) || strings.Contains(got.body, `"stop"`) {
				t.Errorf("the stream ends with %s", got.body)
			}
			s.settled()
			if n := strings.Count(s.metrics(), `on="output"} 1`); n != 1 {
				t.Errorf("%d filters counted", n)
			}
			if line := s.logs.String(); gjson.Get(line, "finish_reason").Str != "content_filter" || gjson.Get(line, "outcome").Str != "ok" {
				t.Errorf("log %s", line)
			}
		})
	}
}

// A stream that no filter matches passes byte for byte, however its text was held
// back.
func TestAllowedStreamsPassUnchanged(t *testing.T) {
	events := []string{
		roleEvent, contentEvent("a project"), contentEvent(" blue"), contentEvent("berry, xyz"), contentEvent("z and 123-"), contentEvent("45-67"),
		`data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"xy"}}]}}]}` + "\n\n",
		`data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]}}]}` + "\n\n",
		finishEvent, doneEvent,
	}
	for name, last := range map[string][]string{"with an end": events, "without [DONE]": events[:len(events)-1]} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, upstreamAnswers(last...), filtering(secretWord, socialNumber))
			if got := s.post(streamBody); got.body != strings.Join(events, "") {
				t.Errorf("got  %q\nwant %q", got.body, strings.Join(events, ""))
			}
			s.settled()
		})
	}
}

func TestForbiddenTextIsFoundInEveryPartOfAStream(t *testing.T) {
	for name, events := range map[string][]string{
		"reasoning":         {`data: {"choices":[{"index":0,"delta":{"reasoning_content":"xy"}}]}` + "\n\n", `data: {"choices":[{"index":0,"delta":{"reasoning_content":"zzy "}}]}` + "\n\n"},
		"a tool call":       {`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\"xy"}}]}}]}` + "\n\n", `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"zzy\""}}]}}]}` + "\n\n"},
		"the second choice": {`data: {"choices":[{"index":1,"delta":{"content":"xy"}}]}` + "\n\n", `data: {"choices":[{"index":0,"delta":{"content":"ab"}},{"index":1,"delta":{"content":"zzy."}}]}` + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, upstreamAnswers(append(events, finishEvent, doneEvent)...), filtering(secretWord))
			if got := s.post(streamBody); !strings.Contains(got.body, `"content_filter"`) || strings.Contains(got.body, "zzy") || strings.Contains(got.body, "xy") {
				t.Errorf("%s", got.body)
			}
		})
	}
	t.Run("a response", func(t *testing.T) {
		delta := func(text string) string { return strings.Replace(deltaEvent, "Hello", text, 1) }
		s := serve(t, upstreamAnswers(createdEvent, delta("so "), delta("xy"), delta("zzy "), completed), filtering(secretWord))
		got := s.at("/v1/responses", `{"model":"small","input":"x","stream":true}`)
		if !strings.Contains(got.body, delta("so ")) || strings.Contains(got.body, `"xy"`) || gjson.Get(got.body[strings.LastIndex(got.body, "data: ")+6:], "error.code").Str != "content_filter" {
			t.Errorf("%s", got.body)
		}
	})
}

func TestFiltersThatCanNotWorkAreRefused(t *testing.T) {
	for name, f := range map[string]config.Filter{
		"a pattern that is none":        {Name: "f", Kind: "regex", Pattern: "("},
		"a pattern for the beginning":   {Name: "f", Kind: "regex", Pattern: "^a", On: "output"},
		"a pattern that always matches": {Name: "f", Kind: "regex", Pattern: "a*"},
		"no words":                      {Name: "f", Kind: "keyword"},
		"another kind":                  {Name: "f", Kind: "magic"},
	} {
		c := testConfig("http://127.0.0.1:1")
		filtering(f)(c, nil)
		if _, err := New(c, Options{LookupEnv: testEnv}); err == nil || !strings.Contains(err.Error(), `"f"`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
