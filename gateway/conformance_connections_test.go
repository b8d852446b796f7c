package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// dialing is a client for upstreams whose connections come from dial.
func dialing(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(*config.Config, *Options) {
	return func(_ *config.Config, o *Options) {
		o.Client = newClient()
		o.Client.Transport.(*http.Transport).DialContext = dial
	}
}

// Of servers that cannot be reached the client learns nothing but that: names and
// addresses of the inner network are none of its business. Nothing is charged.
func TestUpstreamsThatCanNotBeReached(t *testing.T) {
	secret := httptest.NewUnstartedServer(replies(200, plainReply)) // whose certificate nobody knows
	secret.Config.ErrorLog = log.New(io.Discard, "", 0)
	secret.StartTLS()
	t.Cleanup(secret.Close)
	plain := httptest.NewServer(replies(200, plainReply))
	t.Cleanup(plain.Close)
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := closing.Accept()
			if err != nil {
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(0) // a reset
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = closing.Close(); <-done })

	nameless := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "engine.internal", IsNotFound: true}}
	}
	tests := []struct {
		name, endpoint string
		edit           []func(*config.Config, *Options)
	}{
		{"a name that is not known", "http://engine.internal:8000", []func(*config.Config, *Options){dialing(nameless)}},
		{"a certificate of nobody's", secret.URL, nil},
		{"TLS where there is none", strings.Replace(plain.URL, "http:", "https:", 1), nil},
		{"a connection that is reset", "http://" + closing.Addr().String(), nil},
		{"nobody who listens", "http://127.0.0.1:1", nil},
	}
	for _, test := range tests {
		for kind, body := range map[string]string{"stream": streamBody, "whole": plainBody} {
			t.Run(test.name+", "+kind, func(t *testing.T) {
				s := front(t, test.endpoint, test.edit...)
				got := s.post(body)
				if got.status != 502 || gjson.Get(got.body, "error.code").Str != "upstream_unreachable" {
					t.Errorf("status %d: %s", got.status, got.body)
				}
				for _, inner := range []string{"engine.internal", "127.0.0.1", "x509", "dial"} {
					if strings.Contains(got.body, inner) {
						t.Errorf("the answer tells of %q: %s", inner, got.body)
					}
				}
				s.settled()
				if used := s.gateway.limits.Ledger().Settled; used != 0 {
					t.Errorf("%d tokens charged", used)
				}
				if gjson.Get(s.logs.String(), "cause").Str == "" {
					t.Errorf("the log does not say why: %s", s.logs)
				}
			})
		}
	}
}

// An event that never ends fills no memory, and no clean end hides that it was cut.
func TestAnEventBeyondTheLimitIsAnError(t *testing.T) {
	piece := strings.Repeat("x", 1<<20)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent, `data: {"choices":[{"index":0,"delta":{"content":"`)
		for range maxEvent>>20 + 1 {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
		sse(w, `"}}]}`+"\n\n", finishEvent, doneEvent)
	})
	got := s.post(streamBody)
	rest, begun := strings.CutPrefix(got.body, helloEvent)
	if !begun || gjson.Get(strings.TrimPrefix(rest, "data: "), "error.code").Str != "stream_interrupted" || strings.Contains(rest, "[DONE]") {
		t.Errorf("%d bytes, after the first event %.300q", len(got.body), rest)
	}
	s.settled()
}

// Clients send bodies in every way that HTTP has.
func TestBodiesInEveryWayOfHTTP(t *testing.T) {
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }
	for _, test := range []struct {
		name, header, body string
		status             int
	}{
		{"with its length", length(len(plainBody)), plainBody, 200},
		{"in chunks", "Transfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n1\r\n}\r\n0\r\nX-Trailer: 1\r\n\r\n", len(plainBody)-1, plainBody[:len(plainBody)-1]), 200},
		{"after asking whether it may", "Expect: 100-continue\r\n" + length(len(plainBody)), plainBody, 200},
		{"without a type", "Content-Type:\r\n" + length(len(plainBody)), plainBody, 200},
		{"as a form, which curl says by default", "Content-Type: application/x-www-form-urlencoded\r\n" + length(len(plainBody)), plainBody, 200},
		{"not at all", "", "", 400},
		{"shorter than said, by one who leaves: never 200", length(len(plainBody) + 10), plainBody, statusClientGone},
		{"with two lengths", length(len(plainBody)) + length(3), plainBody, 400},
		{"with a length and in chunks", length(3) + "Transfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(plainBody), plainBody), 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, replies(200, plainReply))
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close() //nolint:errcheck // of a test
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n%s", searchKey, test.header, test.body)
			if test.status == statusClientGone {
				_ = conn.(*net.TCPConn).CloseWrite()
			}
			r := bufio.NewReader(conn)
			response, err := http.ReadResponse(r, nil)
			for err == nil && response.StatusCode == http.StatusContinue {
				response, err = http.ReadResponse(r, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() //nolint:errcheck // of a test
			if response.StatusCode != test.status {
				t.Errorf("status %d, want %d", response.StatusCode, test.status)
			}
		})
	}
}

// Requests for two models at once are counted each under its own.
func TestParallelRequestsAreCountedApart(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := 3
		if gjson.GetBytes(body, "model").Str == "large-model" {
			n = 5
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}`, n)
	})
	var clients sync.WaitGroup
	for i := range 60 {
		clients.Go(func() { s.post(strings.Replace(plainBody, "small", []string{"small", "large"}[i%2], 1)) })
	}
	clients.Wait()
	s.settled()
	metrics := s.metrics()
	for alias, want := range map[string]int{"small": 30 * 3, "large": 30 * 5} {
		model := map[string]string{"small": "real-model", "large": "large-model"}[alias]
		line := fmt.Sprintf(`llmctl_gateway_tokens_total{alias=%q,arm="stable",deployment="cluster/%s",kind="output",tenant="search"} %d`, alias, model, want)
		if !strings.Contains(metrics, line) {
			t.Errorf("no %s", line)
		}
	}
}
