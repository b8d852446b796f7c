package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// Whatever goes wrong, the line says why: the field of a request, the upstream's status,
// the time-out. Of an upstream's words, which may quote the prompt, it has none.
func TestEachFailureHasACauseInTheLog(t *testing.T) {
	const secret = "my-private-question"
	says := func(status int) http.HandlerFunc {
		return replies(status, `{"error":{"message":"`+secret+` `+providerKey+`","type":"server_error","code":"oom"}}`)
	}
	failing := `data: {"error":{"message":"` + secret + `","type":"rate_limit_error","code":429}}` + "\n\n"
	hung := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http sees a client leave only behind its body
		<-r.Context().Done()
	}
	brief := configure(func(c *config.Config) { c.Models[0].Timeouts.FirstToken = config.Duration(20 * time.Millisecond) })
	for _, test := range []struct {
		name, body string
		upstream   http.HandlerFunc
		edit       func(*config.Config, *Options)
		want       string
	}{
		{"a server error", plainBody, says(500), nil, "the upstream answered 500 Internal Server Error, type server_error, code oom"},
		{"a server error without an object", plainBody, replies(500, secret), nil, "the upstream answered 500 Internal Server Error"},
		{"too many requests there", plainBody, says(429), nil, "the upstream answered 429 Too Many Requests, type server_error, code oom"},
		{"a request that it refuses", plainBody, says(400), nil, "the upstream answered 400 Bad Request, type server_error, code oom"},
		{"a key that it refuses", plainBody, says(401), nil, `the upstream answered 401 for model "real-model"`},
		{"an error in a stream", streamBody, upstreamAnswers(helloEvent, failing), nil, "the upstream sent an error with status 200, type rate_limit_error, code 429"},
		{"an error that begins a stream", streamBody, upstreamAnswers(failing), nil, "the upstream sent an error with status 200, type rate_limit_error, code 429"},
		{"an error in the place of an answer", plainBody, says(200), nil, "the upstream sent an error with status 200, type server_error, code oom"},
		{"a stream that nobody asked for", plainBody, upstreamAnswers(helloEvent), nil, "the upstream streamed an answer that was to come as a whole"},
		{"a stream that ends too early", streamBody, upstreamAnswers(helloEvent), nil, "the upstream ended the stream before the answer was complete: EOF"},
		{"no output in time", streamBody, hung, brief, "no output within timeouts.first_token, 20ms"},
		{"a body that is no JSON", `{`, nil, nil, "the body is not a JSON object"},
		{"a field that makes no sense", `{"model":"small","messages":[],"n":0}`, nil, nil, `"n" must be a whole number from 1`},
		{"a field that is missing", `{"model":"small"}`, nil, nil, "messages"},
		{"a model that is none", `{"model":"` + secret + `","messages":[]}`, nil, nil, "no such model, or one that the key may not use"},
		{"a limit", strings.Replace(plainBody, `"hi"`, `"`+strings.Repeat("x", 400)+`"`, 1), nil, configure(func(c *config.Config) { c.Tenants[0].Limits.InputTPM = 1 }), `tenant "search"`},
		{"a filter", `{"model":"small","messages":[{"role":"user","content":"` + secret + `"}]}`, nil, configure(func(c *config.Config) {
			c.Filters = []config.Filter{{Name: "names", Kind: config.FilterKeyword, Words: []string{secret}, On: "input"}}
			c.Models[0].Filters = []string{"names"}
		}), `filter "names" forbids messages`},
		{"a panic", plainBody, nil, func(_ *config.Config, o *Options) { o.Rand = func() uint64 { panic(http.ErrAbortHandler) } }, "the handler panicked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.upstream == nil {
				test.upstream = mustNotBeCalled(t)
			}
			if test.edit == nil {
				test.edit = func(*config.Config, *Options) {}
			}
			s := serve(t, test.upstream, test.edit)
			if response, err := s.client.Do(s.request(t.Context(), test.body)); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			until(t, "the line", func() bool { return len(s.lines()) > 0 })
			line := s.lines()[0]
			if got := line.Get("cause").Str; !strings.Contains(got, test.want) {
				t.Errorf("cause %q, want %q in it", got, test.want)
			}
			if strings.Contains(s.logs.String(), secret) || strings.Contains(s.logs.String(), providerKey) {
				t.Errorf("the log holds content or a key: %s", s.logs)
			}
		})
	}
}

// knocks sends a request of any method, path and Authorization header.
func (s *stand) knocks(method, path, authorization string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(plainBody))
	if err != nil {
		s.t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return s.do(r)
}

// Who has a wrong key, or a base URL with a part too many, is found by the line: it says
// from where, how and for what was asked, and never the key.
func TestLinesTellWhoAskedForWhat(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	const chats = "/v1/chat/completions"
	for _, test := range []struct {
		name, method, path, authorization string
		want                              string // path in the log
		cause                             string
	}{
		{"an answer", "POST", chats, "Bearer " + searchKey, chats, ""},
		{"what follows the path", "POST", chats + "?api_key=" + searchKey, "Bearer " + searchKey, chats, ""},
		{"no key", "POST", chats, "", chats, "expected one Authorization header, got 0"},
		{"another scheme", "POST", chats, "Basic " + searchKey, chats, "expected Bearer and a key in the Authorization header"},
		{"a key that nobody has", "POST", chats, "Bearer sk-nobody", chats, "no tenant has this key"},
		{"a model by its name", "GET", "/v1/models/small", "Bearer " + searchKey, "/v1/models/{model...}", ""},
		{"another method", "DELETE", chats, "Bearer " + searchKey, chats, "this endpoint takes POST only"},
		{"a path twice", "POST", "/v1" + chats, "Bearer " + searchKey, "/v1" + chats, "no such endpoint"},
		{"an empty part", "POST", "/v1//models", "Bearer " + searchKey, "/v1//models", "no such endpoint"},
		{"a key in the path", "POST", "/" + chatKey + chats, "", "/[redacted]" + chats, "no such endpoint"},
		{"an unknown key in the path", "POST", "/sk-nobody" + chats, "Bearer sk-nobody", "/[redacted]" + chats, "no such endpoint"},
		{"a path that would break the line", "POST", "/a%0Ab%22", "", "/a%0Ab%22", "no such endpoint"},
		{"a path without end", "POST", "/" + strings.Repeat("x", 5000), "", "/" + strings.Repeat("x", maxPath-4) + "…", "no such endpoint"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := len(s.lines())
			s.knocks(test.method, test.path, test.authorization)
			until(t, "the line", func() bool { return len(s.lines()) > before })
			line := s.lines()[before]
			got := fmt.Sprint(line.Get("client").Str, " ", line.Get("method").Str, " ", line.Get("path").Str)
			if want := "127.0.0.1 " + test.method + " " + test.want; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			if cause := line.Get("cause").Str; !strings.HasPrefix(cause, test.cause) || (cause == "") != (test.cause == "") {
				t.Errorf("cause %q, want %q", cause, test.cause)
			}
			for _, key := range []string{searchKey, chatKey, "sk-nobody"} {
				if strings.Contains(line.Raw, key) {
					t.Errorf("a key is in the log: %s", line.Raw)
				}
			}
		})
	}
}

// What operators should look at is a warning.
func TestLevelsOfLines(t *testing.T) {
	m := miniredis.RunT(t)
	s := serve(t, replies(200, plainReply), sharing(m, ""), configure(func(c *config.Config) {
		c.Tenants[0].Limits.RPM = 100
		c.Store.Timeout = config.Duration(time.Second)
	}))
	s.post(plainBody)
	s.post(`{`)
	m.SetError("LOADING")
	s.post(plainBody)
	s.settled()
	var got []string
	for _, line := range s.lines() {
		got = append(got, line.Get("outcome").Str+" "+line.Get("level").Str)
	}
	if want := "[ok INFO invalid_request INFO limits_unavailable WARN]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
	if last := s.lines()[2].Get("cause"); last.Type != gjson.String {
		t.Error("no cause")
	}
	for o, want := range map[outcome]bool{outcomeUnhealthy: true, outcomeInternal: true, outcomeConnect: true, outcomeShed: false, outcomeRateLimited: false} {
		if o.grave() != want {
			t.Errorf("%s is a warning: %t", o, !want)
		}
	}
}
