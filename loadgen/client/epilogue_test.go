package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// at is an event and when it is sent, since the request.
type at struct {
	after time.Duration
	event string
}

// timed reads a request, answers it with events at their times, and keeps the
// connection open until the client leaves, when left is sent.
func timed(conn net.Conn, events []at, left chan<- time.Duration) {
	defer conn.Close()
	start := time.Now()
	b := bufio.NewReader(conn)
	// An answer that comes before its request is refused by net/http, rightly.
	if request, err := http.ReadRequest(b); err == nil {
		_, _ = io.Copy(io.Discard, request.Body)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, b)
	}()
	_, _ = io.WriteString(conn, body().head("HTTP/1.1", "Transfer-Encoding: chunked\r\n"))
	for _, e := range events {
		select {
		case <-time.After(e.after - time.Since(start)):
			_, _ = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(e.event), e.event)
		case <-gone:
		}
	}
	<-gone
	left <- time.Since(start)
}

// TestEpilogue: what comes after a finish_reason is part of the answer, however
// late, as long as something comes.
func TestEpilogue(t *testing.T) {
	const s = time.Second
	if afterlife != 100*time.Millisecond || epilogue != 10*s {
		t.Errorf("an answer that is over may linger for %v, one that is complete for %v", afterlife, epilogue)
	}
	var second []at // of two choices, of which the first ends at once
	second = append(second, at{0, choice(0, "a")}, at{0, end(0)})
	for i := range 16 {
		second = append(second, at{time.Duration(i+1) * s / 2, choice(1, "b")})
	}
	second = append(second, at{8 * s, end(1) + usage("18") + done})
	for _, tt := range []struct {
		name    string
		events  []at
		idle    time.Duration
		outcome record.Outcome
		failure record.Failure
		chunks  int
		output  int
		source  record.TokensSource
		took    time.Duration
	}{
		{"second choice goes on", second, 3 * s, record.OK, "", 17, 18, record.FromUsage, 8*s + afterlife},
		{"output 7 s later", []at{{0, c("a")}, {1 * s, finish("stop")}, {8 * s, c("b")}, {9 * s, done}}, 0, record.OK, "", 2, 2, record.FromChunk, 9*s + afterlife},
		{"usage 6 s later", []at{{0, c("a")}, {1 * s, finish("stop")}, {7 * s, usage("5")}, {16 * s, done}}, 0, record.OK, "", 1, 5, record.FromUsage, 16*s + afterlife},
		{"each event puts the end off", []at{{0, c("a")}, {0, finish("stop")}, {9 * s, event(`{"choices":[]}`)}, {18 * s, usage("5")}}, 0, record.OK, "", 1, 5, record.FromUsage, 18*s + epilogue},
		{"nothing more comes", []at{{0, c("a")}, {1 * s, finish("stop")}}, 3 * s, record.OK, "", 1, 1, record.FromChunk, 1*s + epilogue},
		{"silence after more output", []at{{0, c("a")}, {1 * s, finish("stop")}, {2 * s, c("b")}}, 20 * s, record.Failed, record.TimeoutIdle, 2, 2, record.FromChunk, 22 * s},
		{"the other choice falls silent", []at{{0, choice(1, "b")}, {1 * s, choice(0, "a") + end(0)}}, 20 * s, record.Failed, record.TimeoutIdle, 2, 2, record.FromChunk, 21 * s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, transport := range transports {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					left := make(chan time.Duration, 1)
					client := newClient(t, transport, Options{IdleTimeout: tt.idle, Now: func() time.Duration { return time.Since(start) },
						Dial: func(context.Context, string, string) (net.Conn, error) {
							near, far := net.Pipe()
							go timed(far, tt.events, left)
							return near, nil
						}})
					r := new(record.Record)
					client.Do(t.Context(), Request{}, r)
					took := time.Since(start)
					client.Close()
					output, _ := r.Output.Value()
					if r.Outcome != tt.outcome || r.Failure != tt.failure || chunks(r) != tt.chunks || output != tt.output || r.TokensSource != tt.source {
						t.Errorf("%s: %s %s %q, %d events, %d tokens by %s", transport, r.Outcome, r.Failure, r.Detail, chunks(r), output, r.TokensSource)
					}
					if gone := <-left; took != tt.took || gone != tt.took {
						t.Errorf("%s: took %v, the server saw the client leave after %v, want %v", transport, took, gone, tt.took)
					}
				})
			}
		})
	}
}
