package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// An engine without embeddings is no broken engine: the client learns that the model
// does not serve them, where a model that the engine does not know is the
// configuration's mistake.
func TestUpstreamWithoutThePath(t *testing.T) {
	const fastAPI, engine = `{"detail":"Not Found"}`, `{"error":{"message":"no such path: /v1/embeddings","type":"invalid_request_error","param":null,"code":null}}`
	const noModel = `{"object":"error","message":"The model real-model does not exist.","code":404}`
	embed, chats := `{"model":"small","input":"x"}`, plainBody
	tests := []struct {
		name, path, body string
		status           int
		says             string
		want             int
		code             string
	}{
		{"FastAPI has no such path", "/v1/embeddings", embed, 404, fastAPI, 400, "unsupported_endpoint"},
		{"an engine says which path", "/v1/embeddings", embed, 404, engine, 400, "unsupported_endpoint"},
		{"net/http has text", "/v1/responses", embed, 404, "404 page not found\n", 400, "unsupported_endpoint"},
		{"completions, too", "/v1/completions", `{"model":"small","prompt":"x"}`, 404, fastAPI, 400, "unsupported_endpoint"},
		{"not implemented", "/v1/embeddings", embed, 501, `{"error":{"message":"start it with --embeddings"}}`, 400, "unsupported_endpoint"},
		{"no POST there", "/v1/embeddings", embed, 405, "", 400, "unsupported_endpoint"},
		{"an unknown model is the gateway's mistake", "/v1/embeddings", embed, 404, noModel, 502, "upstream_error"},
		{"no chats is another address", "/v1/chat/completions", chats, 404, fastAPI, 502, "upstream_error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, replies(test.status, test.says))
			r := s.request(t.Context(), test.body)
			r.URL.Path = test.path
			got := s.do(r)
			if got.status != test.want || gjson.Get(got.body, "error.code").Str != test.code {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			if refused := got.header.Get("X-Should-Retry") == "false"; refused != (test.want == 400) {
				t.Errorf("x-should-retry %q", got.header.Get("X-Should-Retry"))
			}
			s.settled()
			if used := s.gateway.limits.Ledger().Settled; used != 0 {
				t.Errorf("%d tokens charged", used)
			}
		})
	}
}

// Another target may have the path that one lacks.
func TestAnotherTargetServesThePath(t *testing.T) {
	embeds := httptest.NewServer(replies(200, `{"object":"list","data":[],"usage":{"prompt_tokens":3,"total_tokens":3}}`))
	defer embeds.Close()
	s := serve(t, replies(http.StatusNotFound, `{"detail":"Not Found"}`), configure(func(c *config.Config) {
		c.Providers = append(c.Providers, config.Provider{Name: "other", Endpoints: []string{embeds.URL}})
		c.Models[0].Fallback = []config.Target{{Provider: "other", Model: "embedder"}}
	}))
	r := s.request(t.Context(), `{"model":"small","input":"x"}`)
	r.URL.Path = "/v1/embeddings"
	got := s.do(r)
	if got.status != 200 || !strings.HasPrefix(got.header.Get("X-Llmctl-Fallback"), "other/embedder; reason=upstream_refused") {
		t.Errorf("status %d, fallback %q: %s", got.status, got.header.Get("X-Llmctl-Fallback"), got.body)
	}
	s.settled()
}
