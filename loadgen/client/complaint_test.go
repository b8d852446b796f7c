package client

import "testing"

// TestComplaint: what a page says is told from what it repeats, as FastAPI with
// pydantic v2, vLLM, SGLang and OpenAI write it.
func TestComplaint(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"FastAPI, the member", `{"detail":[{"type":"extra_forbidden","loc":["body","ignore_eos"],"msg":"Extra inputs are not permitted","input":true}]}`, "body\nignore_eos\nExtra inputs are not permitted"},
		{"FastAPI, another member", `{"detail":[{"type":"missing","loc":["body","prompt"],"msg":"Field required","input":{"model":"m","stream_options":{"include_usage":true},"ignore_eos":true}}]}`, "body\nprompt\nField required"},
		{"FastAPI, a text", `{"detail":"no such model"}`, "no such model"},
		{"FastAPI with ctx", `{"detail":[{"loc":["body",0],"msg":"Value error","ctx":{"error":"ignore_eos"},"url":"x"}]}`, "body\nValue error"},
		{"FastAPI, cut off", `{"detail":[{"type":"missing","loc":["body","prompt"],"msg":"Field required","input":{"stream_options":{"incl`, "body\nprompt\nField required"},
		{"OpenAI", `{"error":{"message":"Unrecognized request argument supplied: min_tokens","type":"invalid_request_error","param":"min_tokens","code":null}}`, "Unrecognized request argument supplied: min_tokens\nmin_tokens"},
		{"of the top level", `{"object":"error","message":"bad stream_options","type":"BadRequestError","param":null,"code":400}`, "bad stream_options"},
		{"error is a text", "{\"error\":\"unknown field `ignore_eos`\",\"error_type\":\"Input\",\"request\":\"min_tokens\"}", "unknown field `ignore_eos`"},
		{"a list in Python", `{"error":{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'ignore_eos'), 'msg': 'Extra', 'input': True}, {'type': 'missing', 'loc': ('body', 'x'), 'msg': 'it\\'s', 'input': {'a': [1, 'min_tokens\\']'], 'stream_options': {}}}]"}}`,
			`[{'type': 'extra_forbidden', 'loc': ('body', 'ignore_eos'), 'msg': 'Extra', }, {'type': 'missing', 'loc': ('body', 'x'), 'msg': 'it\'s', }]`},
		{"pydantic's own words", `1 validation error for R
prompt
  Field required [type=missing, input_value={'model': 'm', 'ignore_eos'...tokens': 1}, input_type=dict]`, `1 validation error for R
prompt
  Field required [type=missing, dict]`},
		{"plain text", "unknown field stream_options", "unknown field stream_options"},
		{"a text that is quoted to its end", `400: {"input": {"ignore_eos": tru`, "400: {"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := complaint([]byte(tt.page)); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func FuzzComplaint(f *testing.F) {
	f.Add([]byte(`{"detail":[{"loc":["body","ignore_eos"],"msg":"no","input":{"a":[1,"b"]}}]}`))
	f.Add([]byte(`{"error":{"message":"[{'loc': ('a', 'b'), 'input': {'c': \"d\\\\\"}}]"}}`))
	f.Add([]byte(`[type=missing, input_value={'a': 'b'...}, input_type=dict]`))
	f.Fuzz(func(t *testing.T, page []byte) {
		if said := complaint(page); len(said) > 4*len(page)+1 {
			t.Errorf("%d bytes of %d", len(said), len(page))
		}
	})
}
