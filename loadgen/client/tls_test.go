package client

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/llmctl/llmctl/loadgen/client/wire"
	"github.com/llmctl/llmctl/reports/record"
)

// trusting is how to verify a test server.
func trusting(t *testing.T, server *httptest.Server) *tls.Config {
	t.Helper()
	config, err := NewTLS(false, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestHTTP2WithoutALPN: the version asked for is spoken or none.
func TestHTTP2WithoutALPN(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, c("a")+done)
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	server.TLS.NextProtos = nil // httptest names HTTP/1.1, by which the handshake itself fails
	defer server.Close()
	for _, tt := range []struct {
		http    HTTP
		failure record.Failure
	}{{HTTPAuto, ""}, {HTTP2, record.TLS}} {
		before := asked.Load()
		client := newClient(t, "wire", Options{Endpoint: server.URL, HTTP: tt.http, TLS: trusting(t, server)})
		r := new(record.Record)
		client.Do(t.Context(), Request{}, r)
		client.Close()
		if r.Failure != tt.failure || tt.failure != "" && (!strings.Contains(r.Detail, "ALPN") || asked.Load() != before) {
			t.Errorf("%s: %s %s %q, the server saw %d requests", tt.http, r.Outcome, r.Failure, r.Detail, asked.Load()-before)
		}
	}
}

// TestT41KeepAliveRaceOverTLS: as over plain HTTP, a request that meets a
// connection which the server is closing is sent once more, and counted.
func TestT41KeepAliveRaceOverTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", certified.TLS)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			answerOnce(conn)
		}
	}()
	config := trusting(t, certified)
	client := newClient(t, "wire", Options{Endpoint: "https://" + l.Addr().String(), TLS: config})
	for i, want := range []int{1, 2, 2} {
		r := new(record.Record)
		client.Do(t.Context(), Request{Body: []byte("{}")}, r)
		if r.Outcome != record.OK || r.Attempts != want {
			t.Errorf("request %d: %d attempts, want %d; %s %s %q", i, r.Attempts, want, r.Outcome, r.Failure, r.Detail)
		}
	}
	client.Close()
	_ = l.Close()
	<-served
}

// answerOnce answers one request of a connection, and closes it on the next.
func answerOnce(conn net.Conn) {
	defer conn.Close()
	b := bufio.NewReader(conn)
	for i := range 2 {
		request, err := http.ReadRequest(b)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		if i == 0 {
			_, _ = io.WriteString(conn, strings.Join(body(c("a"), done).reads(), ""))
		}
	}
}

// TestNoCompression: nobody asks for it, as it would hold back events.
func TestNoCompression(t *testing.T) {
	var accepts atomic.Value
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accepts.Store(strings.Join(r.Header.Values("Accept-Encoding"), ","))
		_, _ = io.WriteString(w, c("a")+done)
	}))
	defer server.Close()
	client := newClient(t, "wire", Options{Endpoint: server.URL, TLS: trusting(t, server)})
	defer client.Close()
	r := new(record.Record)
	client.Do(t.Context(), Request{}, r)
	if got, _ := accepts.Load().(string); got != "" || r.Outcome != record.OK {
		t.Errorf("%s %q, accepts %q", r.Outcome, r.Detail, got)
	}
}

// TestKeepAliveIsShort: uvicorn closes idle connections after 5 s.
func TestKeepAliveIsShort(t *testing.T) {
	transport := Options{}.NewTransport()
	if wire.KeepAlive.Seconds() != 4 || transport.IdleConnTimeout != wire.KeepAlive {
		t.Errorf("idle connections are kept for %v and %v, want 4s", wire.KeepAlive, transport.IdleConnTimeout)
	}
}

// TestClassesDoNotDiffer: what is no HTTP is of the same class on both
// transports. (Half a status line is not: net/http takes it for a whole one.)
func TestClassesDoNotDiffer(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	chunked := ok + "Transfer-Encoding: chunked\r\n\r\n"
	for _, tt := range []struct {
		name, answer string
		want         record.Failure
		detail       string
	}{
		{"half a head", "HTTP/1.1 200 OK\r\nContent-Type: te", record.Truncated, ""},
		{"a head without its end", ok, record.Truncated, ""},
		{"a head of 1.2 MB", ok + strings.Repeat("X-Y: "+strings.Repeat("z", 1000)+"\r\n", 1200) + "\r\n", record.Malformed, ""},
		{"bare line feed after a chunk size", chunked + "3\nabc\r\n0\r\n\r\n", record.Malformed, ""},
		{"bare line feed after a chunk", chunked + "3\r\nabc\n0\r\n\r\n", record.Malformed, ""},
		{"chunk size that is none", chunked + "x\r\n", record.Malformed, ""},
		{"chunk size that is too large", chunked + "11111111111111111\r\n", record.Malformed, ""},
		{"endless chunk size", chunked + "3;" + strings.Repeat("x", 40_000), record.Malformed, ""},
		{"frames of HTTP/2", "\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x04\x00\x10\x00\x00", record.Malformed, "frames of HTTP/2"},
		{"another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n", record.Malformed, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, transport := range transports {
				r := play(t, transport, Options{}, []string{tt.answer})
				if r.Failure != tt.want || !strings.Contains(r.Detail, tt.detail) {
					t.Errorf("%s: %s %q, want %s", transport, r.Failure, r.Detail, tt.want)
				}
			}
		})
	}
}
