package fleet

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

func states(p *Pool) (out []State) {
	for _, e := range p.Status().Endpoints {
		out = append(out, e.State)
	}
	return out
}

// What takes an endpoint out of use, and what does not.
func TestOutcomes(t *testing.T) {
	end := func(o Outcome) func(*Lease) { return func(l *Lease) { l.Release(o) } }
	cooling := func(d time.Duration) func(*Lease) {
		return func(l *Lease) { l.CoolDown(d); l.Release(Neutral) }
	}
	tests := []struct {
		name  string
		times int
		end   func(*Lease)
		want  State
	}{
		{"one connection that fails", 1, end(Unreached), Resting},
		{"nine answers that fail", 9, end(Failed), Up},
		{"ten answers that fail", 10, end(Failed), Resting},
		{"clients that leave open no breaker", 20, end(Neutral), Up},
		{"answers", 20, end(OK), Up},
		{"too many requests trip no breaker", 20, cooling(0), Up},
		{"too many requests, with a hint", 1, cooling(time.Second), Cooling},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, _ := still(t, provider(1))
			leases := make([]*Lease, test.times)
			for i := range leases {
				leases[i] = take(t, p, Want{})
			}
			for _, l := range leases {
				test.end(l)
			}
			if got := states(p)[0]; got != test.want {
				t.Errorf("state %s, want %s", got, test.want)
			}
			idle(t, p)
		})
	}
}

func TestRulesOfTheConfigurationHold(t *testing.T) {
	p, c := still(t, provider(1, func(p *config.Provider) {
		p.Breaker = config.Breaker{MinRequests: 2, FailureRate: 1, Open: config.Duration(time.Minute), Probes: 3}
	}))
	leases := []*Lease{take(t, p, Want{}), take(t, p, Want{})}
	for _, l := range leases {
		l.Release(Failed)
	}
	if r := refused(t, p, Want{}); r.Reason != Unhealthy || r.RetryAfter != 30*time.Second || r.Saturated() {
		t.Errorf("%v, retry after %v", r, r.RetryAfter)
	}
	c.at += time.Minute
	for range 3 {
		leases = append(leases, take(t, p, Want{}))
	}
	if r := refused(t, p, Want{}); r.Reason != Saturated {
		t.Errorf("%v with three probes under way", r)
	}
	p, c = still(t, provider(2, func(p *config.Provider) { p.Breaker.Open = config.Duration(time.Minute) }))
	l := take(t, p, Want{})
	l.Release(Unreached)
	c.at += time.Minute - 1
	if got := states(p); !slices.Contains(got, Resting) {
		t.Errorf("states %v before the end of the pause", got)
	}
	c.at++
	if got := states(p); slices.Contains(got, Resting) {
		t.Errorf("states %v after it", got)
	}
}

// A hint of a day parks an endpoint for half a minute, for the model that was asked
// for, and failures meanwhile do not prolong it; none is no cool-down.
func TestCoolDownIsClampedAndNotProlonged(t *testing.T) {
	p, c := still(t, provider(1))
	first, second := take(t, p, Want{Model: "m"}), take(t, p, Want{Model: "m"})
	first.CoolDown(86400 * time.Second)
	first.Release(Neutral)
	if r := refused(t, p, Want{Model: "m"}); r.Reason != Unhealthy || r.RetryAfter != MaxCoolDown {
		t.Errorf("%v, retry after %v; want %v", r, r.RetryAfter, MaxCoolDown)
	}
	take(t, p, Want{Model: "other"}).Release(OK)
	c.at += MaxCoolDown - 1
	second.CoolDown(86400 * time.Second)
	second.Release(Failed)
	_ = refused(t, p, Want{Model: "m"})
	c.at++
	l := take(t, p, Want{Model: "m"})
	l.CoolDown(0)
	l.Release(Neutral)
	take(t, p, Want{Model: "m"}).Release(OK)
	if n := len(p.endpoints[0].cool); n != 1 {
		t.Errorf("%d cool-downs are remembered", n)
	}
	l = take(t, p, Want{Model: "third"})
	l.CoolDown(time.Second)
	l.Release(Neutral)
	if n := len(p.endpoints[0].cool); n != 1 {
		t.Errorf("%d cool-downs are remembered, the old one among them", n)
	}
	idle(t, p)
}

// open makes the only endpoint fail, and brings it to the end of its pause.
func open(t testing.TB, p *Pool) {
	t.Helper()
	leases := make([]*Lease, 10)
	for i := range leases {
		leases[i] = take(t, p, Want{})
	}
	for _, l := range leases {
		l.Release(Failed)
	}
	if r := refused(t, p, Want{}); r.Reason != Unhealthy {
		t.Fatalf("%v, want it unhealthy", r)
	}
}

// Of a hundred requests that come when the pause is over, one goes; the others wait
// for how it fares.
func TestHalfOpenLetsThroughAsManyAsThereAreProbes(t *testing.T) {
	for _, test := range []struct {
		name    string
		outcome Outcome
		passed  int
	}{{"and all when it is answered", OK, 100}, {"and none when it fails", Failed, 1}, {"and one more when its client leaves", Neutral, 100}} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, provider(1), func(t *testing.T, _ *Fleet, p *Pool) {
				open(t, p)
				time.Sleep(5 * time.Second)
				var mu sync.Mutex
				var leases []*Lease
				unhealthy := 0
				var wg sync.WaitGroup
				for range 100 {
					wg.Go(func() {
						l, err := p.Acquire(t.Context(), Want{})
						mu.Lock()
						defer mu.Unlock()
						if err != nil {
							unhealthy++
							return
						}
						leases = append(leases, l)
					})
				}
				synctest.Wait()
				if len(leases) != 1 || states(p)[0] != Probing {
					t.Fatalf("%d requests at the endpoint, in state %v", len(leases), states(p))
				}
				leases[0].Release(test.outcome)
				synctest.Wait()
				if test.outcome == Neutral { // the next probe is out
					if len(leases) != 2 {
						t.Fatalf("%d requests at the endpoint after a probe's client left", len(leases))
					}
					leases[1].Produced()
					synctest.Wait()
				}
				wg.Wait()
				if len(leases) != test.passed || unhealthy != 100-test.passed {
					t.Errorf("%d passed and %d were refused, want %d to pass", len(leases), unhealthy, test.passed)
				}
				for _, l := range leases {
					l.Release(OK)
				}
				idle(t, p)
			})
		})
	}
}

// A probe is judged by its first output: a long answer does not keep others out.
func TestProbeIsJudgedByItsFirstOutput(t *testing.T) {
	p, c := still(t, provider(1))
	open(t, p)
	c.at += 5 * time.Second
	probe := take(t, p, Want{})
	_ = refused(t, p, Want{})
	probe.Answered() // by a header, behind which a failure may come
	_ = refused(t, p, Want{})
	probe.Produced()
	take(t, p, Want{}).Release(OK)
	probe.Release(Failed)
	if got := states(p)[0]; got != Up {
		t.Errorf("state %s", got)
	}
	idle(t, p)
}

// An endpoint that does not answer is tried before its pause is over when there is
// no other, by one request; what it finds holds for all that wait.
func TestLastEndpointIsTriedByOneRequestAtATime(t *testing.T) {
	for _, back := range []bool{true, false} {
		t.Run(map[bool]string{true: "which finds it back", false: "in vain"}[back], func(t *testing.T) {
			bubble(t, provider(1), func(t *testing.T, _ *Fleet, p *Pool) {
				take(t, p, Want{}).Release(Unreached)
				trial := take(t, p, Want{})
				var waiting []<-chan result
				for range 50 {
					waiting = append(waiting, queued(t.Context(), p, Want{}))
				}
				if n := p.Status().Endpoints[0].InFlight; n != 1 {
					t.Fatalf("%d requests try it", n)
				}
				if back {
					trial.Answered()
				} else {
					trial.Release(Unreached)
				}
				for _, w := range waiting {
					r := <-w
					if (r.err == nil) != back {
						t.Fatalf("error %v", r.err)
					}
					if back {
						r.lease.Release(OK)
					}
				}
				trial.Release(OK)
				idle(t, p)
			})
		})
	}
}

// With a healthy endpoint there, nobody waits for the one that rests.
func TestOthersTakeOverFromOneThatRests(t *testing.T) {
	p, _ := still(t, provider(2))
	l := take(t, p, Want{})
	sick := host(l)
	l.Release(Unreached)
	for range 10 {
		l := take(t, p, Want{})
		if host(l) == sick {
			t.Fatal("a request went to the endpoint that rests")
		}
		defer l.Release(OK)
	}
	r := refused(t, p, Want{Tried: p.endpoints})
	if r.Reason != Exhausted || r.Saturated() {
		t.Errorf("%v", r)
	}
}
