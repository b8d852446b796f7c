package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
)

// hundred is a request that allows a hundred tokens of output.
const hundred = `{"model":"small","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`

// leftRecord is the record of the request whose client left.
func (s *stand) leftRecord() usage.Record {
	s.t.Helper()
	for _, r := range s.records() {
		if r.Outcome == string(outcomeClientGone) {
			return r
		}
	}
	s.t.Fatalf("no client left: %s", s.logs)
	panic("unreachable")
}

// A client that leaves the queue saves nothing, since no engine was asked, and has
// waited all the same.
func TestAClientThatLeavesTheQueueSavesNothingAndHasWaited(t *testing.T) {
	handler, arrived, pass := gate()
	var clock atomic.Int64
	start := time.Now()
	s := serve(t, handler, oneAtATime, priced, keeping(t), func(_ *config.Config, o *Options) {
		o.Now = func() time.Time { return start.Add(time.Duration(clock.Load())) }
	})
	first := s.send(t.Context(), streamBody, "")
	wait(t, arrived, "the first request")
	ctx, leave := context.WithCancel(t.Context())
	second := s.send(ctx, hundred, "")
	until(t, "the second request to wait", func() bool { return s.waiting() == 1 })
	clock.Store(int64(3 * time.Second))
	leave()
	<-second
	until(t, "the queue to be empty", func() bool { return s.waiting() == 0 })
	pass <- struct{}{}
	wait(t, first, "the answer")
	s.settled()
	got := s.leftRecord()
	if diff := cmp.Diff(bill{Cost: "0", Outcome: "client_gone"}, billOf(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if d, ok := got.Queue.Value(); !ok || d != 3*time.Second {
		t.Errorf("waited %v, %v, want 3s", d, ok)
	}
	if !strings.Contains(s.logs.String(), `"queue_s":3,`) {
		t.Errorf("log %s", s.logs)
	}
}

// A client that leaves before the first token, while the engine is at its prompt, saves
// all the output that it allowed.
func TestAClientThatLeavesDuringThePrefillSavesAllOutput(t *testing.T) {
	handler, arrived, _ := gate()
	s := serve(t, handler, priced, keeping(t))
	ctx, leave := context.WithCancel(t.Context())
	done := s.send(ctx, hundred, "")
	wait(t, arrived, "the request")
	leave()
	<-done
	until(t, "the gateway to notice", func() bool { return strings.Contains(s.logs.String(), "client_gone") })
	s.settled()
	want := bill{Input: 1, Cost: "0.000001", Outcome: "client_gone", Estimated: true, SavedBy: usage.Cancellation, SavedOutput: 100}
	if diff := cmp.Diff(want, billOf(s.leftRecord())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Between two tries nothing is at work: a client that leaves then pays nothing for the
// one that failed, and saves nothing.
func TestAClientThatLeavesBetweenTwoTriesPaysAndSavesNothing(t *testing.T) {
	var calls atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		calls.Add(1)
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
	}, patient, priced, keeping(t))
	ctx, leave := context.WithCancel(t.Context())
	done := s.send(ctx, hundred, "")
	until(t, "the pause", func() bool { return calls.Load() == 1 && s.inFlight() == 0 })
	leave()
	<-done
	until(t, "the gateway to notice", func() bool { return strings.Contains(s.logs.String(), "client_gone") })
	s.settled()
	if diff := cmp.Diff(bill{Cost: "0", Outcome: "client_gone"}, billOf(s.leftRecord())); diff != "" || calls.Load() != 1 {
		t.Errorf("%d calls (-want +got)\n%s", calls.Load(), diff)
	}
}
