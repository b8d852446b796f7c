package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// keyed posts with an idempotency key.
func (s *stand) keyed(key, body string) answer {
	s.t.Helper()
	r := s.request(s.t.Context(), body)
	r.Header.Set("Idempotency-Key", key)
	return s.do(r)
}

// counting counts the requests that reach the upstream.
func counting(calls *atomic.Int64, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		h(w, r)
	}
}

func TestAnIdempotencyKeyGivesTheAnswerAgain(t *testing.T) {
	var calls atomic.Int64
	now := midnight
	cut := strings.Replace(plainReply, `"stop"`, `"length"`, 1) // kept as it is
	s := serve(t, counting(&calls, replies(200, cut)), budgeted(&now, 100, 0))
	first := s.keyed("order-1", tenTokens)
	second := s.keyed("order-1", `{"max_tokens": 10, "messages": [{"content": "1234", "role": "user"}], "model": "small"}`)
	if first.status != 200 || second.status != 200 || first.body != cut || second.body != cut {
		t.Errorf("first %d %s, second %d %s", first.status, first.body, second.status, second.body)
	}
	if first.header.Get("Idempotent-Replayed") != "" || second.header.Get("Idempotent-Replayed") != "true" || second.header.Get("X-Llmctl-Deployment") != "cluster/real-model" ||
		second.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v, then %v", first.header, second.header)
	}
	conflict := s.keyed("order-1", strings.Replace(tenTokens, "1234", "4321", 1))
	if conflict.status != 422 || gjson.Get(conflict.body, "error.code").Str != "idempotency_key_conflict" || conflict.header.Get("Retry-After") != "" {
		t.Errorf("another body: status %d, %s", conflict.status, conflict.body)
	}
	r := s.request(t.Context(), tenTokens)
	r.Header.Set("Authorization", "Bearer "+chatKey)
	r.Header.Set("Idempotency-Key", "order-1")
	if got := s.do(r); got.status != 200 || got.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("another tenant's: status %d, headers %v", got.status, got.header)
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls upstream, want one for each tenant", calls.Load())
	}
	standing, _ := s.gateway.limits.Standing(t.Context(), "search")
	if got := standing[0].Day.Spent.Dollars(); got != 13e-6 {
		t.Errorf("$%v spent, want those of one request", got)
	}
	s.settled()
	if line := `llmctl_gateway_idempotent_replays_total{tenant="search"} 1`; !strings.Contains(s.metrics(), line) {
		t.Errorf("metrics lack %s", line)
	}
}

func TestAnIdempotencyKeyInUseIsRefused(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-release
		replies(200, plainReply)(w, r)
	})
	done := make(chan answer, 1)
	go func() { done <- s.keyed("k", tenTokens) }()
	wait(t, arrived, "the request")
	got := s.keyed("k", tenTokens)
	if got.status != 409 || gjson.Get(got.body, "error.code").Str != "idempotency_in_progress" || got.header.Get("Retry-After") != "2" {
		t.Errorf("status %d, Retry-After %q, %s", got.status, got.header.Get("Retry-After"), got.body)
	}
	close(release)
	wait(t, done, "the answer")
	if got := s.keyed("k", tenTokens); got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("status %d afterwards", got.status)
	}
}

// Only a complete answer is kept. After anything else the key is free at once.
func TestWhatIsNotAnAnswerIsNotGivenAgain(t *testing.T) {
	tests := []struct {
		name  string
		first http.HandlerFunc
		want  int
	}{
		{"a server error", replies(500, "{}"), 502},
		{"too many requests", replies(429, `{}`), 429},
		{"a mistake", replies(400, `{}`), 400},
		{"an answer that breaks off", breakOff("{"), 502},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			s := serve(t, script(&calls, test.first, replies(200, plainReply)), configure(func(c *config.Config) { c.Models[0].Retry.Attempts = 1 }))
			if got := s.keyed("k", tenTokens); got.status != test.want {
				t.Errorf("status %d, want %d: %s", got.status, test.want, got.body)
			}
			if got := s.keyed("k", strings.Replace(tenTokens, "1234", "4321", 1)); got.status != 200 || got.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("status %d afterwards: %s", got.status, got.body)
			}
		})
	}
}

func TestACancelledRequestsKeyIsFree(t *testing.T) {
	arrived := make(chan struct{}, 1)
	var calls atomic.Int64
	s := serve(t, script(&calls, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}, replies(200, plainReply)))
	ctx, cancel := context.WithCancel(t.Context())
	r := s.request(ctx, tenTokens)
	r.Header.Set("Idempotency-Key", "k")
	gone := make(chan error, 1)
	go func() {
		_, err := s.client.Do(r) //nolint:bodyclose // there is no answer
		gone <- err
	}()
	wait(t, arrived, "the request")
	cancel()
	if err := wait(t, gone, "the client to leave"); err == nil {
		t.Fatal("the client got an answer")
	}
	deadline := time.Now().Add(patience)
	for {
		got := s.keyed("k", tenTokens)
		if got.status == 200 {
			break
		}
		if got.status != 409 || time.Now().After(deadline) {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
	}
}

func TestStreamsIgnoreIdempotencyKeys(t *testing.T) {
	var calls atomic.Int64
	s := serve(t, counting(&calls, upstreamAnswers(helloEvent, finishEvent, doneEvent)))
	for range 2 {
		if got := s.keyed("k", streamBody); got.status != 200 || got.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("status %d", got.status)
		}
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls upstream, want 2", calls.Load())
	}
}

func TestIdempotencyKeysThatMakeNoSense(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	for _, key := range []string{"", strings.Repeat("k", 256), "é"} {
		if got := s.keyed(key, tenTokens); got.status != 400 || strings.Contains(got.body, "kkkk") {
			t.Errorf("key %q: status %d, %s", key, got.status, got.body)
		}
	}
	r := s.request(t.Context(), tenTokens)
	r.Header["Idempotency-Key"] = []string{"a", "b"}
	if got := s.do(r); got.status != 400 {
		t.Errorf("two keys: status %d", got.status)
	}
}
