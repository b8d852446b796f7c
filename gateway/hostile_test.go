package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// An upstream that switches protocols hands out a bare connection, which no
// context ends: it is let go at once.
func TestUpstreamThatSwitchesProtocols(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		r := bufio.NewReader(c)
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, r) // until the gateway lets go
	}()
	s := front(t, "http://"+l.Addr().String())
	if got := s.post(plainBody); got.status != 502 {
		t.Errorf("status %d, want 502: %s", got.status, got.body)
	}
	wait(t, closed, "the connection to end")
	_ = l.Close()
	s.settled()
}

// What a server says that it used is believed only where it can be so.
func TestUsageThatCannotBe(t *testing.T) {
	reply := func(usage string) string {
		return `{"choices":[{"message":{"content":"12345678"},"finish_reason":"stop"}],"usage":` + usage + `}`
	}
	const bounded = `{"model":"small","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`
	for name, usage := range map[string]string{
		"more than was allowed":      `{"prompt_tokens":10,"completion_tokens":2147483648}`,
		"much more than was allowed": `{"prompt_tokens":10,"completion_tokens":100}`,
		"no output":                  `{"prompt_tokens":10}`,
		"output that is no number":   `{"prompt_tokens":10,"completion_tokens":"abc"}`,
		"nulls":                      `{"prompt_tokens":null,"completion_tokens":null}`,
		"zeros":                      `{"prompt_tokens":0,"completion_tokens":0}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, replies(200, reply(usage)))
			if got := s.post(bounded); got.status != 200 {
				t.Fatalf("status %d", got.status)
			}
			s.settled()
			if line := s.requestLine(); gjson.Get(line, "tokens_source").Str != "estimated" || gjson.Get(line, "output_tokens").Int() != 2 {
				t.Errorf("log %s", line)
			}
		})
	}
}

// Providers that schedule by priority get the class's, whatever the client asks
// for.
func TestPriorityIsThatOfTheClass(t *testing.T) {
	for _, test := range []struct {
		send  bool
		class string
		body  string
		want  string
	}{
		{true, "batch", plainBody, "1"},
		{true, "", plainBody, "0"},
		{true, "batch", strings.Replace(plainBody, "{", `{"priority":-1000,`, 1), "1"},
		{false, "batch", plainBody, ""},
	} {
		var got string
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = gjson.GetBytes(body, "priority").Raw
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, plainReply)
		}, configure(func(c *config.Config) { c.Providers[0].SendPriority = test.send }))
		r := s.request(t.Context(), test.body)
		if test.class != "" {
			r.Header.Set(classHeader, test.class)
		}
		s.do(r)
		if got != test.want {
			t.Errorf("class %q, %s: the engine got priority %q, want %q", test.class, test.body, got, test.want)
		}
	}
	for _, body := range []string{`{"model":"small","Priority":1,"messages":[]}`, `{"model":"small","priorit\u0079":1,"priority":2,"messages":[]}`} {
		if _, err := parseRequest(&chat, []byte(body)); err == nil {
			t.Errorf("%s was taken", body)
		}
	}
}

// Hints of upstreams reach the client as whole seconds and milliseconds, whatever
// they were.
func TestRetryHintsOfUpstreams(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct{ header, value, want, wantMS string }{
		{"Retry-After", "7", "7", "7000"},
		{"Retry-After", "60.5", "61", "60500"},
		{"Retry-After", start.Add(90 * time.Second).Format(http.TimeFormat), "90", "90000"},
		{"Retry-After-Ms", "250", "1", "250"},
		{"Retry-After", "-77 evil", "", ""},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(test.header, test.value)
			w.WriteHeader(http.StatusTooManyRequests)
		}, func(_ *config.Config, o *Options) { o.Now = func() time.Time { return start } })
		got := s.post(plainBody)
		if after, ms := got.header.Get("Retry-After"), got.header.Get("Retry-After-Ms"); got.status != 429 || after != test.want || ms != test.wantMS {
			t.Errorf("%s: %s: status %d, %q and %q, want %q and %q", test.header, test.value, got.status, after, ms, test.want, test.wantMS)
		}
	}
}

// A key that an upstream quotes with escapes is a key all the same.
func TestKeyInAnErrorWithEscapes(t *testing.T) {
	escaped := strings.ReplaceAll(providerKey, "s", `\u0073`)
	for _, body := range []string{
		`{"error":{"message":"bad key ` + escaped + `","type":"x","param":null,"code":null}}`,
		`{"error":{"message":"bad key ` + escaped + `"}}`,
		`{"message":"bad key ` + escaped + `"}`,
	} {
		s := serve(t, replies(400, body))
		got := s.post(plainBody)
		if text := gjson.Get(got.body, "error.message").Str; got.status != 400 || !strings.HasPrefix(text, "bad key") || strings.Contains(text, providerKey) {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
}

// Functions, the older name of tools, count as tools do.
func TestFunctionsAreTools(t *testing.T) {
	body := `{"model":"small","messages":[],"functions":[{"name":"f","description":"` + strings.Repeat("x", 400) + `"}]}`
	r, err := parseRequest(&chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if r.input < 100 || len(r.needs()) != 1 || r.needs()[0] != needTools {
		t.Errorf("%d tokens, needs %v", r.input, r.needs())
	}
}

// What is wrong with a field is told with its name, as OpenAI's clients expect.
func TestErrorsNameTheirField(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	for body, want := range map[string]string{
		`{"messages":[]}`: "model",
		`{"model":"small","max_tokens":0,"messages":[]}`:      "max_tokens",
		`{"model":"small","stream":1,"messages":[]}`:          "stream",
		`{"model":"small","n":1000,"messages":[]}`:            "n",
		`{"model":"small","best_of":"x","messages":[]}`:       "best_of",
		`{"model":"nobody","messages":[]}`:                    "model",
		`{"model":"small","model":"small","messages":[]}`:     "model",
		`{"model":"small","Stream":true,"messages":["user"]}`: "stream",
	} {
		if got := s.post(body); got.status < 400 || gjson.Get(got.body, "error.param").Str != want {
			t.Errorf("%s: status %d, %s; want param %q", body, got.status, got.body, want)
		}
	}
}

// A page on the web that leads its own name here reads nothing of an admin
// listener without a token.
func TestOpenAdminListenerAnswersNoForeignName(t *testing.T) {
	s := serve(t, mustNotBeCalled(t), configure(func(c *config.Config) { c.Admin.TokenEnv = "" }))
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "[::1]:8081": 200, "127.0.0.1": 200, "evil.example": 403, "evil.example:8081": 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		if got := s.do(r); got.status != want {
			t.Errorf("host %q: status %d, want %d", host, got.status, want)
		}
	}
	// Clients' certificates are asked for by the listener's TLS, under any name.
	r := httptest.NewRequest(http.MethodGet, "https://gateway.example/metrics", nil)
	w := httptest.NewRecorder()
	if s.gateway.AdminHandler().ServeHTTP(w, r); r.TLS == nil || w.Code != 200 {
		t.Errorf("over TLS: status %d", w.Code)
	}
}

// What a try that failed had read is free when another one begins.
func TestAnAnswerThatBrokeOffIsNotHeld(t *testing.T) {
	var calls atomic.Int64
	var s *stand
	s = serve(t, script(&calls, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Repeat(" ", 50_000))
	}, func(w http.ResponseWriter, r *http.Request) {
		if n := s.gateway.wholes.total(); n != 0 {
			t.Errorf("%d bytes are held", n)
		}
		replies(200, plainReply)(w, r)
	}), patient)
	if got := s.post(plainBody); got.status != 200 || calls.Load() != 2 {
		t.Errorf("status %d after %d calls", got.status, calls.Load())
	}
}

// What upstreams keep is open to all tenants who share a key, and what is made in the
// background is paid by nobody.
func TestResponsesThatOutliveTheirRequest(t *testing.T) {
	reply := `{"object":"response","status":"completed","output":[],"usage":` + responseUsage + `}`
	for _, test := range []struct {
		body    string
		allowed bool
		want    int
		param   string
	}{
		{`{"model":"small","input":"hi","background":true}`, true, 400, "background"},
		{`{"model":"small","input":"hi","background":false}`, false, 200, ""},
		{`{"model":"small","input":"hi","previous_response_id":"resp_1"}`, false, 400, "previous_response_id"},
		{`{"model":"small","input":"hi","conversation":{"id":"conv_1"}}`, false, 400, "conversation"},
		{`{"model":"small","input":"hi","previous_response_id":null}`, false, 200, ""},
		{`{"model":"small","input":"hi","previous_response_id":"resp_1"}`, true, 200, ""},
		{`{"model":"small","prompt":{"id":"pmpt_1"}}`, false, 400, "prompt.id"},
		{`{"model":"small","prompt":{"id":"pmpt_1"}}`, true, 200, ""},
		{`{"model":"small","input":"hi","store":true}`, false, 400, "store"},
		{`{"model":"small","input":"hi","store":"true"}`, false, 400, "store"},
		{`{"model":"small","input":"hi","store":false}`, false, 200, ""},
		{`{"model":"small","input":"hi","store":true}`, true, 200, ""},
		{`{"model":"small","input":"hi","metadata":{"file_id":"mine"}}`, false, 200, ""},
	} {
		s := serve(t, replies(200, reply), configure(func(c *config.Config) { c.Models[0].StoredResponses = test.allowed }))
		if got := s.at("/v1/responses", test.body); got.status != test.want || gjson.Get(got.body, "error.param").Str != test.param {
			t.Errorf("%s, allowed %v: status %d, %s", test.body, test.allowed, got.status, got.body)
		}
	}
}

// A gateway without a file left to open says so, and blames no endpoint.
func TestNoFileLeftToOpen(t *testing.T) {
	s := front(t, "http://127.0.0.1:1", func(_ *config.Config, o *Options) {
		o.Client = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		}}}
	})
	for range 3 {
		if got := s.post(plainBody); got.status != 503 || gjson.Get(got.body, "error.code").Str != "overloaded" {
			t.Errorf("status %d, %s", got.status, got.body)
		}
	}
	s.settled()
	if !strings.Contains(s.metrics(), `llmctl_gateway_endpoint_up{endpoint="http://127.0.0.1:1",provider="cluster"} 1`) {
		t.Error("the endpoint is blamed")
	}
}
