package websocket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	ws "github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/llmctl/llmctl/internal/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second // no test waits this long unless it fails

// serve starts a server whose connections are served by next.
func serve(t *testing.T, next http.HandlerFunc, origins ...string) (*Server, string) {
	t.Helper()
	s := &Server{
		Origins: func() []string { return origins },
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, problem *openai.Error) {
			openai.WriteError(w, status, problem)
		},
	}
	up := httptest.NewServer(s.Handler(next))
	t.Cleanup(func() {
		s.Close()
		up.Close()
	})
	return s, up.URL
}

func dial(t *testing.T, url string, o *ws.DialOptions) *ws.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := ws.Dial(ctx, url, o) //nolint:bodyclose // there is none after an upgrade
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func send(t *testing.T, c *ws.Conn, text string) {
	t.Helper()
	if err := c.Write(t.Context(), ws.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// listen reads messages up to the end of the connection: each, then the close
// code and reason.
func listen(t *testing.T, c *ws.Conn) (messages []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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

func events(w http.ResponseWriter, list ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range list {
		_, _ = io.WriteString(w, e)
		_ = http.NewResponseController(w).Flush()
	}
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name string
		next http.HandlerFunc
		want []string
	}{
		{"a message for each event", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "data: {\"a\":1}\n\n: keep-alive\n\n", "data: {\"b\":", "2}\n\ndata: [DONE]\n\n")
		}, []string{`{"a":1}`, `{"b":2}`, "[DONE]", "1000"}},
		{"events with names", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "event: response.created\ndata: {\"type\":\"response.created\"}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\"}\n\n")
		}, []string{`{"type":"response.created"}`, `{"type":"response.completed"}`, "1000"}},
		{"stream that fails", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "data: {\"a\":1}\n\n", "data: {\"error\":{}}\n\n")
		}, []string{`{"a":1}`, `{"error":{}}`, "1011 the answer is not complete"}},
		{"response that fails", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "event: response.failed\ndata: {\"type\":\"response.failed\"}\n\n")
		}, []string{`{"type":"response.failed"}`, "1011 the answer is not complete"}},
		{"bytes that are no text", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "data: \"a\xff\xfeb\"\n\ndata: [DONE]\n\n")
		}, []string{"\"a\uFFFDb\"", "[DONE]", "1000"}},
		{"one message for a whole answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"a":`)
			_, _ = io.WriteString(w, strings.Repeat("1", 100_000)+`}`)
		}, []string{`{"a":` + strings.Repeat("1", 100_000) + `}`, "1000"}},
		{"refused", func(w http.ResponseWriter, _ *http.Request) {
			openai.WriteError(w, 403, openai.NewError("permission_error", "no", "", "c"))
		}, []string{`{"error":{"message":"no","type":"permission_error","param":null,"code":"c"}}`, "1008 status 403"}},
		{"too much", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			openai.WriteError(w, 429, openai.NewError("requests", "later", "", ""))
		}, []string{`{"error":{"message":"later","type":"requests","param":null,"code":null}}`, "1013 status 429, retry after 3 s"}},
		{"broken upstream", func(w http.ResponseWriter, _ *http.Request) {
			openai.WriteError(w, 502, openai.NewError("upstream_error", "m", "", ""))
		}, []string{`{"error":{"message":"m","type":"upstream_error","param":null,"code":null}}`, "1011 status 502"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				tt.next(w, r)
			})
			c := dial(t, url, nil)
			send(t, c, "{}")
			if diff := cmp.Diff(tt.want, listen(t, c)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// The handler sees a POST with the first message as its body, a bearer token, and
// nothing of the handshake.
func TestRequest(t *testing.T) {
	for _, tt := range []struct {
		name     string
		header   http.Header
		protocol []string
		auth     []string
	}{
		{"header", http.Header{"Authorization": {"Bearer k"}}, nil, []string{"Bearer k"}},
		{"beside the sub-protocol", nil, []string{"llmctl", "key.sk-1.2"}, []string{"Bearer sk-1.2"}},
		{"key without the sub-protocol", nil, []string{"key.sk"}, nil},
		{"two credentials stay two", http.Header{"Authorization": {"Bearer k"}}, []string{"llmctl", "key.sk"}, []string{"Bearer k", "Bearer sk"}},
		{"none", nil, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got http.Header
			var line string
			_, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !IsMessage(r) {
					t.Error("the body is not known as a message")
				}
				body, err := io.ReadAll(r.Body)
				got, line = r.Header, fmt.Sprintf("%s %s %s %v", r.Method, r.URL.Path, body, err)
				events(w, "data: [DONE]\n\n")
			})
			c := dial(t, url+"/v1/x", &ws.DialOptions{HTTPHeader: tt.header, Subprotocols: tt.protocol})
			send(t, c, `{"a":1}`)
			listen(t, c)
			if line != `POST /v1/x {"a":1} <nil>` {
				t.Errorf("request %s", line)
			}
			if diff := cmp.Diff(tt.auth, got.Values("Authorization")); diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
			for name := range got {
				if strings.HasPrefix(name, "Sec-") || name == "Upgrade" || name == "Connection" {
					t.Errorf("header %s", name)
				}
			}
			if tt.name == "beside the sub-protocol" && c.Subprotocol() != "llmctl" {
				t.Errorf("sub-protocol %q was taken", c.Subprotocol())
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	for _, tt := range []struct {
		origin, host string
		patterns     []string
		want         bool
	}{
		{"", "api.example.com", nil, true},
		{"https://api.example.com", "api.example.com", nil, true},
		{"http://127.0.0.1:8080", "127.0.0.1:8080", nil, true},
		{"http://127.0.0.1:8081", "127.0.0.1:8080", nil, false},
		{"https://evil.example", "api.example.com", nil, false},
		{"null", "api.example.com", []string{"https://*"}, false},
		{"null", "api.example.com", []string{"*"}, true},
		{"https://App.example.com", "api.example.com", []string{"https://app.example.com"}, true},
		{"http://app.example.com", "api.example.com", []string{"https://app.example.com"}, false},
		{"https://a.example.com", "x", []string{"https://*.example.com"}, true},
		{"https://a.example.com.evil.example", "x", []string{"https://*.example.com"}, false},
		{"https://evil.example/.example.com", "x", []string{"https://*.example.com"}, false},
		{"://", "x", []string{"https://a"}, false},
	} {
		if got := allowed(tt.origin, tt.host, tt.patterns); got != tt.want {
			t.Errorf("allowed(%q, %q, %q) = %v", tt.origin, tt.host, tt.patterns, got)
		}
	}
}

func TestHandshakesThatAreRefused(t *testing.T) {
	_, url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("served") }, "https://app.example")
	for _, tt := range []struct {
		name   string
		header http.Header
		status int
		code   string
	}{
		{"page of a stranger", http.Header{"Origin": {"https://evil.example"}}, 403, "origin_not_allowed"},
		{"old version", http.Header{"Sec-Websocket-Version": {"8"}}, 400, ""},
		{"no key of the handshake", http.Header{"Sec-Websocket-Key": nil}, 400, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
			if !IsUpgrade(r) {
				t.Error("not seen as an upgrade")
			}
			for name, values := range tt.header {
				r.Header[name] = values
			}
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || response.StatusCode != tt.status || response.Header.Get("Content-Type") != "application/json" ||
				!strings.Contains(string(body), `"error"`) || !strings.Contains(string(body), tt.code) {
				t.Errorf("%d %s (%v)", response.StatusCode, body, err)
			}
		})
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// A client that closes the connection, politely or not, or that sends a second
// message, ends its request.
func TestLeavingEndsTheRequest(t *testing.T) {
	for name, leave := range map[string]func(*ws.Conn){
		"close":          func(c *ws.Conn) { _ = c.Close(ws.StatusNormalClosure, "") },
		"cut":            func(c *ws.Conn) { _ = c.CloseNow() },
		"second message": func(c *ws.Conn) { _ = c.Write(context.Background(), ws.MessageText, []byte("{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan struct{})
			_, url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				close(began)
				<-r.Context().Done()
				close(ended)
			})
			c := dial(t, url, nil)
			send(t, c, "{}")
			wait(t, began)
			leave(c)
			wait(t, ended)
			if got := listen(t, c); name == "second message" && (len(got) != 1 || got[0] != "1008 a connection carries one request") {
				t.Errorf("heard %q", got)
			}
		})
	}
}

func TestLeavingBeforeTheMessageEndsTheRequest(t *testing.T) {
	got := make(chan error, 1)
	_, url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		<-r.Context().Done()
		got <- err
	})
	_ = dial(t, url, nil).CloseNow()
	if err := wait(t, got); err == nil {
		t.Error("the body of a client that left ended well")
	}
}

// A client that sends nothing hears that it was too slow.
func TestSilenceIsBounded(t *testing.T) {
	_, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, err := io.ReadAll(r.Body)
		_ = control.SetReadDeadline(time.Time{})
		if !errors.Is(err, os.ErrDeadlineExceeded) || r.Context().Err() != nil {
			t.Errorf("read %v, context %v", err, r.Context().Err())
		}
		openai.WriteError(w, 400, openai.NewError("invalid_request_error", "slow", "", ""))
	})
	if got := listen(t, dial(t, url, nil)); len(got) != 2 || got[1] != "1008 status 400" {
		t.Errorf("heard %q", got)
	}
}

func TestMessageBeyondTheLimit(t *testing.T) {
	_, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1000)); err == nil {
			t.Error("read")
		}
		openai.WriteError(w, 413, openai.NewError("invalid_request_error", "large", "", "request_too_large"))
	})
	c := dial(t, url, nil)
	send(t, c, strings.Repeat("x", 100_000))
	if got := listen(t, c); len(got) != 2 || !strings.Contains(got[0], "request_too_large") || got[1] != "1009 status 413" {
		t.Errorf("heard %q", got)
	}
}

// A client that does not read slows the handler down, and is given up at the
// deadline of the write.
func TestSlowReaderIsBounded(t *testing.T) {
	failed := make(chan int, 1)
	_, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		event := []byte("data: " + strings.Repeat("x", 64<<10) + "\n\n")
		for n := 0; ; n++ {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := w.Write(event); err != nil {
				failed <- n
				return
			}
		}
	})
	c := dial(t, url, nil)
	send(t, c, "{}")
	if n := wait(t, failed); n > 1<<10 {
		t.Errorf("%d messages of 64 KiB were taken for a client that reads none", n)
	}
}

func TestClientsArePinged(t *testing.T) {
	for _, answers := range []bool{true, false} {
		ended := make(chan struct{}, 1)
		s, url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
			ended <- struct{}{}
		})
		s.pings = pings{every: time.Millisecond, patience: 50 * time.Millisecond}
		if answers {
			s.pings.patience = patience
		}
		pinged := make(chan struct{}, 1)
		c := dial(t, url, &ws.DialOptions{OnPingReceived: func(context.Context, []byte) bool {
			select {
			case pinged <- struct{}{}:
			default:
			}
			return answers
		}})
		send(t, c, "{}")
		heard := make(chan []string, 1)
		go func() { heard <- listen(t, c) }() // a client that reads
		wait(t, pinged)
		if answers {
			wait(t, pinged)
			if len(ended) > 0 {
				t.Error("a client that answers is given up")
			}
			_ = c.CloseNow()
		}
		wait(t, ended)
		wait(t, heard)
	}
}

func TestHandlerThatPanicsLeavesNothingBehind(t *testing.T) {
	s, url := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	c := dial(t, url, nil)
	if got := listen(t, c); len(got) != 1 || strings.HasPrefix(got[0], "1000") {
		t.Errorf("heard %q", got)
	}
	s.Close()
	if len(s.open) != 0 {
		t.Error("the connection is still there")
	}
}

func TestClosedServerRefuses(t *testing.T) {
	s, url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("served") })
	s.Close()
	if _, response, err := ws.Dial(t.Context(), url, nil); err == nil || response.StatusCode != 503 { //nolint:bodyclose // the library reads it
		t.Errorf("dialing a closed server: %v", err)
	}
}

// A client that does not close its side holds nothing up.
func TestCloseCutsClientsOff(t *testing.T) {
	s, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		events(w, "data: [DONE]\n\n")
	})
	c := dial(t, url, nil)
	send(t, c, "{}")
	began := time.Now()
	s.Close()
	if d := time.Since(began); d > 4*time.Second {
		t.Errorf("closing took %s, as long as the library waits", d)
	}
}

func wait[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("timed out")
		panic("unreachable")
	}
}

func BenchmarkEvents(b *testing.B) {
	s := &Server{}
	up := httptest.NewServer(s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		event := []byte(`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}` + "\n\n")
		for {
			if _, err := w.Write(event); err != nil {
				return
			}
		}
	})))
	defer up.Close()
	defer s.Close()
	c, _, err := ws.Dial(b.Context(), up.URL, nil) //nolint:bodyclose // there is none after an upgrade
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Write(b.Context(), ws.MessageText, []byte("{}")); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.CloseNow()
}

// RFC 6455, sections 5.1 and 5.2.
func TestFramesThatBreakTheProtocol(t *testing.T) {
	for name, frame := range map[string]string{
		"without a mask":             "\x81\x02{}",
		"a length of more than 2^63": "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00",
	} {
		_, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.WriteHeader(499)
		})
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"+frame)
		got := make([]byte, 4096)
		n := 0
		for !strings.Contains(string(got[:n]), "\x03\xea") {
			m, err := conn.Read(got[n:])
			if n += m; err != nil {
				t.Errorf("%s: no close frame with 1002 in %q: %v", name, got[:n], err)
				break
			}
		}
		_ = conn.Close()
	}
}
