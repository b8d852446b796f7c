package fleet

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/llmctl/llmctl/gateway/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is the time of a test without goroutines that wait.
type clock struct{ at time.Duration }

func (c *clock) now() time.Duration { return c.at }

// answering is a transport without a network.
type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func silent(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }

// provider is a configured one with n endpoints, http://e0 and on.
func provider(n int, edit ...func(*config.Provider)) config.Provider {
	p := config.Provider{Name: "p"}
	for i := range n {
		p.Endpoints = append(p.Endpoints, "http://e"+string(rune('0'+i)))
	}
	for _, e := range edit {
		e(&p)
	}
	return p
}

var twoClasses = []config.Class{{Name: "interactive", Priority: 0}, {Name: "batch", Priority: 1}}

func spec(t testing.TB, p config.Provider, classes ...config.Class) Spec {
	t.Helper()
	if classes == nil {
		classes = twoClasses
	}
	s, err := NewSpec(p, classes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// still is a pool whose clock the test moves.
func still(t testing.TB, p config.Provider, classes ...config.Class) (*Pool, *clock) {
	t.Helper()
	c := &clock{at: time.Hour}
	f := New(Options{Now: c.now, Client: &http.Client{Transport: answering(silent)}})
	t.Cleanup(f.Close)
	return f.Configure([]Spec{spec(t, p, classes...)})[0], c
}

// bubble runs a test in time of its own.
func bubble(t *testing.T, p config.Provider, test func(*testing.T, *Fleet, *Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		f := New(Options{Now: func() time.Duration { return time.Since(start) }, Client: &http.Client{Transport: answering(silent)}})
		defer f.Close()
		test(t, f, f.Configure([]Spec{spec(t, p)})[0])
	})
}

// take acquires a place that must be there.
func take(t testing.TB, p *Pool, w Want) *Lease {
	t.Helper()
	w.NoWait = true
	l, err := p.Acquire(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// refused acquires a place that must not be there.
func refused(t testing.TB, p *Pool, w Want) *Refused {
	t.Helper()
	w.NoWait = true
	l, err := p.Acquire(t.Context(), w)
	r, ok := errors.AsType[*Refused](err)
	if !ok {
		t.Fatalf("expected a refusal, got %v, %v", l, err)
	}
	return r
}

// host is the endpoint of a lease, e0 and on.
func host(l *Lease) string { return l.Endpoint().Host }

// queued starts a request that waits, and returns where its end is told.
func queued(ctx context.Context, p *Pool, w Want) <-chan result {
	done := make(chan result, 1)
	go func() {
		l, err := p.Acquire(ctx, w)
		done <- result{w.Tenant, l, err}
	}()
	synctest.Wait()
	return done
}

type result struct {
	name  string
	lease *Lease
	err   error
}

// idle checks that nothing is held.
func idle(t testing.TB, p *Pool) {
	t.Helper()
	s := p.Status()
	for _, e := range s.Endpoints {
		if e.InFlight != 0 || e.Tokens != 0 {
			t.Errorf("%s still has %d requests with %d tokens", e.URL, e.InFlight, e.Tokens)
		}
	}
	if len(s.Waiting) > 0 {
		t.Errorf("still waiting: %v", s.Waiting)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.endpoints {
		if e.trials != 0 {
			t.Errorf("%s still has %d trials", e.URL, e.trials)
		}
	}
}

func page(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
