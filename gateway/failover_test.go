package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/health"
)

// pair is a provider with the endpoints http://well and http://sick. Both lead to
// one upstream; dials to sick behave as the test says.
type pair struct {
	*stand
	clock   atomic.Int64                // nanoseconds
	dial    func(context.Context) error // of sick; guarded by mu
	mu      sync.Mutex
	dials   map[string]int // by host
	arrived map[string]int // requests by host
}

func newPair(t *testing.T, upstream http.HandlerFunc, edit ...func(*config.Config, *Options)) *pair {
	p := &pair{dials: map[string]int{}, arrived: map[string]int{}}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.arrived[r.Host]++
		p.mu.Unlock()
		upstream(w, r)
	}))
	t.Cleanup(up.Close)
	start := time.Now()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		p.mu.Lock()
		p.dials[host]++
		dial := p.dial
		p.mu.Unlock()
		if host == "sick" && dial != nil {
			if err := dial(ctx); err != nil {
				return nil, err
			}
		}
		return new(net.Dialer).DialContext(ctx, network, up.Listener.Addr().String())
	}}
	edit = append(edit, func(c *config.Config, o *Options) {
		c.Providers[0].Endpoints = []string{"http://sick", "http://well"}
		o.Client = &http.Client{Transport: transport}
		o.Now = func() time.Time { return start.Add(time.Duration(p.clock.Load())) }
	})
	p.stand = front(t, up.URL, edit...)
	return p
}

// sick sets what a dial to the endpoint of that name does; nil connects.
func (p *pair) sick(dial func(context.Context) error) {
	p.mu.Lock()
	p.dial = dial
	p.mu.Unlock()
}

// expect checks the counts since the last call.
func (p *pair) expect(when string, dials, arrived map[string]int) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, host := range []string{"sick", "well"} {
		if p.dials[host] != dials[host] || p.arrived[host] != arrived[host] {
			p.t.Errorf("%s: %s had %d dials and %d requests, want %d and %d",
				when, host, p.dials[host], p.arrived[host], dials[host], arrived[host])
		}
	}
	clear(p.dials)
	clear(p.arrived)
}

func (p *pair) posts(n int, want int) {
	p.t.Helper()
	for range n {
		if got := p.post(streamBody); got.status != want {
			p.t.Fatalf("status %d, want %d: %s", got.status, want, got.body)
		}
	}
}

func refusing(context.Context) error { return errors.New("connection refused") }

type counts = map[string]int

// One endpoint of two is dead: every request succeeds, each is sent once, and
// only the first learns of it. At the end of each period one request tries it
// again, and when it is back, it has its share.
func TestDeadEndpointIsPassedOver(t *testing.T) {
	p := newPair(t, upstreamAnswers(helloEvent, finishEvent, doneEvent))
	p.sick(refusing)
	p.posts(20, 200)
	p.expect("dead", counts{"sick": 1, "well": 20}, counts{"well": 20})
	p.clock.Add(int64(health.Period))
	p.posts(20, 200)
	p.expect("dead after the period", counts{"sick": 1, "well": 20}, counts{"well": 20})
	p.sick(nil)
	p.posts(2, 200)
	p.expect("back, not yet tried", counts{"well": 2}, counts{"well": 2})
	p.clock.Add(int64(health.Period))
	p.posts(20, 200)
	p.expect("back", counts{"sick": 10, "well": 10}, counts{"sick": 10, "well": 10})
	p.settled()
	if !strings.Contains(p.metrics(), `llmctl_gateway_upstream_errors_total{endpoint="http://sick",outcome="connect",provider="cluster"} 2`) {
		t.Error("the failed connections are not counted")
	}
	if first := p.logs.String(); gjson.Get(first, "retries").Int() != 1 || gjson.Get(first, "endpoint").Str != "well" || gjson.Get(first, "outcome").Str != "ok" {
		t.Errorf("log %s", first)
	}
	if n := strings.Count(p.logs.String(), `"retries"`); n != 2 {
		t.Errorf("%d requests logged retries, want 2", n)
	}
}

// With no endpoint to connect to, each is tried once by each request, resting or
// not.
func TestNoEndpointConnects(t *testing.T) {
	p := newPair(t, mustNotBeCalled(t), func(c *config.Config, o *Options) {})
	p.gateway.client.Transport.(*http.Transport).DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		p.mu.Lock()
		p.dials[host]++
		p.mu.Unlock()
		return nil, errors.New("connection refused")
	}
	for range 3 {
		p.posts(1, 502)
		p.expect("dead", counts{"sick": 1, "well": 1}, nil)
	}
}

// A request that may have been sent is never sent again; the endpoint that did
// not answer it rests.
func TestRequestThatMayHaveBeenSentIsNotSentAgain(t *testing.T) {
	p := newPair(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Host == "sick" {
			panic(http.ErrAbortHandler)
		}
		sse(w, helloEvent, finishEvent, doneEvent)
	})
	p.posts(1, 502)
	p.expect("broken", counts{"sick": 1}, counts{"sick": 1})
	p.posts(10, 200)
	p.expect("resting", counts{"well": 10}, counts{"well": 10})
}

// An answer counts as one whatever it says: an endpoint with errors of its own
// is not dead.
func TestEndpointThatAnswersWithErrorsStays(t *testing.T) {
	p := newPair(t, replies(500, "oops"))
	p.posts(10, 502)
	p.expect("failing", counts{"sick": 5, "well": 5}, counts{"sick": 5, "well": 5})
}

// A dial without end is cut off by the first-token time-out. That says as much
// about the endpoint as a refusal; a client that leaves meanwhile says nothing.
func TestDialWithoutEnd(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	p := newPair(t, upstreamAnswers(helloEvent, finishEvent, doneEvent), configure(func(c *config.Config) {
		c.Models[0].Timeouts.FirstToken = config.Duration(time.Second) // long for those that answer, on a busy machine
	}))
	p.sick(hang)
	p.posts(1, 504)
	p.posts(10, 200)
	p.expect("hanging", counts{"sick": 1, "well": 10}, counts{"well": 10})
}

func TestClientThatLeavesDuringTheDialBlamesNobody(t *testing.T) {
	dialing := make(chan struct{}, 1)
	p := newPair(t, upstreamAnswers(helloEvent, finishEvent, doneEvent))
	p.sick(func(ctx context.Context) error { dialing <- struct{}{}; <-ctx.Done(); return ctx.Err() })
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		if response, err := p.client.Do(p.request(ctx, streamBody)); err == nil {
			_ = response.Body.Close()
			t.Error("an answer came")
		}
	}()
	wait(t, dialing, "the dial")
	leave()
	wait(t, left, "the client")
	p.sick(nil)
	for p.gateway.fleet.Status()[0].Endpoints[0].InFlight > 0 {
		time.Sleep(time.Millisecond) // the handler is on its way out
	}
	p.posts(10, 200)
	p.expect("left", counts{"sick": 6, "well": 5}, counts{"sick": 5, "well": 5})
}

// The same over real sockets, under a closed loop: a port that refuses draws no
// traffic.
func TestClosedLoopOverADeadEndpoint(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent), configure(func(c *config.Config) {
		c.Providers[0].Endpoints = append(c.Providers[0].Endpoints, "http://127.0.0.1:1")
	}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if got := s.post(streamBody); got.status != 200 {
					t.Errorf("status %d: %s", got.status, got.body)
				}
			}
		})
	}
	wg.Wait()
	s.settled()
}

// A fallback does not wait until dead endpoints have been tried as often as one that
// may answer the next time; where there is none, they are.
func TestDeadEndpointsKeepNoFallbackWaiting(t *testing.T) {
	for _, test := range []struct {
		name     string
		fallback bool
		backoff  time.Duration
		status   int
		retries  string
	}{
		{"with a fallback", true, patience, 200, "1"},
		{"without one", false, time.Microsecond, 502, "2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, replies(200, plainReply), configure(func(c *config.Config) {
				c.Providers = append(c.Providers, config.Provider{Name: "dead", Endpoints: []string{deadEndpoint(t)}})
				c.Models[0].Targets = []config.Target{{Provider: "dead", Model: "gone"}}
				if test.fallback {
					c.Models[0].Fallback = []config.Target{{Provider: "cluster", Model: "spare"}}
				}
				c.Models[0].Retry = config.Retry{Attempts: 3, Backoff: config.Duration(test.backoff)}
			}))
			for range 2 { // the second time the endpoint is known to be dead
				got := s.post(plainBody)
				if got.status != test.status || got.header.Get("X-Llmctl-Attempted-Retries") != test.retries {
					t.Errorf("status %d after %s retries, want %d after %s", got.status, got.header.Get("X-Llmctl-Attempted-Retries"), test.status, test.retries)
				}
			}
		})
	}
}

// deadEndpoint is an address at which nobody listens any more.
func deadEndpoint(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return server.URL
}
