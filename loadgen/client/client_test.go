package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/reports/record"
)

// dials answers each connection with the next tape, the last one again and
// again, and counts them.
func dials(count *int, tapes ...[]string) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		reads := tapes[min(*count, len(tapes)-1)]
		*count++
		return newTape(append([]string(nil), reads...)), nil
	}
}

// TestRetries is T40: no request is sent again unless that was asked for; then
// attempts are counted, and time runs from the first.
func TestRetries(t *testing.T) {
	later := (&response{status: 503, fields: "Connection: close\r\nRetry-After: 3\r\n"}).reads()
	busy := (&response{status: 503, fields: "Connection: close\r\n"}).reads()
	// The bubble of synctest begins at this date.
	dated := (&response{status: 503, fields: "Connection: close\r\nRetry-After: Sat, 01 Jan 2000 00:00:04 GMT\r\n"}).reads()
	bad := (&response{status: 404}).reads()
	fine := body(c("a"), finish("stop"), done).reads()
	for _, tt := range []struct {
		name     string
		retries  int
		tapes    [][]string
		attempts int
		failure  record.Failure
		took     time.Duration
	}{
		{"none by default", 0, [][]string{busy, fine}, 1, "http_503", 0},
		{"twice, then fine", 2, [][]string{busy, busy, fine}, 3, "", 1500 * time.Millisecond},
		{"not enough", 1, [][]string{busy, busy, fine}, 2, "http_503", 500 * time.Millisecond},
		{"the server names a date", 1, [][]string{dated, fine}, 2, "", 4 * time.Second},
		{"the server says when", 1, [][]string{later, fine}, 2, "", 3 * time.Second},
		{"what does not pass", 5, [][]string{bad, fine}, 1, "http_404", 0},
		{"longer than the request may take", 9, [][]string{busy}, 4, record.TimeoutTotal, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, transport := range transports {
				synctest.Test(t, func(t *testing.T) {
					start, count := time.Now(), 0
					client := newClient(t, transport, Options{Retries: tt.retries, TotalTimeout: 5 * time.Second, Dial: dials(&count, tt.tapes...),
						Now: func() time.Duration { return time.Since(start) }})
					defer client.Close()
					r := new(record.Record)
					client.Do(t.Context(), Request{}, r)
					if r.Attempts != tt.attempts || r.Failure != tt.failure || (r.Outcome == record.OK) != (tt.failure == "") || time.Since(start) != tt.took {
						t.Errorf("%s: %d attempts, %s %q after %v", transport, r.Attempts, r.Failure, r.Detail, time.Since(start))
					}
					if since(r.Sent) != 0 || r.Outcome == record.OK && since(r.First) != tt.took {
						t.Errorf("%s: sent at %v, first token at %v", transport, since(r.Sent), since(r.First))
					}
				})
			}
		})
	}
}

// TestKeepAliveRace is T41: a request that meets a connection which the server is
// closing is sent once more, and counted.
func TestKeepAliveRace(t *testing.T) {
	once := body(c("a"), finish("stop"), done).reads() // then the server closes
	for _, tt := range []struct {
		name     string
		tapes    [][]string
		attempts []int
		outcome  record.Outcome
	}{
		{"closed while idle", [][]string{once}, []int{1, 2, 2}, record.OK},
		{"refused for good", [][]string{nil}, []int{1, 1}, record.Failed},
		{"closed within the answer", [][]string{{once[0]}}, []int{1, 1}, record.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			count := 0
			client := newClient(t, "wire", Options{Dial: dials(&count, tt.tapes...)})
			defer client.Close()
			for i, want := range tt.attempts {
				r := new(record.Record)
				client.Do(t.Context(), Request{}, r)
				if r.Attempts != want || r.Outcome != tt.outcome {
					t.Errorf("request %d: %d attempts, want %d; %s %s %q", i, r.Attempts, want, r.Outcome, r.Failure, r.Detail)
				}
			}
		})
	}
}

// TestRefusedByName is the second half of T26, and its like: what the server
// refuses by name is left out, from then on at once.
func TestRefusedByName(t *testing.T) {
	const full = `{"min_tokens":4,"stream_options":{"include_usage":true},"ignore_eos":true,"x":1}`
	for _, tt := range []struct {
		name      string
		refuses   []string // one after the other
		message   string
		attempts  int
		left      string
		warnings  []string
		shortness bool // fewer tokens than asked for are a short output
	}{
		{"nothing", nil, "", 1, full, nil, true},
		{"usage", []string{"stream_options"}, "unknown field %s", 2, `{"min_tokens":4,"ignore_eos":true,"x":1}`, []string{"usage_refused"}, true},
		{"both ways to ask for a length", []string{"ignore_eos", "min_tokens"}, "extra inputs: %s", 3, `{"stream_options":{"include_usage":true},"x":1}`, []string{"exact_refused"}, false},
		{"all", []string{"ignore_eos", "min_tokens", "stream_options"}, "%s?", 4, `{"x":1}`, []string{"usage_refused", "exact_refused"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got atomic.Pointer[string]
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				text := string(data)
				got.Store(&text)
				for _, name := range tt.refuses {
					if strings.Contains(text, name) {
						w.WriteHeader(400)
						_, _ = fmt.Fprintf(w, tt.message, name)
						return
					}
				}
				_, _ = io.WriteString(w, c("a")+usage("1")+done)
			}))
			defer server.Close()
			client := newClient(t, "wire", Options{Endpoint: server.URL})
			defer client.Close()
			for _, attempts := range []int{tt.attempts, 1} {
				r := &record.Record{AskedOutput: record.Counted(4)}
				client.Do(t.Context(), Request{Body: []byte(full), Exact: true}, r)
				if r.Outcome != record.OK || r.Attempts != attempts || *got.Load() != tt.left || r.ShortOutput != tt.shortness {
					t.Errorf("%s %q, %d attempts (want %d), short %v, sent %s", r.Outcome, r.Detail, r.Attempts, attempts, r.ShortOutput, *got.Load())
				}
			}
			var codes []string
			for _, w := range client.Warnings() {
				codes = append(codes, w.Code)
			}
			if diff := cmp.Diff(tt.warnings, codes); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("what an echo names", func(t *testing.T) {
		// Each page fails its request for a reason of its own.
		for _, page := range []string{
			`{"detail":[{"type":"less_than","loc":["body","x"],"msg":"Input should be less than 1","input":` + full + `}]}`,
			"can not serve " + full,
		} {
			var bad atomic.Bool
			var served atomic.Pointer[string]
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				text := string(data)
				served.Store(&text)
				if bad.Load() {
					w.WriteHeader(422)
					_, _ = io.WriteString(w, page)
					return
				}
				_, _ = io.WriteString(w, c("a")+usage("1")+done)
			}))
			defer server.Close()
			client := newClient(t, "wire", Options{Endpoint: server.URL})
			defer client.Close()
			for _, refused := range []bool{true, false} {
				bad.Store(refused)
				r := &record.Record{AskedOutput: record.Counted(4)}
				client.Do(t.Context(), Request{Body: []byte(full), Exact: true}, r)
				if (r.Failure == "http_422") != refused {
					t.Errorf("%s %q", r.Failure, r.Detail)
				}
			}
			if *served.Load() != full || client.Warnings() != nil {
				t.Errorf("after %s: sent %s, warnings %v", page, *served.Load(), client.Warnings())
			}
		}
	})
	t.Run("what the body does not hold", func(t *testing.T) {
		r := both(t, Options{}, (&response{status: 400, pieces: cut("stream_options and ignore_eos")}).reads())
		if r.Failure != "http_400" || r.Attempts != 1 {
			t.Errorf("%s after %d attempts", r.Failure, r.Attempts)
		}
	})
}

// TestCancelled: the user leaves at a time, exactly, and the connection is
// closed.
func TestCancelled(t *testing.T) {
	for _, tt := range []struct {
		name    string
		events  []string // one a second from the first second on
		leave   time.Duration
		outcome record.Outcome
		closed  time.Duration
		chunks  int
	}{
		{"before the answer", nil, 500 * time.Millisecond, record.Cancelled, 500 * time.Millisecond, 0},
		{"within the answer", []string{c("a"), c("b"), c("c"), c("d")}, 2500 * time.Millisecond, record.Cancelled, 2500 * time.Millisecond, 2},
		{"after the answer", []string{c("a"), finish("stop") + done}, 3 * time.Second, record.OK, 2 * time.Second, 1},
		{"after finish_reason", []string{c("a"), finish("stop")}, 3 * time.Second, record.OK, -1, 1},
		{"never", []string{c("a"), done}, 0, record.OK, 2 * time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, transport := range transports {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					gone := make(chan time.Duration, 1)
					client := newClient(t, transport, Options{Now: func() time.Duration { return time.Since(start) },
						Dial: func(context.Context, string, string) (net.Conn, error) {
							near, far := net.Pipe()
							go func() {
								drip(far, tt.events)
								gone <- time.Since(start)
							}()
							return near, nil
						}})
					r := new(record.Record)
					client.Do(t.Context(), Request{CancelAfter: tt.leave}, r)
					client.Close()
					left := <-gone
					if r.Outcome != tt.outcome || since(r.Closed) != tt.closed || chunks(r) != tt.chunks {
						t.Errorf("%s: %s %q closed at %v, %d events", transport, r.Outcome, r.Detail, since(r.Closed), chunks(r))
					}
					if r.Outcome == record.Cancelled && left != tt.leave {
						t.Errorf("%s: the server saw the client leave at %v, want %v", transport, left, tt.leave)
					}
				})
			}
		})
	}
}

// drip sends one event a second and waits until the client leaves.
func drip(conn net.Conn, events []string) {
	defer conn.Close()
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = io.Copy(io.Discard, conn)
	}()
	for i, e := range events {
		select {
		case <-time.After(time.Second):
		case <-left:
			return
		}
		if i == 0 {
			_, _ = io.WriteString(conn, body().head("HTTP/1.1", "Transfer-Encoding: chunked\r\n"))
		}
		_, _ = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(e), e)
	}
	<-left
}

// TestKeep: the answer as the next turn carries it.
func TestKeep(t *testing.T) {
	piece := func(s string) string { return delta(`{"tool_calls":[` + s + `]}`) }
	for _, tt := range []struct {
		name   string
		events []string
		text   string
		calls  string
	}{
		{"text without reasoning", []string{delta(`{"reasoning":"hm"}`), c("a"), c(` \"b\"`), done}, `a "b"`, ""},
		{"a call in pieces", []string{
			piece(`{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}`),
			piece(`{"index":0,"function":{"arguments":"{\"a\":"}}`), piece(`{"index":0,"function":{"arguments":"1}"}}`), done},
			"", `[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]`},
		{"two calls, mixed and out of order", []string{
			c("x"), piece(`{"index":1,"id":"b","function":{"name":"g","arguments":"2"}},{"index":0,"id":"a","function":{"name":"f"}}`),
			piece(`{"index":0,"function":{"arguments":"1"}}`), done},
			"x", `[{"id":"a","type":"function","function":{"name":"f","arguments":"1"}},{"id":"b","type":"function","function":{"name":"g","arguments":"2"}}]`},
		{"whole calls without index, arguments not quoted", []string{
			piece(`{"id":"a","function":{"name":"f","arguments":{"x":1}}},{"id":"b","function":{"name":"g","arguments":null}}`), done},
			"", `[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]`},
		{"text of parts, without their thinking", []string{delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`), c("b"), done}, "ab", ""},
		{"two choices of index 0 in one event", []string{event(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":0,"delta":{"content":"b"}}]}`), done}, "ab", ""},
		{"completions of two indexes", []string{event(`{"choices":[{"index":1,"text":"b"}]}`), event(`{"choices":[{"index":0,"text":"a"}]}`), done}, "a", ""},
		{"calls of the Responses API", []string{
			event(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`),
			event(`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\":1}"}`),
			event(`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}}`),
			event(`{"type":"response.output_item.done","output_index":1,"item":{"type":"custom_tool_call","call_id":"b","name":"g","input":"go"}}`),
			event(`{"type":"response.completed","response":{"status":"completed"}}`)},
			"", `[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"go"}}]`},
		{"null, empty and nonsense", []string{delta(`{"content":"a","tool_calls":null}`), delta(`{"tool_calls":[]}`), delta(`{"tool_calls":[7]}`), done}, "a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			count := 0
			client := newClient(t, "wire", Options{Dial: dials(&count, body(tt.events...).reads())})
			defer client.Close()
			got := client.Do(t.Context(), Request{Keep: true}, new(record.Record))
			if got.Text != tt.text || string(got.ToolCalls) != tt.calls {
				t.Errorf("text %q, calls %s", got.Text, got.ToolCalls)
			}
			if tt.calls != "" && !json.Valid(got.ToolCalls) {
				t.Error("the calls are not JSON")
			}
		})
	}
}

// TestDocument: the answer of the embeddings API is one JSON document.
func TestDocument(t *testing.T) {
	const whole = `{"object":"list","data":[{"embedding":[0.5]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`
	for _, tt := range []struct {
		name    string
		answer  *response
		failure record.Failure
	}{
		{"whole", &response{kind: "application/json", pieces: cut(whole[:20], whole[20:])}, ""},
		{"T34 detail", &response{kind: "application/json", pieces: cut(`{"detail":"oops"}`)}, record.StreamError},
		{"empty object", &response{kind: "application/json", pieces: cut(`{}`)}, record.NoOutput},
		{"empty list", &response{kind: "application/json", pieces: cut(`{"object":"list","data":[]}`)}, record.NoOutput},
		{"answer of another API", &response{kind: "application/json", pieces: cut(`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`)}, record.NoOutput},
		{"cut", &response{kind: "application/json", pieces: cut(whole), broken: true}, record.Truncated},
		{"error", &response{kind: "application/json", pieces: cut(`{"error":{"message":"m"}}`)}, record.StreamError},
		{"no JSON", &response{pieces: cut("hello")}, record.Malformed},
		{"empty", &response{}, record.Malformed},
		{"refused", &response{status: 429, pieces: cut("later")}, "http_429"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := both(t, Options{API: Embeddings}, tt.answer.reads())
			if r.Failure != tt.failure || (r.Outcome == record.OK) != (tt.failure == "") || r.Output.Known() {
				t.Fatalf("%s %s %q, output %v", r.Outcome, r.Failure, r.Detail, r.Output)
			}
			if good := tt.failure == ""; good != (r.First.Known() && r.First == r.Last && r.Last == r.Closed && r.Input == record.Counted(7)) {
				t.Errorf("first %v, last %v, closed %v, input %v", r.First, r.Last, r.Closed, r.Input)
			}
		})
	}
}

// TestEndpoints: sessions are dealt out in turn and stay where they are.
func TestEndpoints(t *testing.T) {
	var seen [3]atomic.Int64
	var o Options
	for i := range seen {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			seen[i].Add(1)
			_, _ = io.WriteString(w, c("a")+done)
		}))
		defer server.Close()
		if i == 0 {
			o.Endpoint = server.URL
		} else {
			o.Others = append(o.Others, server.URL)
		}
	}
	client := newClient(t, "wire", o)
	defer client.Close()
	if err := client.Warm(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	for session := range int64(9) {
		for turn := range 2 {
			r := &record.Record{Session: session, Turn: turn}
			client.Do(t.Context(), Request{}, r)
			if r.Endpoint != record.Counted(int(session%3)) || r.Outcome != record.OK {
				t.Errorf("session %d went to %v: %s", session, r.Endpoint, r.Detail)
			}
		}
	}
	if a, b, c := seen[0].Load(), seen[1].Load(), seen[2].Load(); a != 6 || b != 6 || c != 6 {
		t.Errorf("%d, %d and %d requests, want 6 each", a, b, c)
	}
}

// TestWarmEndpoints: an endpoint that does not answer keeps nobody from opening
// connections to the others.
func TestWarmEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		client := newClient(t, "wire", Options{Endpoint: "http://silent:1", Others: []string{"http://open:1"}, ConnectTimeout: time.Hour,
			Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				if address == "open:1" {
					opened.Add(1)
					return newTape(nil), nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := client.Warm(ctx, 9); !errors.Is(err, context.DeadlineExceeded) || opened.Load() != 4 {
			t.Errorf("%d opened, want 4; error %v", opened.Load(), err)
		}
	})
}

// TestProtocols: each version of HTTP, with and without TLS, with verified and
// client certificates.
func TestProtocols(t *testing.T) {
	var proto atomic.Value
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto.Store(fmt.Sprintf("%s host=%s certificates=%d", r.Proto, r.Host, peers(r)))
		_, _ = io.WriteString(w, c("a")+done)
	})
	start := func(secure bool) *httptest.Server {
		server := httptest.NewUnstartedServer(handler)
		server.EnableHTTP2 = true
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetHTTP2(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		if secure {
			server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
			server.StartTLS()
		} else {
			server.Start()
		}
		return server
	}
	secure, plain := start(true), start(false)
	defer secure.Close()
	defer plain.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	trusting, err := NewTLS(false, ca, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	insecure, err := NewTLS(true, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	insecure.Certificates = secure.TLS.Certificates
	for _, tt := range []struct {
		name string
		o    Options
		want string // part of what the server saw; empty: no trust
	}{
		{"plain", Options{Endpoint: plain.URL}, "HTTP/1.1"},
		{"plain, auto", Options{Endpoint: plain.URL, HTTP: HTTPAuto}, "HTTP/1.1"},
		{"plain, 2 by prior knowledge", Options{Endpoint: plain.URL, HTTP: HTTP2}, "HTTP/2.0"},
		{"plain, another host", Options{Endpoint: plain.URL, Headers: http.Header{"Host": {"example.com"}}}, "HTTP/1.1 host=example.com"},
		{"TLS, another host", Options{Endpoint: secure.URL, TLS: trusting, Headers: http.Header{"Host": {"example.com"}}}, "HTTP/1.1 host=example.com"},
		{"TLS", Options{Endpoint: secure.URL, TLS: trusting}, "HTTP/1.1"},
		{"TLS, auto", Options{Endpoint: secure.URL, TLS: trusting, HTTP: HTTPAuto}, "HTTP/2.0"},
		{"TLS, 2", Options{Endpoint: secure.URL, TLS: trusting, HTTP: HTTP2}, "HTTP/2.0"},
		{"TLS, insecure, with a certificate", Options{Endpoint: secure.URL, TLS: insecure}, "certificates=1"},
		{"TLS of an unknown authority", Options{Endpoint: secure.URL}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := newClient(t, "wire", tt.o)
			defer client.Close()
			r := new(record.Record)
			client.Do(t.Context(), Request{}, r)
			switch saw, _ := proto.Load().(string); {
			case tt.want == "" && r.Failure != record.TLS:
				t.Errorf("%s %s %q, want a failure of TLS", r.Outcome, r.Failure, r.Detail)
			case tt.want != "" && (r.Outcome != record.OK || !strings.Contains(saw, tt.want)):
				t.Errorf("%s %q, the server saw %s, want %s", r.Outcome, r.Detail, saw, tt.want)
			case r.Outcome == record.OK && (!r.Wrote.Known() || !r.FirstByte.Known()):
				t.Error("wrote or first byte is missing")
			}
		})
	}
}

func peers(r *http.Request) int {
	if r.TLS == nil {
		return 0
	}
	return len(r.TLS.PeerCertificates)
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"API": {Endpoint: "x", API: "images"}, "HTTP version": {Endpoint: "x", HTTP: "3"}, "other endpoint": {Endpoint: "x", Others: []string{"ftp://y"}},
		"header": {Endpoint: "x", Headers: http.Header{"X": {"secret\r\nY: z"}}},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := NewTLS(false, []byte("no certificate"), nil, nil); err == nil {
		t.Error("authorities that are none")
	}
	if _, err := NewTLS(false, nil, []byte("x"), []byte("y")); err == nil {
		t.Error("a client certificate that is none")
	}
}

func TestPreflight(t *testing.T) {
	o := Options{Endpoint: "http://a:1", Others: []string{"http://a:1", "https://b"}}
	if found := o.Preflight(1); len(found) != 0 {
		t.Errorf("one connection is too many: %v", found)
	}
	if diff := cmp.Diff(map[string]int{"a:1": 2, "b:443": 1}, o.addresses()); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	found := o.Preflight(1 << 40)
	if len(found) == 0 {
		t.Fatal("no machine has as many files and ports")
	}
	for _, p := range found {
		if p.Text == "" || p.Hint == "" {
			t.Errorf("%+v", p)
		}
	}
	if o.HTTP = HTTP2; len(o.Preflight(1<<40)) != 0 {
		t.Error("HTTP/2 needs few connections")
	}
}

// TestCut: the end of the context cuts what is in flight, at once.
func TestCut(t *testing.T) {
	for _, transport := range transports {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			near, far := net.Pipe()
			go drip(far, []string{c("a")})
			client := newClient(t, transport, Options{Dial: func(context.Context, string, string) (net.Conn, error) { return near, nil }})
			defer client.Close()
			time.AfterFunc(3*time.Second, func() { cancel(ErrCut) })
			start := time.Now()
			r := new(record.Record)
			client.Do(ctx, Request{}, r)
			if r.Outcome != record.Cut || chunks(r) != 1 || time.Since(start) != 3*time.Second || !errors.Is(context.Cause(ctx), ErrCut) {
				t.Errorf("%s: %s %q after %v", transport, r.Outcome, r.Detail, time.Since(start))
			}
		})
	}
}
