package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// messageWith is a chat whose only message has the content.
func messageWith(content string) string {
	return `{"model":"small","messages":[{"role":"user","content":` + content + `}]}`
}

// Whatever JSON can hold reaches the upstream as the client wrote it.
func TestBodiesThatAreEasyToSpoil(t *testing.T) {
	withSalt := func(body string) string {
		return strings.Replace(strings.TrimSuffix(body, "}"), `"small"`, `"real-model"`, 1) + `,"cache_salt":"` + tenantSalt("search") + `"}`
	}
	with := func(members string) string { return `{` + members + `,` + plainBody[1:] }
	tools := make([]string, 128)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"type":"function","function":{"name":"f%d","parameters":{"type":"object","properties":{"x":{"type":"string"}}}}}`, i)
	}
	for name, body := range map[string]string{
		"numbers beyond a double's":            with(`"seed":123456789012345678901234567890,"x":1e999,"y":-0,"z":1.10`),
		"escapes that need not be":             messageWith(`"\u0041\/\u00e9\ud83d\ude42"`),
		"half a surrogate pair":                messageWith(`"\ud83d"`),
		"a zero byte":                          messageWith(`"a\u0000b"`),
		"text that looks like fields":          messageWith(`"\"model\":\"evil\",\"max_tokens\":1"`),
		"fields of the same name further down": with(`"metadata":{"model":"a","model":"b","stream":true}`),
		"unknown fields twice":                 with(`"x":1,"x":2`),
		"unknown names with dots and stars":    with(`"a.b":1,"*":2,"#":3,"":4`),
		"a tab and line ends between":          "{\n\t" + plainBody[1:],
		"stops in a list":                      with(`"stop":["\n\n","END","</s>","<|im_end|>"]`),
		"logprobs":                             with(`"logprobs":true,"top_logprobs":20,"logit_bias":{"50256":-100}`),
		"images in the body":                   messageWith(`[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("iVBORw0K", 1000) + `","detail":"low"}}]`),
		"parts of every kind":                  messageWith(`[{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}},{"type":"file","file":{"file_data":"data:x","filename":"x"}},{"type":"video_url","video_url":{"url":"x"}}]`),
		"as many tools as OpenAI takes":        with(`"tools":[` + strings.Join(tools, ",") + `],"parallel_tool_calls":false`),
		"thoughts in the history":              `{"model":"small","messages":[{"role":"assistant","reasoning_content":"hm","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]},{"role":"tool","tool_call_id":"a","content":"1"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan seen, 1)
			s := serve(t, recording(got))
			if a := s.post(body); a.status != 200 {
				t.Fatalf("status %d: %s", a.status, a.body)
			}
			if diff := cmp.Diff(withSalt(body), wait(t, got, "the request").body); diff != "" {
				t.Errorf("body (-want +got):\n%.800s", diff)
			}
		})
	}
}

// A number that one JSON reader takes for another would be another bound than the one
// that was checked.
func TestLimitsThatAreNoNumbersOfTokens(t *testing.T) {
	s := serve(t, mustNotBeCalled(t), configure(func(c *config.Config) { c.Models[0].MaxTokens = config.MaxTokens{Default: 10, Cap: 20} }))
	for _, key := range []string{"max_tokens", "max_completion_tokens", "n"} {
		for _, value := range []string{"-1", "0", "-0", "1.5", "1e-9", "1e999", "-1e999", "99999999999999999999", "2147483648", `"5"`, "true", "[]", "{}"} {
			got := s.post(`{"` + key + `":` + value + `,` + plainBody[1:])
			e := gjson.Get(got.body, "error")
			if got.status != 400 || e.Get("type").Str != "invalid_request_error" || !strings.Contains(e.Get("message").Str, key) {
				t.Errorf("%s %s: status %d, %s", key, value, got.status, got.body)
			}
		}
	}
	s.settled()
}

// Bytes that are no text are refused on every path, before anything is counted: one
// engine would refuse them after the work of reading, another read other text than the
// gateway's filters saw.
func TestBodiesThatAreNotUTF8(t *testing.T) {
	s := serve(t, mustNotBeCalled(t), frozen(config.Limits{RPM: 1, InputTPM: 1}, config.Limits{}))
	for name, bytes := range map[string]string{
		"a stray byte": "\xff", "a cut character": "\xc3", "an overlong slash": "\xc0\xaf",
		"half a surrogate pair": "\xed\xa0\x80", "Latin-1": "caf\xe9", "beyond Unicode": "\xf4\x90\x80\x80",
	} {
		for _, d := range dialects {
			r := s.request(t.Context(), `{"model":"small","input":"`+bytes+`","messages":[{"role":"user","content":"`+bytes+`"}]}`)
			r.URL.Path = d.path
			got := s.do(r)
			if e := gjson.Get(got.body, "error"); got.status != 400 || e.Get("type").Str != "invalid_request_error" || e.Get("message").Str != "the body is not valid UTF-8" {
				t.Errorf("%s at %s: status %d, %s", name, d.path, got.status, got.body)
			}
			if left := got.header.Get("X-Ratelimit-Remaining-Requests"); left != "1" {
				t.Errorf("%s at %s: %q requests are left", name, d.path, left)
			}
		}
	}
	s.settled()
}

// The same number in another form is the same bound.
func TestWholeNumbersInEveryForm(t *testing.T) {
	for _, value := range []string{"5", "5.0", "5e0", "0.5e1", "500E-2"} {
		got := make(chan seen, 1)
		s := serve(t, recording(got), configure(func(c *config.Config) { c.Models[0].MaxTokens.Cap = 20 }))
		if a := s.post(`{"max_tokens":` + value + `,` + plainBody[1:]); a.status != 200 {
			t.Errorf("%s: status %d, %s", value, a.status, a.body)
			continue
		}
		if raw := gjson.Get(wait(t, got, "the request").body, "max_tokens").Raw; raw != value {
			t.Errorf("%s became %s", value, raw)
		}
	}
}

// An alias is what its JSON text spells, and nothing near it.
func TestNamesOfModels(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	for spelled, status := range map[string]int{
		`"small"`: 200, `"\u0073mall"`: 200, `"Small"`: 404, `"small "`: 404, `" small"`: 404, `"small\u0000"`: 404,
		`"ｓｍａｌｌ"`: 404, `"../small"`: 404, `"small\nlarge"`: 404, `["small"]`: 400, `null`: 400, `{"id":"small"}`: 400, `""`: 400, `true`: 400,
		`"` + strings.Repeat("x", 1<<20) + `"`: 404,
	} {
		got := s.post(strings.Replace(plainBody, `"small"`, spelled, 1))
		if got.status != status || len(got.body) > 1000 {
			t.Errorf("%.40s: status %d, %.200s", spelled, got.status, got.body)
		}
	}
	s.settled()
}

// Photographs fit by default, and what does not is refused as SDKs can read it.
func TestBodiesOfManyMegabytes(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	for size, status := range map[int]int{12 << 20: http.StatusOK, 40 << 20: http.StatusRequestEntityTooLarge} {
		image := `[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("A", size) + `"}}]`
		got := s.post(messageWith(image))
		if got.status != status || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%d MiB: status %d of type %q: %.200s", size>>20, got.status, got.header.Get("Content-Type"), got.body)
		}
		if status != 200 && gjson.Get(got.body, "error.code").Str != "request_too_large" {
			t.Errorf("%d MiB: %s", size>>20, got.body)
		}
	}
	s.settled()
}
