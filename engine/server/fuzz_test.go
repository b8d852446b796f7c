package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
)

// FuzzHandlers: whatever the body, the answer is a whole one, in JSON or events, or an
// error in OpenAI's shape; nothing panics and nothing is left running.
func FuzzHandlers(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"x"}],"max_tokens":3,"n":2,"stream":true,"logprobs":true,"top_logprobs":2}`,
		`{"prompt":["x",[1,2]],"max_tokens":2,"echo":true,"logprobs":1,"seed":-1}`,
		`{"prompt":"x","stop":["a"],"stop_token_ids":[5],"min_tokens":1,"max_tokens":2,"logit_bias":{"5":-100}}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"y","tool_call_id":"a"}],"max_tokens":1}`,
		`{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"string"}}},"max_tokens":2}`,
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"function":{"name":"f"}}],"tool_choice":"required","max_tokens":2}`,
		`{"prompt":"x","temperature":1e999}`, `{"prompt":"x","max_tokens":99999999999999999999}`, `{"tokens":[1]}`, `[`, `null`,
	} {
		f.Add(uint8(0), []byte(body))
		f.Add(uint8(1), []byte(body))
	}
	e, err := engine.New(engine.Config{Blocks: 64, Sched: sched.Config{MaxModelLen: 64}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(e.Close)
	handler := New(e, Options{ToolParser: "hermes", ReasoningParser: "qwen3"})
	paths := []string{"/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize"}
	f.Fuzz(func(t *testing.T, path uint8, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, paths[int(path)%len(paths)], strings.NewReader(string(body)))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		stream := strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
		switch {
		case w.Code == 200 && stream:
			if !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
				t.Errorf("%s: the stream has no end: %s", body, w.Body)
			}
		case w.Code == 200:
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %s", body, w.Body)
			}
		default:
			var refusal struct {
				Error *struct{ Message, Type string }
			}
			if json.Unmarshal(w.Body.Bytes(), &refusal) != nil || refusal.Error == nil || refusal.Error.Message == "" || w.Code >= 500 {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		}
		if s := e.Stats(); s.Running+s.Waiting != 0 {
			t.Errorf("%s: %d requests are left", body, s.Running+s.Waiting)
		}
	})
}
