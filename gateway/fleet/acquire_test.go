package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/gateway/config"
)

func bounded(n int) func(*config.Provider) {
	return func(p *config.Provider) { p.InFlight = config.Count(n) }
}

// Requests that find no room wait, the urgent first, and then by tenant.
func TestWhoGoesFirst(t *testing.T) {
	bubble(t, provider(1, bounded(1)), func(t *testing.T, _ *Fleet, p *Pool) {
		held := take(t, p, Want{})
		order := make(chan string, 10)
		var wg sync.WaitGroup
		for _, w := range []Want{
			{Tenant: "a", Class: "batch", Tokens: 10},
			{Tenant: "a", Class: "interactive", Tokens: 10},
			{Tenant: "a", Class: "interactive", Tokens: 10},
			{Tenant: "b", Class: "interactive", Tokens: 10},
			{Tenant: "heavy", Class: "interactive", Tokens: 10, Weight: 4},
			{Tenant: "heavy", Class: "interactive", Tokens: 10, Weight: 4},
		} {
			wg.Go(func() {
				l, err := p.Acquire(t.Context(), w)
				if err != nil {
					t.Error(err)
					return
				}
				order <- w.Tenant + " " + w.Class
				l.Release(OK)
			})
			synctest.Wait() // they come one after the other
		}
		if got := p.Status().Waiting; !cmp.Equal(got, map[string]int{"interactive": 5, "batch": 1}) {
			t.Errorf("waiting %v", got)
		}
		time.Sleep(3 * time.Second)
		held.Release(OK)
		wg.Wait()
		close(order)
		want := []string{"heavy interactive", "heavy interactive", "a interactive", "b interactive", "a interactive", "a batch"}
		if got := slices.Collect(func(yield func(string) bool) {
			for o := range order {
				yield(o)
			}
		}); !cmp.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
		idle(t, p)
	})
}

func TestLeaseSaysHowLongItWaited(t *testing.T) {
	bubble(t, provider(1, bounded(1)), func(t *testing.T, _ *Fleet, p *Pool) {
		held := take(t, p, Want{})
		w := queued(t.Context(), p, Want{})
		time.Sleep(3 * time.Second)
		held.Release(OK)
		r := <-w
		if r.err != nil || r.lease.Waited != 3*time.Second || held.Waited != 0 {
			t.Errorf("waited %v, %v", r.lease.Waited, r.err)
		}
		r.lease.Release(OK)
	})
}

// A full queue refuses the least urgent; nobody waits for longer than is said.
func TestShedding(t *testing.T) {
	bubble(t, provider(1), func(t *testing.T, f *Fleet, p *Pool) {
		s := spec(t, provider(1, bounded(1), func(p *config.Provider) {
			p.MaxQueue, p.QueueTimeout = 3, config.Duration(10*time.Second)
		}), config.Class{Name: "interactive"}, config.Class{Name: "batch", Priority: 1, MaxQueue: 2, QueueTimeout: config.Duration(4 * time.Second)})
		f.Configure([]Spec{s})
		held := take(t, p, Want{})
		batch1 := queued(t.Context(), p, Want{Class: "batch"})
		batch2 := queued(t.Context(), p, Want{Class: "batch"})
		batch3 := queued(t.Context(), p, Want{Class: "batch"})
		expectRefusal(t, <-batch3, QueueFull, 0) // the class's bound
		time.Sleep(time.Second)
		urgent1 := queued(t.Context(), p, Want{Class: "interactive"})
		urgent2 := queued(t.Context(), p, Want{Class: "interactive"})
		expectRefusal(t, <-batch2, QueueFull, time.Second)      // the provider's: the least urgent leaves
		expectRefusal(t, <-batch1, QueueTimeout, 4*time.Second) // the class's time-out
		expectRefusal(t, <-urgent1, QueueTimeout, 10*time.Second)
		expectRefusal(t, <-urgent2, QueueTimeout, 10*time.Second)
		held.Release(OK)
		idle(t, p)
	})
}

func expectRefusal(t *testing.T, r result, reason Reason, waited time.Duration) {
	t.Helper()
	err, ok := errors.AsType[*Refused](r.err)
	if !ok || err.Reason != reason || err.Waited != waited || err.RetryAfter < time.Second || !err.Saturated() {
		t.Errorf("%+v, want %s after %v", r.err, reason, waited)
	}
}

// A client that leaves the queue is forgotten at once, and its place in the order
// with it.
func TestClientThatLeavesTheQueueIsForgotten(t *testing.T) {
	bubble(t, provider(1, bounded(1)), func(t *testing.T, _ *Fleet, p *Pool) {
		held := take(t, p, Want{})
		reason := errors.New("has left")
		ctx, leave := context.WithCancelCause(t.Context())
		gone := queued(ctx, p, Want{})
		stays := queued(t.Context(), p, Want{})
		leave(reason)
		if r := <-gone; !errors.Is(r.err, reason) || r.lease != nil {
			t.Errorf("%v, %v", r.lease, r.err)
		}
		if got := p.Status().Waiting[""]; got != 1 {
			t.Errorf("%d wait", got)
		}
		held.Release(OK)
		(<-stays).lease.Release(OK)
		if _, err := p.Acquire(ctx, Want{}); !errors.Is(err, reason) {
			t.Errorf("a request that had ended got %v", err)
		}
		idle(t, p)
	})
}

// A client that leaves at the moment at which its turn comes keeps no place.
func TestLeavingAsThePlaceComes(t *testing.T) {
	bubble(t, provider(1, bounded(1)), func(t *testing.T, _ *Fleet, p *Pool) {
		for range 100 {
			held := take(t, p, Want{})
			ctx, leave := context.WithCancel(t.Context())
			w := queued(ctx, p, Want{})
			leave()
			held.Release(OK) // often before the one who leaves has heard of it
			if r := <-w; r.err == nil {
				t.Fatal("the one who left was served")
			}
			idle(t, p)
		}
	})
}

func TestNoWaitIsSaturated(t *testing.T) {
	p, _ := still(t, provider(2, bounded(1)))
	a, b := take(t, p, Want{}), take(t, p, Want{})
	if host(a) == host(b) {
		t.Errorf("both went to %s", host(a))
	}
	if r := refused(t, p, Want{}); r.Reason != Saturated || !r.Saturated() || r.RetryAfter != time.Second {
		t.Errorf("%+v", r)
	}
	a.Release(OK)
	take(t, p, Want{}).Release(OK)
	b.Release(OK)
	idle(t, p)
}

// A request that may not go where there is room does not keep it from others.
func TestRoomGoesToWhoCanUseIt(t *testing.T) {
	bubble(t, provider(2, bounded(1)), func(t *testing.T, _ *Fleet, p *Pool) {
		a, b := take(t, p, Want{}), take(t, p, Want{})
		picky := queued(t.Context(), p, Want{Tenant: "picky", Tried: []*Endpoint{a.Endpoint()}})
		second := queued(t.Context(), p, Want{Tenant: "second"})
		a.Release(OK)
		r := <-second
		if r.lease.Endpoint() != a.Endpoint() {
			t.Errorf("went to %s", host(r.lease))
		}
		third := take(t, p, Want{Only: func(e *Endpoint) bool { return e == nil }, Tried: nil}.orNothing(t, p, r.lease))
		b.Release(OK)
		if got := <-picky; got.lease.Endpoint() != b.Endpoint() {
			t.Errorf("went to %s", host(got.lease))
		} else {
			got.lease.Release(OK)
		}
		third.Release(OK)
		idle(t, p)
	})
}

// orNothing gives a lease back and asks for any: a newcomer takes room that the one
// who waits may not have.
func (w Want) orNothing(t *testing.T, p *Pool, l *Lease) Want {
	t.Helper()
	if r := refused(t, p, w); r.Reason != Exhausted {
		t.Errorf("%v for a request that no endpoint will do for", r)
	}
	l.Release(OK)
	return Want{}
}

// New bounds hold at once, also for those who wait; endpoints that stay keep what
// is known of them.
func TestReconfigure(t *testing.T) {
	bubble(t, provider(2, bounded(1)), func(t *testing.T, f *Fleet, p *Pool) {
		a, b := take(t, p, Want{}), take(t, p, Want{})
		var waiting []<-chan result
		for range 4 {
			waiting = append(waiting, queued(t.Context(), p, Want{}))
		}
		// One endpoint goes, a new one comes, each takes two, and one may wait.
		next := provider(3, bounded(2), func(c *config.Provider) {
			c.Endpoints = []string{a.Endpoint().URL, "http://new"}
			c.MaxQueue = 1
		})
		if got := f.Configure([]Spec{spec(t, next)})[0]; got != p {
			t.Fatal("the provider got another pool")
		}
		synctest.Wait()
		expectRefusal(t, <-waiting[3], QueueFull, 0)
		expectRefusal(t, <-waiting[2], QueueFull, 0)
		expectRefusal(t, <-waiting[1], QueueFull, 0)
		c := <-waiting[0]
		got := map[string]int64{}
		for _, e := range p.Status().Endpoints {
			got[e.URL] = e.InFlight
		}
		if want := map[string]int64{a.Endpoint().URL: 1, "http://new": 1}; !cmp.Equal(got, want) {
			t.Errorf("in flight %v, want %v", got, want)
		}
		b.Release(Unreached) // at the endpoint that is gone
		a.Release(OK)
		c.lease.Release(OK)
		idle(t, p)
	})
}

// A provider that is dropped serves whom it has, and leaves nothing in the fleet;
// under another protocol it is another one.
func TestDroppedProvider(t *testing.T) {
	bubble(t, provider(1, bounded(1)), func(t *testing.T, f *Fleet, p *Pool) {
		held := take(t, p, Want{})
		waiting := queued(t.Context(), p, Want{})
		other := provider(1, func(p *config.Provider) { p.Kind = "anthropic" })
		if f.Configure([]Spec{spec(t, other)})[0] == p {
			t.Error("a provider of another protocol got the same pool")
		}
		if len(f.pools) != 1 || len(f.Status()) != 1 {
			t.Errorf("%d pools", len(f.pools))
		}
		held.Release(OK)
		(<-waiting).lease.Release(OK)
		idle(t, p)
	})
}

// Hundreds come, wait, leave and are released in no order: no place is lost, none
// is given twice, and no endpoint has more than its bound.
func TestNoPlaceIsLost(t *testing.T) {
	const bound = 3
	config := provider(3, bounded(bound), func(p *config.Provider) {
		p.MaxQueue, p.QueueTimeout = 60, config.Duration(200*time.Millisecond)
		p.Router.Policy = config.PolicyPrefixAffinity
	})
	bubble(t, config, func(t *testing.T, f *Fleet, p *Pool) {
		var mu sync.Mutex
		at := map[string]int{}
		ends := map[string]int{}
		hold := func(e string, n int) {
			mu.Lock()
			defer mu.Unlock()
			at[e] += n
			if at[e] > bound || at[e] < 0 {
				t.Errorf("%d requests at %s", at[e], e)
			}
		}
		end := func(how string) { mu.Lock(); ends[how]++; mu.Unlock() }
		var wg sync.WaitGroup
		for i := range 500 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(400))*time.Millisecond)
				defer cancel()
				l, err := p.Acquire(ctx, Want{
					Tenant: fmt.Sprint(r.IntN(5)), Class: []string{"interactive", "batch"}[r.IntN(2)],
					Weight: r.IntN(4), Tokens: r.Int64N(1000), NoWait: r.IntN(10) == 0,
				})
				if refused, ok := errors.AsType[*Refused](err); ok {
					end(string(refused.Reason))
					return
				}
				if err != nil {
					end("left")
					return
				}
				hold(host(l), 1)
				time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
				hold(host(l), -1)
				outcome := []Outcome{Neutral, OK, OK, OK, OK, Failed}[r.IntN(6)]
				var both sync.WaitGroup // a lease may be given back by two at once
				both.Go(func() { l.Release(outcome) })
				both.Go(func() { l.Release(Neutral) })
				both.Wait()
				end("served")
			})
		}
		wg.Wait()
		for _, how := range []string{"served", "left", string(QueueTimeout), string(Saturated)} {
			if ends[how] == 0 {
				t.Errorf("none ended as %s: %v", how, ends)
			}
		}
		idle(t, p)
	})
}

// While two tenants always wait, they are served tokens in proportion to their
// weights, though one has ten times the requests and the other's are longer.
func TestTenantsShareByWeight(t *testing.T) {
	bubble(t, provider(1, bounded(2)), func(t *testing.T, _ *Fleet, p *Pool) {
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		served := map[string]int64{}
		var wg sync.WaitGroup
		tenant := func(name string, weight, clients int, tokens int64) {
			for range clients {
				wg.Go(func() {
					for {
						l, err := p.Acquire(ctx, Want{Tenant: name, Weight: weight, Tokens: tokens})
						if err != nil {
							return
						}
						time.Sleep(time.Duration(tokens) * time.Millisecond)
						l.Release(OK)
						mu.Lock()
						served[name] += tokens
						mu.Unlock()
					}
				})
			}
		}
		tenant("many", 1, 50, 10)
		tenant("few", 3, 5, 200)
		time.Sleep(10 * time.Minute)
		stop()
		wg.Wait()
		if share := float64(served["few"]) / float64(served["many"]); share < 2.9 || share > 3.1 {
			t.Errorf("served %v, want three to one", served)
		}
		idle(t, p)
	})
}

// A release wakes the one whose turn it is, and nobody else.
func TestReleaseWakesOne(t *testing.T) {
	bubble(t, provider(1, bounded(1)), func(t *testing.T, _ *Fleet, p *Pool) {
		held := take(t, p, Want{})
		woken := make(chan *Lease, 100)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if l, err := p.Acquire(ctx, Want{}); err == nil {
					woken <- l
				}
			})
		}
		synctest.Wait()
		held.Release(OK)
		synctest.Wait()
		if len(woken) != 1 {
			t.Errorf("%d woke", len(woken))
		}
		stop()
		wg.Wait()
		(<-woken).Release(OK)
		idle(t, p)
	})
}
