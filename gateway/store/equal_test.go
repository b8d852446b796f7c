package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/gateway/limit"
)

// twin runs the same operations in Redis and in the policy, at the times that
// Redis tells.
type twin struct {
	r      *Redis
	policy limit.Limiter
	bounds map[Account]limit.Bounds
	scopes map[Account]*limit.Scope
	open   []pair
}

type pair struct {
	redis  *lent
	policy *limit.Reservation
}

func newTwin(r *Redis) *twin {
	w := &twin{r: r, bounds: map[Account]limit.Bounds{}, scopes: map[Account]*limit.Scope{}}
	w.policy.SetOrigin(time.Unix(0, 0))
	return w
}

func boundsOf() *rapid.Generator[limit.Bounds] {
	return rapid.Custom(func(t *rapid.T) limit.Bounds {
		n := rapid.OneOf(rapid.Int64Range(0, 3000), rapid.Int64Range(0, 1<<40))
		money := rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, 50_000_000*billion))
		return limit.Bounds{
			Limits: limit.Limits{RPM: n.Draw(t, "rpm"), InputTPM: n.Draw(t, "in"), OutputTPM: n.Draw(t, "out"),
				Concurrent: rapid.Int64Range(0, 6).Draw(t, "slots")},
			Budgets: limit.Budgets{Day: limit.Money(money.Draw(t, "day")), Month: limit.Money(money.Draw(t, "month"))},
		}
	})
}

func useOf() *rapid.Generator[limit.Use] {
	return rapid.Custom(func(t *rapid.T) limit.Use {
		n := rapid.OneOf(rapid.Int64Range(0, 2000), rapid.Int64Range(-1, 1<<41))
		money := rapid.OneOf(rapid.Int64Range(0, 2000), rapid.Int64Range(-1, 20_000_000*billion))
		return use(n.Draw(t, "input"), n.Draw(t, "output"), limit.Money(money.Draw(t, "cost")))
	})
}

// configure gives both the same bounds. Scopes without any do not go through
// Redis, so the first of each is always there.
func (w *twin) configure(t *rapid.T) {
	var scopes []Scope
	for _, a := range []Account{tenantA, keyA} {
		b := boundsOf().Draw(t, a.name())
		b.RPM = max(b.RPM, 1)
		w.bounds[a] = b
		scopes = append(scopes, Scope{a, b})
	}
	w.r.Configure(scopes)
}

func (w *twin) reserve(t *rapid.T) {
	asked := useOf().Draw(t, "ask")
	a := limit.Ask{Tokens: asked.Tokens, Unbounded: rapid.Bool().Draw(t, "unbounded"), Counted: rapid.Bool().Draw(t, "counted"),
		Cost: func(t limit.Tokens) limit.Money { // the least output costs less
			return asked.Cost / (1 + limit.Money(max(asked.Output-t.Output, 0)/(1+max(asked.Output, 0)/3)))
		}}
	s := w.r.find(keyA)
	span := a.Within(s.bounds()...)
	held := &lent{r: w.r, id: w.r.newID(), account: keyA, shared: s}
	answer, err := w.r.take(context.Background(), held, span)
	if err != nil {
		t.Fatal(err)
	}
	var scopes []*limit.Scope
	for _, account := range []Account{tenantA, keyA} {
		b := w.bounds[account]
		if w.scopes[account] == nil {
			w.scopes[account] = w.policy.NewScope(account.name(), b.Limits)
		}
		w.policy.Bound(answer.at, w.scopes[account], b)
		scopes = append(scopes, w.scopes[account])
	}
	reserved, err := w.policy.Reserve(answer.at, a, scopes...)
	if answer.fits != (err == nil) {
		t.Fatalf("Redis admitted: %t, the policy: %v", answer.fits, err)
	}
	counters, revived := s.revive(answer)
	for i, scope := range scopes {
		if diff := cmp.Diff(w.policy.State(answer.at, scope), answer.states[i]); diff != "" {
			t.Fatalf("scope %d (-policy +redis):\n%s", i, diff)
		}
	}
	if diff := cmp.Diff(w.policy.Levels(answer.at, scopes...), counters.Levels(answer.at, revived...)); diff != "" {
		t.Fatalf("levels (-policy +redis):\n%s", diff)
	}
	if err == nil {
		held.use = answer.granted
		if held.use != reserved.Reserved {
			t.Fatalf("Redis granted %+v, the policy %+v", held.use, reserved.Reserved)
		}
		w.r.admit(held)
		w.open = append(w.open, pair{held, reserved})
		return
	}
	want, _ := errors.AsType[*limit.Rejection](err)
	if diff := cmp.Diff(want, counters.Check(answer.at, span, revived...)); diff != "" {
		t.Fatalf("rejection (-policy +redis):\n%s", diff)
	}
}

func (w *twin) settle(t *rapid.T) {
	if len(w.open) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.open)-1).Draw(t, "which")
	p := w.open[i]
	w.open = append(w.open[:i], w.open[i+1:]...)
	used := useOf().Draw(t, "used")
	at := w.now(t)
	got, ok := p.redis.Settle(used)
	want, _ := p.policy.Settle(at, used)
	if !ok || got != want {
		t.Fatalf("settled %+v (%t), the policy %+v", got, ok, want)
	}
}

// now is Redis's time; the clock stands while an operation runs.
func (w *twin) now(t *rapid.T) time.Duration {
	answer, err := w.r.look(context.Background(), keysOf("a"), []Scope{{tenantA, w.bounds[tenantA]}})
	if err != nil {
		t.Fatal(err)
	}
	if s := w.scopes[tenantA]; s != nil {
		w.policy.Bound(answer.at, s, w.bounds[tenantA])
	}
	return answer.at
}

// Whatever comes in whatever order, with limits that change and a clock that may
// step back, Redis counts what the policy counts, to the last part of a token and
// of a dollar.
func TestRedisCountsWhatThePolicyCounts(t *testing.T) {
	m := server(t)
	rapid.Check(t, func(t *rapid.T) {
		m.FlushAll()
		now := start
		m.SetTime(now)
		r, err := NewRedis("redis://"+m.Addr(), "", RedisOptions{Now: time.Now, Patience: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		w := newTwin(r)
		w.configure(t)
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				step := rapid.OneOf(rapid.Int64Range(-1_000_000, 5_000_000), rapid.Int64Range(0, 86_400_000_000), rapid.Int64Range(0, 400*86_400_000_000))
				// Leases are another test's: here nothing stays open for one.
				d := step.Draw(t, "µs")
				if d > lease.Microseconds()/100 && len(w.open) > 0 {
					d = d % (lease.Microseconds() / 100)
				}
				now = now.Add(time.Duration(d) * time.Microsecond)
				m.SetTime(now)
			},
			"configure": w.configure,
			"reserve":   w.reserve,
			"again":     w.reserve,
			"settle":    w.settle,
		})
		for len(w.open) > 0 {
			w.settle(t)
		}
		if got, want := r.Ledger(), w.policy.Ledger(); got != want {
			t.Fatalf("ledger %+v, the policy's %+v", got, want)
		}
	})
}
