package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/tidwall/gjson"
)

// A client that leaves cancels the upstream, whatever the request waits for, is
// charged for what was done until then, and gives its slot back.
func TestCancellationReachesTheUpstream(t *testing.T) {
	tests := []struct {
		name     string
		body     string
		before   []string // what the upstream sends before it hangs
		charged  int64    // input estimate and counted output
		wantSeen int      // events that the client awaits before it leaves
	}{
		{"before the header", streamBody, nil, 1, 0},
		{"before the first token", streamBody, []string{roleEvent}, 1, 0},
		{"in the middle", streamBody, []string{helloEvent, worldEvent, helloEvent}, 1 + 4, 3},
		{"of an answer that is not streamed", plainBody, nil, 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			arrived, gone := make(chan struct{}), make(chan time.Time, 1)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if len(test.before) > 0 {
					sse(w, test.before...)
				}
				close(arrived)
				<-r.Context().Done()
				gone <- time.Now()
			}, configure(func(c *config.Config) { c.Tenants[0].Limits.Concurrent = 1 }))
			ctx, leave := context.WithCancel(t.Context())
			finished := make(chan struct{})
			go func() {
				response, err := s.client.Do(s.request(ctx, test.body))
				if err == nil {
					lines := bufio.NewReader(response.Body)
					for range 2 * test.wantSeen {
						if _, err := lines.ReadString('\n'); err != nil {
							t.Errorf("reading an event: %v", err)
						}
					}
					leave()
					_ = response.Body.Close()
				}
				close(finished)
			}()
			wait(t, arrived, "the request")
			if test.wantSeen == 0 {
				leave()
			}
			wait(t, gone, "the upstream to be cancelled")
			wait(t, finished, "the client")
			leave()
			s.settled()
			if used := s.gateway.limits.Ledger().Settled; used != test.charged {
				t.Errorf("%d tokens charged, want %d", used, test.charged)
			}
			line := s.logs.String()
			if gjson.Get(line, "outcome").Str != string(outcomeClientGone) || gjson.Get(line, "status").Int() != statusClientGone {
				t.Errorf("log %s", line)
			}
		})
	}
}

// A client that is done with its answer can send the next one at once: the slot
// is free before [DONE] leaves, even when the upstream keeps its side open. It
// keeps it for a moment only.
func TestSlotIsFreeWhenTheAnswerIsComplete(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent, finishEvent, doneEvent)
		<-r.Context().Done()
	}, configure(func(c *config.Config) { c.Tenants[0].Limits.Concurrent = 1 }))
	ended := make(chan error)
	for i := range 3 {
		response, err := s.client.Do(s.request(t.Context(), streamBody))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() && lines.Text() != "data: [DONE]" {
		}
		if response.StatusCode != 200 || lines.Text() != "data: [DONE]" {
			t.Fatalf("request %d: status %d, last line %q", i, response.StatusCode, lines.Text())
		}
		go func() {
			_, err := io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			ended <- err
		}()
	}
	for range 3 {
		if err := wait(t, ended, "the end of the answer"); err != nil {
			t.Error(err)
		}
	}
}

// A request that never reached the upstream costs nothing, even if it was the
// client that gave up.
func TestClientThatLeavesDuringTheDialPaysNothing(t *testing.T) {
	dialing := make(chan struct{})
	s := front(t, "http://127.0.0.1:1", func(_ *config.Config, o *Options) {
		o.Client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(dialing)
			<-ctx.Done()
			return nil, ctx.Err()
		}}}
	})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		if response, err := s.client.Do(s.request(ctx, streamBody)); err == nil {
			_ = response.Body.Close()
			t.Error("an answer came")
		}
		close(left)
	}()
	wait(t, dialing, "the dial")
	leave()
	wait(t, left, "the client")
	s.settled()
	if used := s.gateway.limits.Ledger().Settled; used != 0 {
		t.Errorf("%d tokens charged", used)
	}
}

// Clients leave at random moments, in every phase, while some upstreams fail:
// afterwards no slot, reservation, endpoint count or goroutine is left (goleak
// looks after the last), and the ledger balances.
func TestRandomCancellationsLeakNothing(t *testing.T) {
	const requests, parallel = 1000, 20
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch rand.IntN(5) {
		case 0:
			<-r.Context().Done() // never answers
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			sse(w, roleEvent, helloEvent)
			panic(http.ErrAbortHandler)
		case 3:
			sse(w, roleEvent, helloEvent, worldEvent, finishEvent, usageEvent, doneEvent)
		default:
			for r.Context().Err() == nil {
				sse(w, helloEvent)
			}
		}
	}, configure(func(c *config.Config) {
		c.Tenants[0].Limits = config.Limits{Concurrent: parallel, OutputTPM: 1 << 39, InputTPM: 1 << 39, RPM: 1 << 39}
		c.Models[0].Timeouts.FirstToken = config.Duration(50 * time.Millisecond)
	}))
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for range requests / parallel {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(8*time.Millisecond))))
				if response, err := s.client.Do(s.request(ctx, streamBody)); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	s.settled()
	standing, err := s.gateway.limits.Standing(t.Context(), "search")
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range standing {
		if scope.Open != 0 || scope.Held != 0 {
			t.Errorf("%d slots and %v are still held of %+v", scope.Open, scope.Held, scope.Account)
		}
	}
	if lines := strings.Count(s.logs.String(), "\n"); lines == 0 || lines > requests {
		t.Errorf("%d log lines for %d requests", lines, requests)
	}
}

func TestDrainingRefusesNewRequestsAndFinishesOldOnes(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent)
		close(arrived)
		<-release
		sse(w, finishEvent, doneEvent)
	})
	done := make(chan answer, 1)
	go func() { done <- s.post(streamBody) }()
	wait(t, arrived, "the request")
	s.gateway.Drain()
	if got := s.post(streamBody); got.status != 503 || got.header.Get("Retry-After") != "1" {
		t.Errorf("a new request got status %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	for path, want := range map[string]int{"/readyz": 503, "/livez": 200} {
		r := s.request(t.Context(), "")
		r.Method, r.URL.Path = http.MethodGet, path
		if got := s.do(r); got.status != want {
			t.Errorf("%s answers %d, want %d", path, got.status, want)
		}
	}
	close(release)
	if got := wait(t, done, "the running stream"); got.body != helloEvent+finishEvent+doneEvent {
		t.Errorf("the running stream got %q", got.body)
	}
}

func TestCloseTellsRunningStreamsWhy(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent)
		<-r.Context().Done()
	})
	response, err := s.client.Do(s.request(t.Context(), streamBody))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	stream := bufio.NewReader(response.Body)
	first, err := stream.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s.settled() // closes the gateway
	rest, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	want := helloEvent + `data: {"error":{"message":"the gateway is shutting down","type":"server_error","param":null,"code":"overloaded"}}` + "\n\n"
	if got := first + string(rest); got != want {
		t.Errorf("the stream got %q", got)
	}
	if got := gjson.Get(s.logs.String(), "outcome").Str; got != string(outcomeShutdown) {
		t.Errorf("outcome %q", got)
	}
}

// A client that stops reading is cut off when the idle time-out has passed, and
// the upstream with it.
func TestClientThatStopsReadingIsCutOff(t *testing.T) {
	gone := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		defer close(gone)
		big := fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}`+"\n\n", strings.Repeat("x", 64<<10))
		for r.Context().Err() == nil {
			sse(w, big)
		}
	}, configure(func(c *config.Config) { c.Models[0].Timeouts.Idle = config.Duration(100 * time.Millisecond) }))
	response, err := s.client.Do(s.request(t.Context(), streamBody))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is never read
	wait(t, gone, "the upstream to be cancelled")
	s.settled()
}
