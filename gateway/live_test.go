package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// What is being served shows who asked for what, how far it is and how much has
// come, and is gone with its end.
func TestLiveRequestsShowHowFarTheyAre(t *testing.T) {
	reached, stream, end := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-stream
		sse(w, helloEvent, worldEvent)
		<-end
		sse(w, finishEvent, doneEvent)
	})
	done := make(chan answer, 1)
	go func() { done <- s.post(streamBody) }()
	wait(t, reached, "the request at the engine")
	only := func() LiveRequest {
		t.Helper()
		oldest, all := s.gateway.lives.list(time.Now(), 10)
		if all != 1 || len(oldest) != 1 {
			t.Fatalf("%d requests, %d of them listed", all, len(oldest))
		}
		return oldest[0]
	}
	if got := only(); got.Tenant != "search" || got.Alias != "small" || got.Deployment != "cluster/real-model" || got.Phase != string(phaseFirst) || got.Output != 0 || got.ID == "" {
		t.Errorf("before the first token: %+v", got)
	}
	close(stream)
	eventually(t, "two tokens", func() bool { got := only(); return got.Phase == string(phaseStreaming) && got.Output == 2 })
	close(end)
	wait(t, done, "the answer")
	eventually(t, "the end of the request", func() bool { _, all := s.gateway.lives.list(time.Now(), 10); return all == 0 })
}

// The list is that of the oldest requests, and says how many there are.
func TestOldestLiveRequestsComeFirst(t *testing.T) {
	var l lives
	start := time.Now()
	for i := range 100 {
		l.add(&live{id: fmt.Sprint("r-", i), began: start.Add(time.Duration((i*37)%100) * time.Second)})
	}
	oldest, all := l.list(start.Add(200*time.Second), 3)
	if all != 100 || len(oldest) != 3 {
		t.Fatalf("%d of %d", len(oldest), all)
	}
	for i, r := range oldest {
		if want := 200 - float64(i); r.AgeS != want {
			t.Errorf("the age of number %d is %v s, want %v", i, r.AgeS, want)
		}
	}
	if none, all := (&lives{}).list(start, 3); none == nil || len(none) != 0 || all != 0 {
		t.Errorf("of none: %v, %d", none, all)
	}
}

// A client that leaves is no live request any more.
func TestClientThatLeftIsNoLiveRequest(t *testing.T) {
	reached := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees its client leave after that
		close(reached)
		<-r.Context().Done()
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		response, err := s.client.Do(s.request(ctx, streamBody))
		if err == nil {
			_ = response.Body.Close()
		}
	}()
	wait(t, reached, "the request at the engine")
	leave()
	eventually(t, "the end of the request", func() bool { _, all := s.gateway.lives.list(time.Now(), 10); return all == 0 })
}

// eventually waits for something that happens in another goroutine, without a
// signal that a test could wait for.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		timer := time.NewTimer(time.Millisecond)
		<-timer.C
	}
}
