package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// rawEngine is an upstream below HTTP: for every request that it reads, it does to
// the connection what the test says.
type rawEngine struct {
	listener net.Listener
	alive    context.Context // ended with the engine
	served   sync.WaitGroup

	mu     sync.Mutex
	script func(context.Context, *net.TCPConn)
	conns  map[*net.TCPConn]bool
}

func newRawEngine(t *testing.T, script func(context.Context, *net.TCPConn)) *rawEngine {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	alive, kill := context.WithCancel(context.Background())
	e := &rawEngine{listener: listener, alive: alive, script: script, conns: map[*net.TCPConn]bool{}}
	e.served.Go(e.accept)
	t.Cleanup(func() {
		kill()
		_ = listener.Close()
		e.cut()
		e.served.Wait()
	})
	return e
}

func (e *rawEngine) url() string { return "http://" + e.listener.Addr().String() }

// does changes what the engine does from now on.
func (e *rawEngine) does(script func(context.Context, *net.TCPConn)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.script = script
}

// cut closes all connections.
func (e *rawEngine) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		_ = c.Close()
	}
}

func (e *rawEngine) accept() {
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			return // closed
		}
		c := conn.(*net.TCPConn)
		e.mu.Lock()
		e.conns[c] = true
		e.mu.Unlock()
		e.served.Go(func() {
			e.serve(c)
			_ = c.Close()
			e.mu.Lock()
			delete(e.conns, c)
			e.mu.Unlock()
		})
	}
}

// serve reads requests until the connection ends.
func (e *rawEngine) serve(c *net.TCPConn) {
	for reader := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		e.mu.Lock()
		script := e.script
		e.mu.Unlock()
		script(e.alive, c)
	}
}

// sends writes texts one after the other, and closes the connection.
func sends(texts ...string) func(context.Context, *net.TCPConn) {
	return func(_ context.Context, c *net.TCPConn) {
		for _, text := range texts {
			_, _ = io.WriteString(c, text)
		}
		_ = c.Close()
	}
}

// then does one thing after another.
func then(steps ...func(context.Context, *net.TCPConn)) func(context.Context, *net.TCPConn) {
	return func(ctx context.Context, c *net.TCPConn) {
		for _, step := range steps {
			step(ctx, c)
		}
	}
}

func writes(text string) func(context.Context, *net.TCPConn) {
	return func(_ context.Context, c *net.TCPConn) { _, _ = io.WriteString(c, text) }
}

// resets ends the connection as the kernel does for a process that was killed with
// unread data, or as a firewall does.
func resets(_ context.Context, c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// hangs keeps the connection and says nothing any more.
func hangs(ctx context.Context, _ *net.TCPConn) { <-ctx.Done() }

// endlessly repeats a text until nobody takes it any more.
func endlessly(text string) func(context.Context, *net.TCPConn) {
	return func(_ context.Context, c *net.TCPConn) {
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// slowly writes a byte at a time.
func slowly(text string) func(context.Context, *net.TCPConn) {
	return func(_ context.Context, c *net.TCPConn) {
		for i := range len(text) {
			_, _ = io.WriteString(c, text[i:i+1])
			if i%16 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		_ = c.Close()
	}
}

// Headers of answers that end with their connection.
const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	jsonHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
	htmlPage   = "<!DOCTYPE html><html><body><h1>It works!</h1></body></html>"
)

func chunked(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// Whatever an engine does, its client hears of it in OpenAI's shape, pays for what
// it got and nothing else, and the next request is served once the engine is well,
// without a restart.
func TestEnginesThatMisbehave(t *testing.T) {
	const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	whole := func(text string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	}
	free := func(o outcome) bill { return bill{Cost: "0", Outcome: string(o)} }
	got := func(o outcome, output int64) bill {
		return bill{Input: 1, Output: output, Cost: fmt.Sprintf("%.6f", float64(1+2*output)/1e6), Outcome: string(o), Estimated: true}
	}
	reads := make(chan struct{}) // the client has the first event of the stream that is reset
	heard := func(ctx context.Context, _ *net.TCPConn) {
		select {
		case <-reads: // what was not read by then, a reset would throw away
		case <-ctx.Done():
		}
	}
	tests := []struct {
		name   string
		body   string
		engine func(context.Context, *net.TCPConn)
		status int
		code   string // of the error, whether it is the body or the last event
		want   bill
	}{
		{"killed in the middle of a stream", streamBody,
			sends(chunkedHead + chunked(roleEvent) + chunked(helloEvent) + chunked(worldEvent)), 200, "stream_interrupted", got(outcomeInterrupted, 2)},
		{"resets the connection in the middle of a stream", streamBody,
			then(writes(chunkedHead+chunked(roleEvent+helloEvent)), heard, resets), 200, "stream_interrupted", got(outcomeInterrupted, 1)},
		{"killed in the middle of an event", streamBody,
			sends(chunkedHead + chunked(helloEvent) + "400\r\n" + `data: {"choices":[{"index":0,"delta":{"content":"hal`), 200, "stream_interrupted", got(outcomeInterrupted, 1)},
		{"killed in the middle of a whole answer", plainBody,
			sends("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" + plainReply[:40]), 502, "upstream_error", free(outcomeUpstream)},
		{"killed before the header", streamBody, resets, 502, "upstream_unreachable", free(outcomeConnect)},
		{"killed in the header", streamBody, sends(chunkedHead[:40]), 502, "upstream_unreachable", free(outcomeConnect)},
		{"takes the request and closes", streamBody, sends(), 502, "upstream_unreachable", free(outcomeConnect)},
		{"takes the request and never answers", streamBody, hangs, 504, "upstream_timeout", free(outcomeFirstToken)},
		{"never answers a request for a whole answer", plainBody, hangs, 504, "upstream_timeout", free(outcomeTotal)},
		{"hangs after the header", streamBody, then(writes(chunkedHead), hangs), 504, "upstream_timeout", free(outcomeFirstToken)},
		{"hangs after the first token", streamBody, then(writes(chunkedHead+chunked(helloEvent)), hangs), 200, "upstream_timeout", got(outcomeIdle, 1)},
		{"hangs in the middle of a whole answer", plainBody, then(writes(whole(plainReply)[:150]), hangs), 504, "upstream_timeout", free(outcomeTotal)},
		{"closes only its own side and hangs", streamBody,
			then(func(_ context.Context, c *net.TCPConn) { _ = c.CloseWrite() }, hangs), 502, "upstream_unreachable", free(outcomeConnect)},
		{"slow, a byte at a time", streamBody, slowly(streamHead + helloEvent + finishEvent + usageEvent + doneEvent), 200, "",
			bill{Input: 11, Output: 2, Cost: "0.000015", Outcome: "ok"}},
		{"a web page", streamBody, sends("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + htmlPage), 502, "upstream_error", free(outcomeUpstream)},
		{"a web page as an error", plainBody, sends("HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + htmlPage), 502, "upstream_error", free(outcomeUpstream)},
		{"a web page that is called JSON", plainBody, sends(jsonHead + htmlPage), 502, "upstream_error", free(outcomeUpstream)},
		{"a web page that is called a stream", streamBody, sends(streamHead + htmlPage), 502, "stream_interrupted", free(outcomeInterrupted)},
		{"JSON that is cut short", plainBody, sends(whole(plainReply[:60])), 502, "upstream_error", free(outcomeUpstream)},
		{"JSON that is no object", plainBody, sends(whole(`"hello"`)), 502, "upstream_error", free(outcomeUpstream)},
		{"null", plainBody, sends(whole(`null`)), 502, "upstream_error", free(outcomeUpstream)},
		{"an empty answer", plainBody, sends(whole("")), 502, "upstream_error", free(outcomeUpstream)},
		{"an error that is called 200", plainBody, sends(whole(`{"error":{"message":"out of memory","type":"server_error","code":500}}`)), 502, "500", free(outcomeUpstream)},
		{"a wrong content type", plainBody, sends("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + htmlPage), 502, "upstream_error", free(outcomeUpstream)},
		{"no content type", plainBody, sends("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + htmlPage), 502, "upstream_error", free(outcomeUpstream)},
		{"a status without an answer", plainBody, sends("HTTP/1.1 204 No Content\r\n\r\n"), 502, "upstream_error", free(outcomeUpstream)},
		{"endless headers", streamBody, then(writes("HTTP/1.1 200 OK\r\n"), endlessly("X-Filler: "+strings.Repeat("x", 4000)+"\r\n")), 502, "upstream_unreachable", free(outcomeConnect)},
		{"an endless status line", streamBody, then(writes("HTTP/1.1 200 "), endlessly(strings.Repeat("O", 4000))), 502, "upstream_unreachable", free(outcomeConnect)},
		{"interim answers without end", streamBody, endlessly("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"), 502, "upstream_unreachable", free(outcomeConnect)},
		{"an event without end", streamBody, then(writes(streamHead+"data: "), endlessly(strings.Repeat("x", 64<<10))), 502, "stream_interrupted", free(outcomeInterrupted)},
		{"an event without end after the first token", streamBody,
			then(writes(streamHead+helloEvent+"data: "), endlessly(strings.Repeat("x", 64<<10))), 200, "stream_interrupted", got(outcomeInterrupted, 1)},
		{"roles without end", streamBody, then(writes(streamHead), endlessly(roleEvent)), 200, "upstream_timeout", free(outcomeFirstToken)},
		{"bytes that are no HTTP", streamBody, sends("\x00\xff\x16\x03\x01\x02\x00SSH-2.0-garbage\r\n\r\n"), 502, "upstream_unreachable", free(outcomeConnect)},
		{"bytes that are no events", streamBody, sends(streamHead + strings.Repeat("\x00\xff\xfe\r\n\n", 100)), 502, "stream_interrupted", free(outcomeInterrupted)},
		{"bytes that are no events, after the first token", streamBody,
			sends(streamHead + helloEvent + "data: \x00\xff\n\n"), 200, "stream_interrupted", got(outcomeInterrupted, 1)},
		{"chunks of no length", streamBody, sends(chunkedHead + "zzz\r\nwhat\r\n"), 502, "stream_interrupted", free(outcomeInterrupted)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newRawEngine(t, test.engine)
			s := front(t, e.url(), priced, keeping(t), configure(func(c *config.Config) {
				short := config.Duration(200 * time.Millisecond) // of the one that is to end it: none of them may end another
				switch outcome(test.want.Outcome) {
				case outcomeFirstToken:
					c.Models[0].Timeouts.FirstToken = short
				case outcomeIdle:
					c.Models[0].Timeouts.Idle = short
				case outcomeTotal:
					c.Models[0].Timeouts.Total = short
				}
				c.Tenants[0].Limits = config.Limits{Concurrent: 1, OutputTPM: 1 << 20}
			}))
			answer := s.watch(test.body, func() {
				if strings.HasPrefix(test.name, "resets") {
					close(reads)
				}
			})
			if answer.status != test.status {
				t.Errorf("status %d, want %d: %.200s", answer.status, test.status, answer.body)
			}
			if code := lastError(answer.body); code != test.code {
				t.Errorf("error code %q, want %q: %.300s", code, test.code, answer.body[max(0, len(answer.body)-300):])
			}
			if test.code != "" && strings.Contains(answer.body, "[DONE]") {
				t.Error("an answer that failed ends like a whole one")
			}
			e.does(sends(streamHead + helloEvent + finishEvent + usageEvent + doneEvent))
			if next := s.post(streamBody); next.status != 200 || !strings.HasSuffix(next.body, doneEvent) {
				t.Errorf("the next request: status %d: %.200s", next.status, next.body)
			}
			s.settled()
			records := s.records()
			if len(records) != 2 {
				t.Fatalf("%d records, want 2", len(records))
			}
			if diff := cmp.Diff(test.want, billOf(records[0])); diff != "" {
				t.Errorf("bill (-want +got)\n%s", diff)
			}
			if logs := s.logs.String(); strings.Contains(logs, `"level":"ERROR"`) || strings.Contains(logs, "It works!") {
				t.Errorf("log %s", logs)
			}
		})
	}
}

// watch posts, and calls begun when the first byte of the answer is there.
func (s *stand) watch(body string, begun func()) answer {
	s.t.Helper()
	response, err := s.client.Do(s.request(s.t.Context(), body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	reader := bufio.NewReader(response.Body)
	if _, err := reader.Peek(1); err == nil {
		begun()
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		s.t.Errorf("reading the answer: %v", err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// lastError is the code of the error that an answer is, or that its last event is;
// empty for none.
func lastError(body string) string {
	events := strings.Split(strings.TrimSpace(body), "\n\n")
	return gjson.Get(strings.TrimPrefix(events[len(events)-1], "data: "), "error.code").String()
}

// The other side of an idle connection has vanished without a word, as with a node
// that lost its power or a firewall that forgot: the request that is sent on it runs
// into its time-out, and the next try, on a connection of its own, is answered.
func TestHalfOpenConnectionCostsATryAndNoRequest(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
	var mu sync.Mutex
	var first *net.TCPConn
	gone := false
	e := newRawEngine(t, func(ctx context.Context, c *net.TCPConn) {
		mu.Lock()
		if first == nil {
			first = c
		}
		later, vanished := gone, gone && c == first
		mu.Unlock()
		if vanished {
			<-ctx.Done()
			return
		}
		if later {
			_, _ = io.WriteString(c, streamHead+helloEvent+finishEvent+usageEvent+doneEvent)
			_ = c.Close()
			return
		}
		_, _ = fmt.Fprintf(c, head, len(plainReply), plainReply)
	})
	s := front(t, e.url(), priced, keeping(t), patient, configure(func(c *config.Config) {
		c.Models[0].Timeouts.FirstToken = config.Duration(200 * time.Millisecond)
	}))
	if got := s.post(plainBody); got.status != 200 { // leaves a connection behind
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	mu.Lock()
	gone = true
	mu.Unlock()
	if got := s.post(streamBody); got.status != 200 || !strings.HasSuffix(got.body, doneEvent) {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	s.settled()
	if sums := s.sums(); sums.Retries != 1 || sums.Input != 22 || sums.Output != 4 {
		t.Errorf("sums %+v, want two requests, and one more try", sums)
	}
}
