package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// paused is an upstream that holds each stream after its first event.
func paused(release <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent)
		select {
		case <-release:
			sse(w, finishEvent, doneEvent)
		case <-r.Context().Done():
		}
	}
}

// begun starts a stream and waits for its first event; the channel brings all of it.
func (s *stand) begun() <-chan answer {
	s.t.Helper()
	response, err := s.client.Do(s.request(s.t.Context(), streamBody))
	if err != nil {
		s.t.Fatal(err)
	}
	first := make([]byte, len(helloEvent))
	if _, err := io.ReadFull(response.Body, first); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan answer, 1)
	go func() {
		rest, _ := io.ReadAll(response.Body) // what is missing is seen below
		_ = response.Body.Close()
		done <- answer{response.StatusCode, response.Header, string(first) + string(rest)}
	}()
	return done
}

func (s *stand) probe(path string) int {
	s.t.Helper()
	r := s.request(s.t.Context(), "")
	r.Method, r.URL.Path = http.MethodGet, path
	return s.do(r).status
}

func TestLeavingGatewayIsNotReadyAndServes(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	if got := s.probe("/readyz"); got != 200 {
		t.Fatalf("readyz answers %d", got)
	}
	s.gateway.Leave()
	for path, want := range map[string]int{"/readyz": 503, "/livez": 200, "/v1/models": 200} {
		if got := s.probe(path); got != want {
			t.Errorf("%s answers %d, want %d", path, got, want)
		}
	}
	if got := s.post(plainBody); got.status != 200 {
		t.Errorf("a new request got status %d", got.status)
	}
}

func TestShutdownWaitsForStreams(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, paused(release))
	stream := s.begun()
	down := make(chan struct{})
	go func() {
		s.gateway.Shutdown(context.Background())
		close(down)
	}()
	for s.probe("/readyz") == 200 { // until it drains
	}
	if got := s.post(streamBody); got.status != 503 {
		t.Errorf("a new request got status %d", got.status)
	}
	select {
	case <-down:
		t.Error("it did not wait")
	default:
	}
	close(release)
	if got := wait(t, stream, "the stream"); got.body != helloEvent+finishEvent+doneEvent {
		t.Errorf("the stream got %q", got.body)
	}
	wait(t, down, "the end")
}

func TestShutdownCutsOffWhatOutlastsItsPatience(t *testing.T) {
	s := serve(t, paused(nil))
	stream := s.begun()
	ctx, expire := context.WithCancel(t.Context())
	down := make(chan struct{})
	go func() {
		s.gateway.Shutdown(ctx)
		close(down)
	}()
	for s.probe("/readyz") == 200 { // until it drains
	}
	expire()
	if got := wait(t, stream, "the stream"); !strings.Contains(got.body, "the gateway is shutting down") {
		t.Errorf("the stream got %q", got.body)
	}
	wait(t, down, "the end")
	s.gateway.Close() // once more changes nothing
}

func TestCloseEndsAShutdownThatWaits(t *testing.T) {
	s := serve(t, paused(nil))
	stream := s.begun()
	down := make(chan struct{})
	go func() {
		s.gateway.Shutdown(context.Background())
		close(down)
	}()
	for s.probe("/readyz") == 200 { // until it drains
	}
	s.gateway.Close()
	wait(t, down, "the end")
	wait(t, stream, "the stream")
}
