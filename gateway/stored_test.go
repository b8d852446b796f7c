package gateway

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// Files, items, containers and sounds that upstreams keep for one tenant are open to
// whoever knows their id.
func TestWhatUpstreamsKeepIsNotReached(t *testing.T) {
	reply := `{"object":"response","status":"completed","output":[],"usage":` + responseUsage + `}`
	for _, test := range []struct{ name, path, fields, param string }{
		{"an item", "/v1/responses", `"input":[{"type":"item_reference","id":"msg_1"}]`, "input[0].id"},
		{"an item without its type", "/v1/responses", `"input":[{"role":"user","content":"hi"},{"id":"msg_1"}]`, "input[1].id"},
		{"an item whose type is null", "/v1/responses", `"input":[{"id":"msg_1","type":null}]`, "input[0].id"},
		{"an item by an escaped key", "/v1/responses", `"input":[{"type":"item_reference","\u0069d":"msg_1"}]`, "input[0].id"},
		{"thoughts", "/v1/responses", `"input":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"x"}]}]`, "input[0].id"},
		{"an image that was made", "/v1/responses", `"input":[{"type":"image_generation_call","id":"ig_1","status":"completed","output_format":"png","result":null}]`, "input[0].id"},
		{"a file", "/v1/responses", `"input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_file","file_id":"file-1"}]}]`, "input[0].content[1].file_id"},
		{"a file by a key that comes twice", "/v1/responses", `"input":[{"role":"user","content":[{"type":"input_file","file_id":null,"file_id":"file-1"}]}]`, "input[0].content[0].file_id"},
		{"an image", "/v1/responses", `"input":[{"role":"user","content":[{"type":"input_image","file_id":"file-1"}]}]`, "input[0].content[0].file_id"},
		{"a tool's screenshot", "/v1/responses", `"input":[{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","file_id":"file-1"}}]`, "input[0].output.file_id"},
		{"a store of vectors", "/v1/responses", `"input":"hi","tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]`, "tools[0].vector_store_ids"},
		{"a container", "/v1/responses", `"input":"hi","tools":[{"type":"code_interpreter","container":"cntr_1"}]`, "tools[0].container"},
		{"a container's files", "/v1/responses", `"input":"hi","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["file-1"]}}]`, "tools[0].container.file_ids"},
		{"a mask", "/v1/responses", `"input":"hi","tools":[{"type":"image_generation","input_image_mask":{"file_id":"file-1"}}]`, "tools[0].input_image_mask.file_id"},
		{"a chat's file", "/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]`, "messages[0].content[0].file.file_id"},
		{"a chat's file by an escaped key", "/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"file","file":{"file\u005fid":"file-1"}}]}]`, "messages[0].content[0].file.file_id"},
		{"a chat's sound", "/v1/chat/completions", `"messages":[{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","content":"hi"}]`, "messages[0].audio.id"},
		{"a chat that is kept", "/v1/chat/completions", `"store":true,"messages":[{"role":"user","content":"hi"}]`, "store"},

		{"thoughts that come along", "/v1/responses", `"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}]`, ""},
		{"a conversation that comes along", "/v1/responses", `"input":[{"role":"user","content":"hi"},{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{\"file_id\":1}"},{"type":"function_call_output","call_id":"c","output":"x"},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"x"}]}]`, ""},
		{"a function with an argument of that name", "/v1/responses", `"input":"hi","tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"file_id":{"type":"string"}}}}]`, ""},
		{"a container of its own", "/v1/responses", `"input":"hi","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":[]}}]`, ""},
		{"a file's bytes", "/v1/responses", `"input":[{"role":"user","content":[{"type":"input_file","filename":"a","file_data":"data:x","file_id":null}]}]`, ""},
		{"calls of tools", "/v1/chat/completions", `"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"c","content":"\u00e4"}]`, ""},
		{"a chat that is not kept", "/v1/chat/completions", `"store":false,"messages":[{"role":"user","content":"hi"}]`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, allowed := range []bool{false, true} {
				answer := plainReply
				if test.path == "/v1/responses" {
					answer = reply
				}
				s := serve(t, replies(200, answer), configure(func(c *config.Config) { c.Models[0].StoredResponses = allowed }))
				want, param := 200, ""
				if !allowed && test.param != "" {
					want, param = 400, test.param
				}
				if got := s.at(test.path, `{"model":"small",`+test.fields+`}`); got.status != want || gjson.Get(got.body, "error.param").Str != param {
					t.Errorf("allowed %v: status %d, %s", allowed, got.status, got.body)
				}
			}
		})
	}
}

// OpenAI keeps responses whose request says nothing about it.
func TestResponsesAreNotKeptUnlessTheAliasSaysSo(t *testing.T) {
	reply := `{"object":"response","status":"completed","output":[],"usage":` + responseUsage + `}`
	for _, test := range []struct {
		body    string
		allowed bool
		want    string
	}{
		{`{"model":"small", "input":"hi"}`, false, "false"},
		{`{"model":"small", "input":"hi","store":null}`, false, "false"},
		{`{"model":"small", "input":"hi","store":false}`, false, "false"},
		{`{"model":"small", "input":"hi"}`, true, ""},
		{`{"model":"small", "input":"hi","store":true}`, true, "true"},
	} {
		got := make(chan string, 1)
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- gjson.GetBytes(body, "store").Raw
			replies(200, reply)(w, r)
		}, configure(func(c *config.Config) { c.Models[0].StoredResponses = test.allowed }))
		if a := s.at("/v1/responses", test.body); a.status != 200 {
			t.Fatalf("%s: status %d, %s", test.body, a.status, a.body)
		}
		if diff := cmp.Diff(test.want, <-got); diff != "" {
			t.Errorf("%s, allowed %v: store (-want +got):\n%s", test.body, test.allowed, diff)
		}
	}
}
