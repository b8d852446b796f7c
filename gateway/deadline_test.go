package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

// timed is a writer that notes when its deadline was before each write.
type timed struct {
	*httptest.ResponseRecorder
	mu       sync.Mutex
	deadline time.Time
	left     []time.Duration // until the deadline, at each write; 0 without one
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = at
	return nil
}

func (w *timed) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := time.Duration(0)
	if !w.deadline.IsZero() {
		left = time.Until(w.deadline)
	}
	w.left = append(w.left, left)
	return w.ResponseRecorder.Write(p)
}

// FlushError counts as a write.
func (w *timed) FlushError() error {
	_, err := w.Write(nil)
	return err
}

// Whatever the gateway writes, the client has a time to take it in.
func TestEveryWriteHasADeadline(t *testing.T) {
	const idle = 7 * time.Second
	tests := []struct {
		name         string
		method, path string
		key, body    string
		upstream     http.HandlerFunc
		want         time.Duration
	}{
		{"a stream", "POST", "/v1/chat/completions", searchKey, streamBody, upstreamAnswers(helloEvent, finishEvent, doneEvent), idle},
		{"an error inside a stream", "POST", "/v1/chat/completions", searchKey, streamBody, breakOff(helloEvent), idle},
		{"a whole answer", "POST", "/v1/chat/completions", searchKey, plainBody, replies(200, plainReply), idle},
		{"a long one", "POST", "/v1/chat/completions", searchKey, plainBody, replies(200, `{"choices":[],"x":"`+strings.Repeat("x", 3*piece)+`"}`), idle},
		{"an upstream's error", "POST", "/v1/chat/completions", searchKey, plainBody, replies(400, `{"error":{"message":"no"}}`), idle},
		{"the gateway's own error", "POST", "/v1/chat/completions", searchKey, plainBody, replies(500, ``), idle},
		{"an unknown key", "POST", "/v1/chat/completions", "x", plainBody, mustNotBeCalled(t), config.DefaultIdle},
		{"an unknown path", "GET", "/v2", searchKey, "", mustNotBeCalled(t), config.DefaultIdle},
		{"the models", "GET", "/v1/models", searchKey, "", mustNotBeCalled(t), config.DefaultIdle},
		{"health", "GET", "/livez", "", "", mustNotBeCalled(t), healthPatience},
		{"readiness", "GET", "/readyz", "", "", mustNotBeCalled(t), healthPatience},
		{"metrics", "GET", "/metrics", adminToken, "", mustNotBeCalled(t), healthPatience},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.upstream, configure(func(c *config.Config) { c.Models[0].Timeouts.Idle = config.Duration(idle) }))
			w := &timed{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader(test.body))
			r.Header.Set("Authorization", "Bearer "+test.key)
			handler := s.gateway.Handler()
			if test.path == "/metrics" {
				handler = s.gateway.AdminHandler()
			}
			handler.ServeHTTP(w, r)
			if len(w.left) == 0 {
				t.Fatalf("nothing was written: status %d", w.Code)
			}
			for i, left := range w.left {
				if left <= test.want-5*time.Second || left > test.want {
					t.Errorf("write %d of %d had %v, want %v", i+1, len(w.left), left, test.want)
				}
			}
		})
	}
}

// Once the gateway closes, no write has longer than the moment that clients get
// to hear of it.
func TestDeadlineNeverMovesBackAfterTheCut(t *testing.T) {
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	d := deadline{control: http.NewResponseController(w)}
	d.within(time.Minute)
	d.cut()
	cut := w.deadline
	if left := time.Until(cut); left > cutGrace {
		t.Errorf("%v left after the cut", left)
	}
	d.within(time.Minute)
	if w.deadline.After(cut) {
		t.Errorf("the deadline moved back by %v", w.deadline.Sub(cut))
	}
	d.within(0)
	if w.deadline.After(cut) {
		t.Error("a nearer deadline moved back")
	}
}

// A client that reads nothing of its answer is cut off, and the gateway can close
// meanwhile. (TestClientThatStopsReadingIsCutOff has the stream.)
func TestClientThatReadsNothingIsCutOff(t *testing.T) {
	const size = 32 << 20 // beyond what sockets buffer
	big := fmt.Sprintf(`{"choices":[],"x":"%s"}`, strings.Repeat("x", size))
	for _, test := range []struct {
		name     string
		body     string
		upstream http.HandlerFunc
		idle     time.Duration
	}{
		{"a whole answer", plainBody, replies(200, big), 100 * time.Millisecond},
		{"a whole answer when the gateway closes", plainBody, replies(200, big), time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.upstream, configure(func(c *config.Config) { c.Models[0].Timeouts.Idle = config.Duration(test.idle) }))
			response, err := s.client.Do(s.request(t.Context(), test.body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() //nolint:errcheck // it is read below, or broken
			closed := make(chan struct{})
			go func() { defer close(closed); s.settled() }()
			wait(t, closed, "the gateway to close")
			if _, err := io.Copy(io.Discard, response.Body); err == nil {
				t.Error("the answer is complete")
			} else if errors.Is(err, http.ErrBodyReadAfterClose) {
				t.Fatal(err)
			}
		})
	}
}

// A deadline is set anew when an eighth of it has passed, and not for each event.
func TestDeadlineOfManyWritesIsSetSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		d := deadline{control: http.NewResponseController(w)}
		set := map[time.Time]bool{}
		for range 100 {
			d.within(time.Minute)
			set[w.deadline] = true
			if left := time.Until(w.deadline); left < time.Minute*7/8 || left > time.Minute {
				t.Fatalf("%v are left", left)
			}
			time.Sleep(time.Second)
		}
		if n := len(set); n < 100/8 || n > 100/7 {
			t.Errorf("set %d times in 100 seconds", n)
		}
		d.within(time.Second)
		if left := time.Until(w.deadline); left > time.Second {
			t.Errorf("a shorter one leaves %v", left)
		}
	})
}
