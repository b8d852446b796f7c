package mock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/internal/servermetrics"
)

// serveExact runs an exact server for the time of a test and returns its address.
func serveExact(t testing.TB, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.ServeExact(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := s.InFlight(); n != 0 {
			t.Errorf("%d requests are still in flight", n)
		}
	})
	return l.Addr().String()
}

// dial connects with a deadline, so that a test ends where the server does not
// answer.
func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// answerOf reads one answer.
func answerOf(t testing.TB, r *bufio.Reader) (status int, body string, err error) {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }() // it is read to its end
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// The bytes on the wire, framing included.
func TestExactBytes(t *testing.T) {
	script := &Script{Status: 203, Pieces: []Piece{{0, "one"}, {2 * ms, "two\n"}, {2 * ms, ""}}}
	c := dial(t, serveExact(t, &Server{Script: func(Request) *Script { return script }}))
	write(t, c, postText("/v1/completions", "Connection: close\r\n", "{}"))
	got, err := io.ReadAll(c)
	want := "HTTP/1.1 203 Non-Authoritative Information\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"3\r\none\r\n4\r\ntwo\n\r\n0\r\n\r\n"
	if string(got) != want || err != nil {
		t.Errorf("%q, %v, want\n%q", got, err, want)
	}
}

func TestExactRequests(t *testing.T) {
	const words = `{"prompt":"a b"}`
	long := `{"prompt":"` + strings.Repeat("a ", 200_000) + `"}`
	server := &Server{Tokens: 1}
	address := serveExact(t, server)
	tests := []struct {
		name, request string
		status        int
		want          []string // of the answers, a part of each
	}{
		{"one", postText("/v1/completions", "", words), 200, []string{`"prompt_tokens":2`}},
		{"two, one after the other", postText("/v1/completions", "", words) + postText("/v1/completions", "", `{}`), 200, []string{`"prompt_tokens":2`, `"prompt_tokens":0`}},
		{"chunked", "POST /v1/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"p\r\n0d;x=y\r\nrompt\":\"a b\"}\r\n0\r\nT: x\r\n\r\n", 200, []string{`"prompt_tokens":2`}},
		{"long", postText("/v1/completions", "", long), 200, []string{`"prompt_tokens":200000`}},
		{"with a query, of a proxy's client", "GET http://h/v1/models?x=y HTTP/1.1\r\n\r\n", 200, []string{`"id":"mock"`}},
		{"HTTP/1.0", "GET /v1/models HTTP/1.0\r\n\r\n", 200, []string{`"id":"mock"`}},
		{"no HTTP", "HELLO\r\n\r\n", 400, []string{`\"HELLO\" is no request line`}},
		{"bad header", "GET / HTTP/1.1\r\na b: c\r\n\r\n", 400, []string{`\"a b: c\" is no header line`}},
		{"bad length", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, []string{"content length"}},
		{"two lengths", "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, []string{"content length"}},
		{"bad chunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, []string{"is no size of a chunk"}},
		{"coding", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 400, []string{"unknown transfer encoding"}},
		{"endless header", "GET /" + strings.Repeat("a", maxHead+1), 400, []string{"longer than 65536 bytes"}},
	}
	for _, tt := range tests {
		for _, each := range []int{len(tt.request), 7} { // in one write, and in pieces
			if each == 7 && len(tt.request) > 1000 {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d bytes at a time", tt.name, each), func(t *testing.T) {
				c := dial(t, address)
				for rest := tt.request; rest != ""; {
					n := min(each, len(rest))
					write(t, c, rest[:n])
					rest = rest[n:]
				}
				r := bufio.NewReader(c)
				for i, want := range tt.want {
					status, body, err := answerOf(t, r)
					if err != nil || status != tt.status || !strings.Contains(body, want) {
						t.Errorf("answer %d: %d %q, %v, want %d with %q", i+1, status, body[:min(200, len(body))], err, tt.status, want)
					}
				}
			})
		}
	}
}

func TestExactContinue(t *testing.T) {
	c := dial(t, serveExact(t, &Server{Tokens: 1}))
	write(t, c, "POST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if line != "HTTP/1.1 100 Continue\r\n" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	write(t, c, "{}")
	if status, _, err := answerOf(t, r); status != 200 || err != nil {
		t.Errorf("status %d, %v", status, err)
	}
}

// The ends of scripts, as a client sees them.
func TestExactEnds(t *testing.T) {
	tests := []struct {
		name   string
		script *Script
		next   bool // the connection takes another request
		err    error
	}{
		{"close", &Script{Pieces: []Piece{{0, "x"}}}, true, nil},
		{"no piece", &Script{}, true, nil},
		{"abort", &Script{Pieces: []Piece{{0, "x"}}, End: Abort}, false, io.ErrUnexpectedEOF},
		{"abort without a piece", &Script{End: Abort}, false, io.ErrUnexpectedEOF},
		{"reset", &Script{Pieces: []Piece{{0, "x"}}, End: Reset}, false, syscall.ECONNRESET},
		{"drop", &Script{Pieces: []Piece{{0, "x"}}, End: Drop}, false, nil},
		{"raw", &Script{Raw: true, Pieces: []Piece{{0, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"}}}, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, serveExact(t, &Server{Script: func(r Request) *Script { return tt.script }}))
			r := bufio.NewReader(c)
			write(t, c, postText("/v1/completions", "", "{}"))
			if _, _, err := answerOf(t, r); !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			_, err := io.WriteString(c, "GET /health HTTP/1.1\r\n\r\n")
			if err == nil {
				_, _, err = answerOf(t, r)
			}
			if (err == nil) != tt.next {
				t.Errorf("another request: %v, want %v", err, tt.next)
			}
		})
	}
}

// A client that does not read delays nobody, loses nothing, and is counted.
func TestExactSlowReader(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<20) // 16 MiB, more than sockets hold
	server := &Server{Script: func(r Request) *Script {
		if r.Model != "big" {
			return nil
		}
		return &Script{Pieces: []Piece{{0, big}, {ms, "end"}}}
	}}
	address := serveExact(t, server)
	slow, quick := dial(t, address), dial(t, address)
	write(t, slow, postText("/v1/completions", "", `{"model":"big"}`))
	for range 3 {
		write(t, quick, postText("/v1/completions", "", `{"stream":true}`))
		if status, _, err := answerOf(t, bufio.NewReader(quick)); status != 200 || err != nil {
			t.Fatalf("beside a slow reader: %d, %v", status, err)
		}
	}
	if _, body, err := answerOf(t, bufio.NewReader(slow)); body != big+"end" || err != nil {
		t.Errorf("%d bytes, %v, want %d", len(body), err, len(big)+3)
	}
	if server.Served().Blocked == 0 {
		t.Error("a full socket was not counted")
	}
}

// Requests beyond the limit wait in order; one whose client leaves does not hold
// its place.
func TestExactQueue(t *testing.T) {
	first := make(chan struct{}, 1)
	server := &Server{MaxConcurrency: 1, Tokens: 1, Script: func(r Request) *Script {
		if r.Model == "long" {
			first <- struct{}{}
			return &Script{Pieces: []Piece{{0, "x"}}, End: Hang}
		}
		return nil
	}}
	address := serveExact(t, server)
	running := dial(t, address)
	write(t, running, postText("/v1/completions", "", `{"model":"long"}`))
	<-first
	leaves, waits := dial(t, address), dial(t, address)
	write(t, leaves, postText("/v1/completions", "", `{"model":"leaves"}`))
	write(t, waits, postText("/v1/completions", "", `{"model":"waits"}`))
	status := func() (queued, running int) {
		server.mu.Lock()
		defer server.mu.Unlock()
		return server.queued, server.running
	}
	eventually(t, func() bool { q, r := status(); return q == 2 && r == 1 })
	_ = leaves.Close()
	eventually(t, func() bool { q, _ := status(); return q == 1 })
	_ = running.Close()
	if code, body, err := answerOf(t, bufio.NewReader(waits)); code != 200 || err != nil || !strings.Contains(body, `"model":"waits"`) {
		t.Errorf("%d %q, %v", code, body, err)
	}
	eventually(t, func() bool { v := server.Served(); return v.Left == 2 && v.Finished == 1 })
}

// eventually waits until something that another process side does is seen.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within a minute")
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// Both ways to serve send the same status and body to the same request.
func TestBothWaysAgree(t *testing.T) {
	created := regexp.MustCompile(`"created(_at)?":\d+`)
	rapid.Check(t, func(rt *rapid.T) {
		path := rapid.SampledFrom([]string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/tokenize", "/none"}).Draw(rt, "path")
		body := fmt.Sprintf(`{"stream":%v,"max_tokens":%d,"input":"a b c","stream_options":{"include_usage":%v,"continuous_usage_stats":%v}}`,
			rapid.Bool().Draw(rt, "stream"), rapid.IntRange(0, 9).Draw(rt, "max_tokens"), rapid.Bool().Draw(rt, "usage"), rapid.Bool().Draw(rt, "continuous"))
		chunk, thought, calls := rapid.IntRange(0, 3).Draw(rt, "chunk"), rapid.IntRange(0, 4).Draw(rt, "thought"), rapid.IntRange(0, 3).Draw(rt, "calls")
		server := func() *Server { return &Server{TokensPerChunk: chunk, ReasoningTokens: thought, ToolCalls: calls} }

		plain := httptest.NewServer(server())
		defer plain.Close()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			rt.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- server().ServeExact(ctx, l) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				rt.Error(err)
			}
		}()

		var seen [2]string
		for i, url := range []string{plain.URL, "http://" + l.Addr().String()} {
			response, err := http.Post(url+path, "application/json", strings.NewReader(body))
			if err != nil {
				rt.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil {
				rt.Fatal(err)
			}
			seen[i] = response.Status + " " + response.Header.Get("Content-Type") + "\n" + created.ReplaceAllString(string(text), "")
		}
		http.DefaultClient.CloseIdleConnections()
		if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
			rt.Errorf("net/http (-) and the exact server (+) differ:\n%s", diff)
		}
	})
}

// The page moves with the load, in the names of every engine.
func TestMetricsPage(t *testing.T) {
	for _, style := range MetricsStyles {
		t.Run(style, func(t *testing.T) {
			server := &Server{Tokens: 3, MetricsStyle: style, PrefixCache: true, MaxConcurrency: 1, Script: func(r Request) *Script {
				if r.Model == "hang" {
					return &Script{Pieces: []Piece{{0, "x"}}, End: Hang}
				}
				return nil
			}}
			address := serveExact(t, server)
			prompt := `{"prompt":"` + strings.Repeat("a ", 40) + `"}`
			for range 2 {
				c := dial(t, address)
				write(t, c, postText("/v1/completions", "", prompt))
				if status, _, err := answerOf(t, bufio.NewReader(c)); status != 200 || err != nil {
					t.Fatal(status, err)
				}
			}
			for range 2 {
				write(t, dial(t, address), postText("/v1/completions", "", `{"model":"hang"}`))
			}
			eventually(t, func() bool { return server.InFlight() == 2 })
			c := dial(t, address)
			write(t, c, "GET /metrics HTTP/1.1\r\n\r\n")
			_, page, err := answerOf(t, bufio.NewReader(c))
			if err != nil {
				t.Fatal(err)
			}
			got, err := servermetrics.Parse(strings.NewReader(page), "")
			if err != nil {
				t.Fatal(err)
			}
			if got.Running != 1 || got.Waiting != 1 {
				t.Errorf("running %v, waiting %v, want 1 and 1", got.Running, got.Waiting)
			}
			if style == "vllm" && (got.PromptTokens != 80 || got.GenerationTokens != 6 || got.PrefixQueries != 80 || got.PrefixHits != 32 || got.KVUsage != 0) {
				t.Errorf("sample %+v", got)
			}
			lengths := map[string]string{
				"vllm": "vllm:request_prompt_tokens_bucket{engine=\"0\",model_name=\"mock\",le=\"20\"} 0\n" +
					"vllm:request_prompt_tokens_bucket{engine=\"0\",model_name=\"mock\",le=\"50\"} 2\n",
				"sglang": "sglang:generation_tokens_histogram_sum{model_name=\"mock\"} 6\nsglang:generation_tokens_histogram_count{model_name=\"mock\"} 2\n",
			}
			if !strings.Contains(page, lengths[style]) {
				t.Errorf("lengths are not counted:\n%s", page)
			}
			if !strings.Contains(page, "llmctl_mock_write_lateness_seconds_count 3\n") { // two answers, and the one of those that hang that runs
				t.Errorf("lateness is not counted:\n%s", page)
			}
		})
	}
}
