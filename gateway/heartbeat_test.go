package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

func TestKeepAliveCommentsFillSilences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		x := &exchange{w: w, table: &table{keepAlive: 15 * time.Second}}
		x.deadline.control = http.NewResponseController(w)
		_, cancel := context.WithCancelCause(t.Context())
		b := x.newHeartbeat(cancel)
		after := func(what string, silence time.Duration, comments int) {
			t.Helper()
			time.Sleep(silence)
			synctest.Wait()
			b.mu.Lock()
			defer b.mu.Unlock()
			if got := w.Body.String(); got != strings.Repeat(keepAliveComment, comments) {
				t.Errorf("%s: wrote %q, want %d comments", what, got, comments)
			}
		}
		b.hold()
		b.release()
		after("before the first output", time.Hour, 0)
		b.hold()
		x.committed = true
		b.release()
		after("a short silence", 14*time.Second, 0)
		b.hold()
		b.release()
		after("another short silence", 14*time.Second, 0)
		after("a long silence", 17*time.Second, 2)
		b.hold()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.Body.String(); got != strings.Repeat(keepAliveComment, 2) {
			t.Errorf("a comment came while events were passed on: %q", got)
		}
		b.release()
		after("a silence after events", 16*time.Second, 3)
		b.hold()
		x.closed = time.Now()
		b.release()
		after("the last event", time.Hour, 3)
		b.stop()
		after("the end", time.Hour, 3)
	})
}

func TestKeepAliveThatPanicsAroundItStopsAllTheSame(t *testing.T) {
	x := &exchange{table: &table{keepAlive: time.Second}}
	b := x.newHeartbeat(nil)
	b.stop() // not held, as after a panic in a read
	b.hold()
	b.stop()
}

// Comments come between events, never inside of one, count as no output and keep
// no model alive that is silent.
func TestKeepAliveNeitherSplitsEventsNorHidesASilentModel(t *testing.T) {
	half := len(worldEvent) / 2
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, roleEvent, helloEvent, worldEvent[:half])
		<-r.Context().Done()
	}, configure(func(c *config.Config) {
		c.SSEKeepAlive = config.Duration(time.Millisecond)
		c.Models[0].Timeouts.Idle = config.Duration(300 * time.Millisecond)
	}))
	got := s.post(streamBody).body
	rest, ok := strings.CutPrefix(got, roleEvent+helloEvent)
	if !ok {
		t.Fatalf("stream %q", got)
	}
	for strings.HasPrefix(rest, keepAliveComment) {
		rest = strings.TrimPrefix(rest, keepAliveComment)
	}
	if !strings.Contains(got, keepAliveComment) || !strings.HasPrefix(rest, `data: {"error":{"message":"the model stopped answering"`) {
		t.Errorf("stream %q", got)
	}
	s.settled()
	if !strings.Contains(s.logs.String(), `"output_tokens":1,`) {
		t.Errorf("log %s", s.logs.String())
	}
}

func TestNoKeepAliveBeforeTheFirstOutput(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, roleEvent)
		<-r.Context().Done()
	}, configure(func(c *config.Config) {
		c.SSEKeepAlive = config.Duration(time.Millisecond)
		c.Models[0].Timeouts.FirstToken = config.Duration(50 * time.Millisecond)
		c.Models[0].Retry.Attempts = 1
	}))
	if got := s.post(streamBody); got.status != 504 || strings.Contains(got.body, "keep-alive") {
		t.Errorf("answer %d %q", got.status, got.body)
	}
	s.settled()
}

// A client that reads nothing is given up though only comments are written.
func TestKeepAliveEndsWhenNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deafWriter{ResponseRecorder: httptest.NewRecorder()}
		x := &exchange{w: w, table: &table{keepAlive: 15 * time.Second}, committed: true}
		x.deadline.control = http.NewResponseController(w)
		ctx, cancel := context.WithCancelCause(t.Context())
		b := x.newHeartbeat(cancel)
		b.hold()
		b.release()
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if f := interruption(ctx); f == nil || f.outcome != outcomeClientGone {
			t.Errorf("the request goes on: %+v", f)
		}
		b.stop()
	})
}

type deafWriter struct{ *httptest.ResponseRecorder }

func (*deafWriter) Write([]byte) (int, error)       { return 0, io.ErrClosedPipe }
func (*deafWriter) WriteString(string) (int, error) { return 0, io.ErrClosedPipe }
