package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/tidwall/gjson"
)

// mustNotBeCalled is an upstream that a refused request must never reach.
func mustNotBeCalled(t testing.TB) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { t.Error("the upstream was called") }
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name    string
		edit    func(*http.Request)
		body    string
		status  int
		kind    string
		code    string
		outcome outcome
	}{
		{"no key", func(r *http.Request) { r.Header.Del("Authorization") }, plainBody, 401, "authentication_error", "invalid_api_key", outcomeUnauthorized},
		{"an unknown key", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, plainBody, 401, "authentication_error", "invalid_api_key", outcomeUnauthorized},
		{"bearer without a token", func(r *http.Request) { r.Header.Set("Authorization", "bearer") }, plainBody, 401, "authentication_error", "invalid_api_key", outcomeUnauthorized},
		{"another scheme", func(r *http.Request) { r.Header.Set("Authorization", "Basic "+searchKey) }, plainBody, 401, "authentication_error", "invalid_api_key", outcomeUnauthorized},
		{"an empty header", func(r *http.Request) { r.Header.Set("Authorization", "") }, plainBody, 401, "authentication_error", "invalid_api_key", outcomeUnauthorized},
		{"a key of 10 KB", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("k", 10<<10)) }, plainBody, 401, "authentication_error", "invalid_api_key", outcomeUnauthorized},
		{"two keys", func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }, plainBody, 401, "authentication_error", "invalid_api_key", outcomeUnauthorized},
		{"a key's hash", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+config.HashKey(searchKey)) }, plainBody, 401, "authentication_error", "invalid_api_key", outcomeUnauthorized},
		{"malformed JSON", nil, `{`, 400, "invalid_request_error", "", outcomeInvalid},
		{"null", nil, `null`, 400, "invalid_request_error", "", outcomeInvalid},
		{"an unknown model", nil, `{"model":"nobody"}`, 404, "invalid_request_error", "model_not_found", outcomeUnknownModel},
		{"the upstream's own name of a model", nil, `{"model":"real-model"}`, 404, "invalid_request_error", "model_not_found", outcomeUnknownModel},
		{"a model of others", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+chatKey) }, `{"model":"large"}`, 403, "permission_error", "model_not_allowed", outcomeForbidden},
		{"a body that is too large", nil, `{"model":"small","x":"` + strings.Repeat("x", 5000) + `"}`, 413, "invalid_request_error", "request_too_large", outcomeTooLarge},
		{"an unknown path", func(r *http.Request) { r.URL.Path = "/v1/nothing" }, plainBody, 404, "invalid_request_error", "not_found", outcomeUnknownRoute},
		{"another method", func(r *http.Request) { r.Method = http.MethodDelete }, plainBody, 405, "invalid_request_error", "method_not_allowed", outcomeUnknownRoute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, mustNotBeCalled(t), configure(func(c *config.Config) { c.MaxBody = 4096 }))
			r := s.request(t.Context(), test.body)
			if test.edit != nil {
				test.edit(r)
			}
			got := s.do(r)
			if got.status != test.status || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("status %d of type %q, want %d", got.status, got.header.Get("Content-Type"), test.status)
			}
			fields := gjson.Get(got.body, "error")
			if fields.Get("type").Str != test.kind || fields.Get("code").Str != test.code || !fields.Get("param").Exists() || fields.Get("message").Str == "" {
				t.Errorf("body %s, want type %q and code %q", got.body, test.kind, test.code)
			}
			s.settled()
			line := s.logs.String()
			if gjson.Get(line, "outcome").Str != string(test.outcome) || gjson.Get(line, "status").Int() != int64(test.status) {
				t.Errorf("log %s, want outcome %s", line, test.outcome)
			}
		})
	}
}

func TestBearerIsReadInAnyCase(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	r := s.request(t.Context(), plainBody)
	r.Header.Set("Authorization", "bEARER  "+searchKey)
	if got := s.do(r); got.status != 200 {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

// replies is an upstream that answers every request with one JSON body.
func replies(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const misconfiguredText = "the gateway is configured with a model or an address that the upstream does not know"

func TestUpstreamErrors(t *testing.T) {
	openAI := `{"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	tests := []struct {
		name    string
		status  int
		body    string
		want    int
		message string
		code    string
		outcome outcome
	}{
		{"the request's own fault passes unchanged", 400, openAI, 400, "too long", "context_length_exceeded", outcomeUpstreamRefused},
		{"an unprocessable one too", 422, openAI, 422, "too long", "context_length_exceeded", outcomeUpstreamRefused},
		{"an unknown model upstream is the gateway's mistake", 404, openAI, 502, misconfiguredText, "upstream_error", outcomeUpstream},
		{"an address that takes no POST likewise", 405, openAI, 502, misconfiguredText, "upstream_error", outcomeUpstream},
		{"a proxy that wants a password", 407, ``, 502, "the gateway's own credentials were refused upstream", "upstream_auth_error", outcomeAuth},
		{"older vLLM has no error object", 400, `{"object":"error","message":"bad","code":400}`, 400, "bad", "upstream_error", outcomeUpstreamRefused},
		{"FastAPI has detail", 422, `{"detail":"bad field"}`, 422, "bad field", "upstream_error", outcomeUpstreamRefused},
		{"text becomes JSON", 400, `<html>`, 400, "the upstream answered 400 Bad Request", "upstream_error", outcomeUpstreamRefused},
		{"its limit is the client's limit", 429, openAI, 429, "too long", "context_length_exceeded", outcomeUpstreamRefused},
		{"bad credentials are the gateway's", 401, `{"error":{"message":"Incorrect API key: ` + providerKey + `"}}`, 502, "the gateway's own credentials were refused upstream", "upstream_auth_error", outcomeAuth},
		{"forbidden likewise", 403, openAI, 502, "the gateway's own credentials were refused upstream", "upstream_auth_error", outcomeAuth},
		{"an internal error", 500, `oops`, 502, "the upstream answered 500 Internal Server Error", "upstream_error", outcomeUpstream},
		{"overload", 503, openAI, 503, "too long", "context_length_exceeded", outcomeUpstream},
		{"a time-out of its own", 504, ``, 504, "the upstream answered 504 Gateway Timeout", "upstream_error", outcomeUpstream},
		{"a redirect is not followed", 307, ``, 502, "the upstream answered 307 Temporary Redirect", "upstream_error", outcomeUpstream},
		{"an error that quotes the key", 400, `{"error":{"message":"key ` + providerKey + `"}}`, 400, "key [redacted]", "", outcomeUpstreamRefused},
	}
	for _, test := range tests {
		for kind, body := range map[string]string{"stream": streamBody, "whole": plainBody} {
			t.Run(test.name+", "+kind, func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Retry-After", "7")
					w.Header().Set("Location", "/elsewhere")
					if r.URL.Path == "/elsewhere" {
						t.Error("redirect followed")
					}
					replies(test.status, test.body)(w, r)
				})
				got := s.post(body)
				if got.status != test.want || gjson.Get(got.body, "error.message").Str != test.message || gjson.Get(got.body, "error.code").Str != test.code {
					t.Errorf("status %d, body %s", got.status, got.body)
				}
				if v := got.header.Get("X-Llmctl-Deployment"); v != "cluster/real-model" {
					t.Errorf("deployment %q", v)
				}
				retry := ""
				if test.want == 429 || test.want == 503 {
					retry = "7"
				}
				if v := got.header.Get("Retry-After"); v != retry {
					t.Errorf("Retry-After %q, want %q", v, retry)
				}
				s.settled()
				line := s.logs.String()
				if v := gjson.Get(line, "outcome").Str; v != string(test.outcome) {
					t.Errorf("outcome %q, want %q", v, test.outcome)
				}
				for _, unmeasured := range []string{"tokens_source", "input_tokens", "cached_input_tokens", "output_tokens"} {
					if gjson.Get(line, unmeasured).Exists() {
						t.Errorf("%s is in the log of a request that cost nothing: %s", unmeasured, line)
					}
				}
				if ledger := s.gateway.limits.Ledger(); ledger.Settled != 0 || ledger.Reserved == 0 {
					t.Errorf("ledger %+v, want a refund of everything", ledger)
				}
			})
		}
	}
}

func TestDeadUpstream(t *testing.T) {
	s := front(t, "http://127.0.0.1:1", configure(func(c *config.Config) { c.Tenants[0].Limits = config.Limits{OutputTPM: 5000, InputTPM: 1000} }))
	got := s.post(streamBody)
	if got.status != 502 || gjson.Get(got.body, "error.code").Str != "upstream_unreachable" || strings.Contains(got.body, "127.0.0.1") {
		t.Errorf("status %d, body %s", got.status, got.body)
	}
	standing, err := s.gateway.limits.Standing(t.Context(), "search")
	if err != nil || standing[0].Output.Level != 5000 || standing[0].Input.Level != 1000 {
		t.Errorf("no refund: %+v, %v", standing, err)
	}
	s.settled()
	if !strings.Contains(s.logs.String(), `"cause":"Post`) {
		t.Errorf("the log does not say why: %s", s.logs)
	}
	if !strings.Contains(s.metrics(), `llmctl_gateway_upstream_errors_total{endpoint="http://127.0.0.1:1",outcome="connect",provider="cluster"} 1`) {
		t.Error("not counted")
	}
}

func TestWholeAnswersThatMakeNoSense(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"not JSON": replies(200, `{"choices":`),
		"too deep": replies(200, strings.Repeat("[", 1000)+strings.Repeat("]", 1000)),
		"HTML":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html><body>hi</body></html>") },
		"broken off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices":[`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	for name, upstream := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, upstream)
			if got := s.post(plainBody); got.status != 502 || gjson.Get(got.body, "error.code").Str != "upstream_error" {
				t.Errorf("status %d, body %s", got.status, got.body)
			}
			s.settled()
			if used := s.gateway.limits.Ledger().Settled; used != 0 {
				t.Errorf("%d tokens charged", used)
			}
		})
	}
}

func TestPanicsFreeEverythingAndAreLogged(t *testing.T) {
	s := serve(t, mustNotBeCalled(t), func(c *config.Config, o *Options) {
		o.Rand = func() uint64 { panic(http.ErrAbortHandler) }
		c.Tenants[0].Limits.Concurrent = 1
	})
	for range 2 {
		if _, err := s.client.Do(s.request(context.Background(), plainBody)); err == nil {
			t.Error("an answer came")
		}
	}
	s.settled()
	if n := strings.Count(s.logs.String(), `"outcome":"internal_error"`); n != 2 {
		t.Errorf("%d lines of 2 in %s", n, s.logs)
	}
}
