package gateway

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/fleet"
)

// The end of a request's time says of the server only what came before it: none that
// has said nothing by then is well, and one that talks may just have much to say.
func TestTheEndOfARequestsTimeBlamesOnlyServersThatSaidNothing(t *testing.T) {
	for _, test := range []struct {
		name   string
		said   []string
		status int
		want   fleet.State
	}{
		{"nothing came", nil, 504, fleet.Resting},
		{"a role came, which is no output", []string{roleEvent}, 504, fleet.Resting},
		{"output came", []string{helloEvent}, 200, fleet.Up},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				sse(w, test.said...)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}, configure(func(c *config.Config) {
				c.Providers[0].Breaker = config.Breaker{MinRequests: 1, Open: config.Duration(time.Hour), Window: config.Duration(time.Hour)}
				c.Models[0].Timeouts.Total = config.Duration(100 * time.Millisecond)
			}))
			if got := s.post(streamBody); got.status != test.status {
				t.Errorf("status %d, want %d: %s", got.status, test.status, got.body)
			}
			s.settled()
			if got := s.gateway.fleet.Status()[0].Endpoints[0].State; got != test.want {
				t.Errorf("the endpoint is %s, want %s", got, test.want)
			}
		})
	}
}

// What a try reported before it failed is on nobody's bill, whether another one makes
// it good or not.
func TestEveryTryIsMeteredAnew(t *testing.T) {
	const reported = `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant"}}],"usage":{"prompt_tokens":500,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":400}}}` + "\n\n"
	for _, test := range []struct {
		name   string
		second http.HandlerFunc
		status int
		want   int64 // tokens charged
	}{
		{"another try answers and reports nothing", upstreamAnswers(helloEvent, worldEvent, finishEvent, doneEvent), 200, 1 + 2},
		{"another try answers and reports", upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent), 200, 11 + 2},
		{"another try fails", replies(500, "oops"), 502, 0},
		{"another try ends before it says anything", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 502, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			s := serve(t, script(&calls, breakOff(reported), test.second), configure(func(c *config.Config) {
				c.Models[0].Retry = config.Retry{Attempts: 2, Backoff: config.Duration(time.Microsecond)}
			}))
			if got := s.post(streamBody); got.status != test.status || calls.Load() != 2 {
				t.Errorf("status %d after %d calls, want %d after 2: %s", got.status, calls.Load(), test.status, got.body)
			}
			s.settled()
			if got := s.gateway.limits.Ledger().Settled; got != test.want {
				t.Errorf("%d tokens charged, want %d", got, test.want)
			}
			if cached := s.sums().Cached; cached > 8 {
				t.Errorf("%d cached tokens of a try that failed", cached)
			}
		})
	}
}

// A client that leaves during a second try owes what that one was asked, not what
// the first had reported.
func TestAClientThatLeavesASecondTryOwesThatOne(t *testing.T) {
	const reported = `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant"}}],"usage":{"prompt_tokens":500,"completion_tokens":40}}` + "\n\n"
	var calls atomic.Int64
	arrived, left := make(chan struct{}, 1), make(chan struct{})
	s := serve(t, script(&calls, breakOff(reported), func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		close(left)
	}), patient)
	ctx, leave := context.WithCancel(t.Context())
	done := s.send(ctx, streamBody, "")
	wait(t, arrived, "the second try")
	leave()
	wait(t, done, "the client's end")
	wait(t, left, "the upstream to hear of it")
	s.settled()
	if got := s.gateway.limits.Ledger().Settled; got != 1 {
		t.Errorf("%d tokens charged, want the prompt's estimate", got)
	}
}
