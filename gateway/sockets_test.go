package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	ws "github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/gateway/anthropic/anthropictest"
	"github.com/llmctl/llmctl/gateway/config"
)

// dial connects over WebSocket, with the search tenant's key unless the options
// say otherwise.
func (s *stand) dial(o *ws.DialOptions) *ws.Conn {
	s.t.Helper()
	return s.dialPath("/v1/chat/completions", o)
}

func (s *stand) dialPath(path string, o *ws.DialOptions) *ws.Conn {
	s.t.Helper()
	if o == nil {
		o = &ws.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + searchKey}}}
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	c, _, err := ws.Dial(ctx, s.url+path, o) //nolint:bodyclose // there is none after an upgrade
	if err != nil {
		s.t.Fatal(err)
	}
	c.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func (s *stand) say(c *ws.Conn, text string) {
	s.t.Helper()
	if err := c.Write(s.t.Context(), ws.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// hear reads messages to the end of the connection, which is the last of them:
// its code and reason.
func (s *stand) hear(c *ws.Conn) (messages []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for {
		_, m, err := c.Read(ctx)
		if ce, ok := errors.AsType[ws.CloseError](err); ok {
			return append(messages, strings.TrimSpace(fmt.Sprintf("%d %s", ce.Code, ce.Reason)))
		}
		if err != nil {
			return append(messages, err.Error())
		}
		messages = append(messages, string(m))
	}
}

// dataOf is what an event carries.
func dataOf(event string) string {
	return strings.TrimSuffix(strings.TrimPrefix(event, "data: "), "\n\n")
}

const keyRefused = `{"error":{"message":"missing or unknown API key","type":"authentication_error","param":null,"code":"invalid_api_key"}}`

func TestSocketAnswers(t *testing.T) {
	stream := upstreamAnswers(roleEvent, helloEvent, finishEvent, usageEvent, doneEvent)
	tests := []struct {
		name, path, body string
		upstream         http.HandlerFunc
		options          *ws.DialOptions
		want             []string
	}{
		{"a stream, without the usage that only the gateway asked for", "chat/completions", streamBody, stream, nil,
			[]string{dataOf(roleEvent), dataOf(helloEvent), dataOf(finishEvent), "[DONE]", "1000"}},
		{"a whole answer", "chat/completions", plainBody, replies(200, plainReply), nil, []string{plainReply, "1000"}},
		{"a completion", "completions", `{"model":"small","prompt":"a"}`, replies(200, plainReply), nil, []string{plainReply, "1000"}},
		{"a response", "responses", `{"model":"small","input":"a","stream":true}`,
			upstreamAnswers("event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"), nil,
			[]string{`{"type":"response.completed","response":{"status":"completed"}}`, "1000"}},
		{"a key beside the sub-protocol", "chat/completions", plainBody, replies(200, plainReply),
			&ws.DialOptions{Subprotocols: []string{"llmctl", "key." + searchKey}}, []string{plainReply, "1000"}},
		{"no key", "chat/completions", plainBody, replies(200, plainReply), &ws.DialOptions{}, []string{keyRefused, "1008 status 401"}},
		{"a wrong key", "chat/completions", plainBody, replies(200, plainReply),
			&ws.DialOptions{Subprotocols: []string{"llmctl", "key.sk-other"}}, []string{keyRefused, "1008 status 401"}},
		{"a key in the query", "chat/completions?key=" + searchKey + "&api_key=" + searchKey, plainBody, replies(200, plainReply),
			&ws.DialOptions{}, []string{keyRefused, "1008 status 401"}},
		{"garbage", "chat/completions", "{", replies(200, plainReply), nil,
			[]string{`{"error":{"message":"the body is not a JSON object","type":"invalid_request_error","param":null,"code":null}}`, "1008 status 400"}},
		{"a stream that breaks", "chat/completions", streamBody, breakOff(helloEvent), nil,
			[]string{dataOf(helloEvent), dataOf(interruptedEvent), "1011 the answer is not complete"}},
		{"an upstream that is overloaded", "chat/completions", streamBody, replies(503, `{"error":{"message":"busy"}}`), nil,
			[]string{`{"error":{"message":"busy","type":"upstream_error","param":null,"code":null}}`, "1013 status 503"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.upstream, configure(func(c *config.Config) { c.Models[0].Retry.Attempts = 1 }))
			c := s.dialPath("/v1/"+test.path, test.options)
			s.say(c, test.body)
			if diff := cmp.Diff(test.want, s.hear(c)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			s.settled()
			if strings.Contains(s.logs.String(), searchKey) {
				t.Error("a key is in the log")
			}
		})
	}
}

func TestSocketIsMetered(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent), configure(func(c *config.Config) {
		c.Tenants[0].Limits.RPM = 1
	}), func(_ *config.Config, o *Options) { o.Now = stopped() })
	first := s.dial(nil)
	s.say(first, streamBody)
	if got := s.hear(first); got[len(got)-1] != "1000" {
		t.Fatalf("heard %q", got)
	}
	second := s.dial(nil)
	s.say(second, streamBody)
	if got := s.hear(second); len(got) != 2 || !strings.Contains(got[0], "rate_limit_exceeded") || got[1] != "1013 status 429, retry after 60 s" {
		t.Errorf("heard %q", got)
	}
	s.settled()
	for _, line := range []string{
		`llmctl_gateway_requests_total{alias="small",outcome="ok",status="200",tenant="search"} 1`,
		`llmctl_gateway_requests_total{alias="small",outcome="rate_limited",status="429",tenant="search"} 1`,
		`llmctl_gateway_tokens_total{alias="small",arm="stable",deployment="cluster/real-model",kind="input",tenant="search"} 11`,
		`llmctl_gateway_tokens_total{alias="small",arm="stable",deployment="cluster/real-model",kind="output",tenant="search"} 2`,
	} {
		if !strings.Contains(s.metrics(), line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}

// stopped is a clock that stands still.
func stopped() func() time.Time {
	now := time.Now()
	return func() time.Time { return now }
}

// A client that closes the connection, or drops it, cancels the upstream whatever
// the request waits for, and nothing is left behind.
func TestSocketThatClosesCancelsTheUpstream(t *testing.T) {
	for name, leave := range map[string]func(*ws.Conn){
		"close": func(c *ws.Conn) { _ = c.Close(ws.StatusNormalClosure, "") },
		"drop":  func(c *ws.Conn) { _ = c.CloseNow() },
	} {
		for phase, before := range map[string][]string{"before the header": nil, "before the first token": {roleEvent}, "in the middle": {helloEvent, worldEvent}} {
			t.Run(name+" "+phase, func(t *testing.T) {
				arrived, gone := make(chan struct{}), make(chan struct{})
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if len(before) > 0 {
						sse(w, before...)
					}
					close(arrived)
					<-r.Context().Done()
					close(gone)
				}, configure(func(c *config.Config) { c.Tenants[0].Limits.Concurrent = 1 }))
				c := s.dial(nil)
				s.say(c, streamBody)
				wait(t, arrived, "the upstream")
				leave(c)
				wait(t, gone, "the cancellation")
				s.settled()
				if !strings.Contains(s.metrics(), `outcome="client_gone"`) {
					t.Error("the client is not said to be gone")
				}
			})
		}
	}
}

func TestSocketThatIsNotReadIsCutOff(t *testing.T) {
	gone := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		big := strings.Replace(helloEvent, "Hello", strings.Repeat("x", 64<<10), 1)
		for r.Context().Err() == nil {
			sse(w, big)
		}
		close(gone)
	}, configure(func(c *config.Config) { c.Models[0].Timeouts.Idle = config.Duration(100 * time.Millisecond) }))
	s.say(s.dial(nil), streamBody)
	wait(t, gone, "the end of the upstream's patience")
	s.settled()
}

func TestSocketBodyBeyondTheLimit(t *testing.T) {
	s := serve(t, replies(200, plainReply), configure(func(c *config.Config) { c.MaxBody = 1000 }))
	c := s.dial(nil)
	s.say(c, `{"model":"`+strings.Repeat("x", 5000)+`"}`)
	if got := s.hear(c); len(got) != 2 || !strings.Contains(got[0], "request_too_large") || got[1] != "1009 status 413" {
		t.Errorf("heard %q", got)
	}
	s.settled()
}

func TestSocketsDrain(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent)
		close(arrived)
		<-release
		sse(w, finishEvent, doneEvent)
	})
	old := s.dial(nil)
	s.say(old, streamBody)
	wait(t, arrived, "the upstream")
	s.gateway.Drain()
	late := s.dial(nil)
	if got := s.hear(late); len(got) != 2 || !strings.Contains(got[0], "shutting down") || got[1] != "1013 status 503, retry after 1 s" {
		t.Errorf("a new connection heard %q", got)
	}
	close(release)
	if got := s.hear(old); len(got) != 4 || got[3] != "1000" {
		t.Errorf("the old connection heard %q", got)
	}
	s.settled()
}

func TestCloseTellsSocketsWhy(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent)
		<-r.Context().Done()
	})
	c := s.dial(nil)
	s.say(c, streamBody)
	if _, m, err := c.Read(t.Context()); err != nil || string(m) != dataOf(helloEvent) {
		t.Fatalf("heard %q, %v", m, err)
	}
	closed := make(chan struct{})
	go func() { s.gateway.Close(); close(closed) }()
	got := s.hear(c)
	if len(got) != 2 || !strings.Contains(got[0], "shutting down") || got[1] != "1011 the answer is not complete" {
		t.Errorf("heard %q", got)
	}
	wait(t, closed, "the gateway")
}

func TestCloseDoesNotWaitForWhatDoesNotCome(t *testing.T) {
	asked := make(chan struct{}, 100) // for the time, first of all when a request begins
	s := serve(t, replies(200, plainReply), func(_ *config.Config, o *Options) {
		o.Now = func() time.Time { asked <- struct{}{}; return time.Now() }
	})
	for len(asked) > 0 {
		<-asked
	}
	c := s.dial(nil) // and says nothing
	body, never := io.Pipe()
	defer never.Close() //nolint:errcheck // of a pipe
	r := s.request(t.Context(), "")
	r.Body = body
	posted := make(chan error, 1)
	go func() {
		response, err := s.client.Do(r)
		if err == nil {
			err = response.Body.Close()
		}
		posted <- err
	}()
	for range 2 {
		wait(t, asked, "a request")
	}
	closed := make(chan struct{})
	go func() { s.gateway.Close(); close(closed) }()
	if got := s.hear(c); len(got) != 2 || !strings.Contains(got[0], "shutting down") || !strings.HasPrefix(got[1], "1013 status 503") {
		t.Errorf("heard %q", got)
	}
	wait(t, closed, "the gateway")
	never.Close()                                 //nolint:errcheck // of a pipe
	_ = wait(t, posted, "the answer to the POST") // a refusal, or a connection that is closed
}

func TestRandomlyClosedSocketsLeakNothing(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, roleEvent, helloEvent, worldEvent, finishEvent, usageEvent, doneEvent)
	}, configure(func(c *config.Config) { c.Tenants[0].Limits.Concurrent = 50 }))
	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a test's own dice
	for range 200 {
		c := s.dial(nil)
		hear := random.IntN(8)
		if hear > 0 {
			s.say(c, streamBody)
		}
		for range hear - 1 {
			if _, _, err := c.Read(t.Context()); err != nil {
				break
			}
		}
		if random.IntN(2) == 0 {
			_ = c.CloseNow()
		} else {
			_ = c.Close(ws.StatusNormalClosure, "")
		}
	}
	s.settled()
}

func TestPagesOfStrangersMayNotConnect(t *testing.T) {
	s := serve(t, replies(200, plainReply), configure(func(c *config.Config) { c.Origins = []config.Origin{"https://app.example"} }))
	dial := func(origin string) (int, error) {
		c, response, err := ws.Dial(t.Context(), s.url+"/v1/chat/completions", &ws.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}}) //nolint:bodyclose // the library reads it
		if err == nil {
			_ = c.CloseNow()
		}
		return response.StatusCode, err
	}
	if status, err := dial("https://evil.example"); err == nil || status != 403 {
		t.Errorf("a stranger: %d %v", status, err)
	}
	if status, err := dial("https://app.example"); err != nil || status != 101 {
		t.Errorf("an origin that is allowed: %d %v", status, err)
	}
	s.settled()
	if !strings.Contains(s.metrics(), `outcome="forbidden",status="403"`) {
		t.Error("the refusal is not counted")
	}
}

func TestUpgradeNamesTheRequest(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	c, response, err := ws.Dial(t.Context(), s.url+"/v1/chat/completions", &ws.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + searchKey}}}) //nolint:bodyclose // there is none after an upgrade
	if err != nil {
		t.Fatal(err)
	}
	s.say(c, plainBody)
	s.hear(c)
	s.settled()
	if id := response.Header.Get("X-Request-Id"); id == "" || !strings.Contains(s.logs.String(), `"request_id":"`+id+`"`) {
		t.Errorf("id %q, log %s", id, s.logs.String())
	}
}

func TestGetWithoutAnUpgradeIsNoRequest(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	r := s.request(t.Context(), "")
	r.Method = http.MethodGet
	if got := s.do(r); got.status != 405 || got.header.Get("Allow") != "POST" {
		t.Errorf("answer %d %s", got.status, got.body)
	}
}

func TestSocketOfAVendor(t *testing.T) {
	s := vendorFront(t, &anthropictest.Vendor{Answer: says(vendorStart, vendorText, vendorFinish, vendorStop)})
	c := s.dial(nil)
	s.say(c, streamBody)
	got := s.hear(c)
	if len(got) != 5 || !strings.Contains(got[1], `"content":"Hello"`) || got[3] != "[DONE]" || got[4] != "1000" {
		t.Errorf("heard %q", got)
	}
	s.settled()
}
