package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// at sends a body to a path of the API.
func (s *stand) at(path, body string) answer {
	s.t.Helper()
	r := s.request(s.t.Context(), body)
	r.URL.Path = path
	return s.do(r)
}

func TestEmbeddingsAreMetered(t *testing.T) {
	const reply = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/embeddings" || string(body) != `{"model":"real-model","input":["a","b"],"dimensions":4}` {
			t.Errorf("upstream got %s %s", r.URL.Path, body)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, reply)
	})
	if got := s.at("/v1/embeddings", `{"model":"small","input":["a","b"],"dimensions":4}`); got.status != 200 || got.body != reply {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if got := s.at("/v1/embeddings", `{"model":"small","input":"a","stream":true}`); got.status != 400 {
		t.Errorf("status %d for a stream, want 400", got.status)
	}
	s.settled()
	if used := s.gateway.limits.Ledger().Settled; used != 7 {
		t.Errorf("%d tokens charged, want 7", used)
	}
}

const (
	createdEvent  = `event: response.created` + "\n" + `data: {"type":"response.created","response":{"model":"real-model","usage":null}}` + "\n\n"
	deltaEvent    = `event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta","delta":"Hello"}` + "\n\n"
	responseUsage = `{"input_tokens":11,"input_tokens_details":{"cached_tokens":8},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3}}`
	completed     = `event: response.completed` + "\n" + `data: {"type":"response.completed","response":{"status":"completed","usage":` + responseUsage + `}}` + "\n\n"
	failedEvent   = `event: response.failed` + "\n" + `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"broken"}}}` + "\n\n"
)

func TestResponses(t *testing.T) {
	body := `{"model":"small","input":"hi","stream":true}`
	tests := []struct {
		name     string
		upstream http.HandlerFunc
		status   int
		want     string
		outcome  outcome
		charged  int64
	}{
		{"complete", upstreamAnswers(createdEvent, deltaEvent, completed), 200, createdEvent + deltaEvent + completed, outcomeOK, 16},
		{"incomplete", upstreamAnswers(deltaEvent, strings.ReplaceAll(completed, "completed", "incomplete")), 200,
			deltaEvent + strings.ReplaceAll(completed, "completed", "incomplete"), outcomeOK, 16},
		{"failed before output", upstreamAnswers(createdEvent, failedEvent), 502, "", outcomeStreamError, 0},
		{"failed after output", upstreamAnswers(deltaEvent, failedEvent), 200, deltaEvent + failedEvent, outcomeStreamError, 2},
		{"cut short", upstreamAnswers(createdEvent, deltaEvent), 200, createdEvent + deltaEvent +
			`event: error` + "\n" + `data: {"type":"error","code":"stream_interrupted","message":"the upstream ended the stream before the answer was complete","param":null,` +
			`"error":{"message":"the upstream ended the stream before the answer was complete","type":"upstream_error","param":null,"code":"stream_interrupted"}}` + "\n\n", outcomeInterrupted, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.upstream)
			got := s.at("/v1/responses", body)
			if got.status != test.status || test.want != "" && got.body != test.want {
				t.Errorf("status %d\ngot  %q\nwant %q", got.status, got.body, test.want)
			}
			s.settled()
			if v := gjson.Get(s.logs.String(), "outcome").Str; v != string(test.outcome) {
				t.Errorf("outcome %q, want %q", v, test.outcome)
			}
			if used := s.gateway.limits.Ledger().Settled; used != test.charged {
				t.Errorf("%d tokens charged, want %d", used, test.charged)
			}
		})
	}
}

func TestWholeResponse(t *testing.T) {
	reply := `{"object":"response","status":"completed","output":[{"content":[{"text":"Hello"}]}],"usage":` + responseUsage + `}`
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got := gjson.GetBytes(body, "max_output_tokens").Int(); got != 64 {
			t.Errorf("max_output_tokens %d, want the client's", got)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, reply)
	})
	if got := s.at("/v1/responses", `{"model":"small","input":[{"role":"user","content":"hi"}],"max_output_tokens":64}`); got.status != 200 || got.body != reply {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	s.settled()
	if used := s.gateway.limits.Ledger().Settled; used != 16 {
		t.Errorf("%d tokens charged, want 16", used)
	}
}
