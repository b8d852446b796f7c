package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/gateway/limit"
)

// both runs a test on each kind of store, with a clock that stands.
func both(t *testing.T, test func(t *testing.T, l Limits)) {
	t.Run("memory", func(t *testing.T) {
		now := time.Now()
		test(t, NewMemory(func() time.Time { return now }))
	})
	t.Run("redis", func(t *testing.T) { test(t, open(t, server(t))) })
}

func TestFiftyAtOnceAdmitExactlyWhatFits(t *testing.T) {
	for name, bounds := range map[string]limit.Bounds{
		"tokens":   rates(limit.Limits{OutputTPM: 1000}),
		"requests": rates(limit.Limits{RPM: 10}),
		"slots":    rates(limit.Limits{Concurrent: 10}),
		"money":    {Budgets: limit.Budgets{Day: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, l Limits) {
				l.Configure(scopesOf(bounds, limit.Bounds{}))
				var admitted atomic.Int64
				var wg sync.WaitGroup
				for range 50 {
					wg.Go(func() {
						a := ask(0, 100)
						a.Cost = func(limit.Tokens) limit.Money { return 100 }
						_, _, err := l.Reserve(context.Background(), keyA, a)
						if err == nil {
							admitted.Add(1)
						} else if _, ok := errors.AsType[*limit.Rejection](err); !ok {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if admitted.Load() != 10 {
					t.Errorf("%d of 50 admitted, want 10", admitted.Load())
				}
			})
		})
	}
}

func TestARejectionByOneScopeLeavesTheOtherAsItWas(t *testing.T) {
	both(t, func(t *testing.T, l Limits) {
		l.Configure(scopesOf(rates(limit.Limits{RPM: 5, OutputTPM: 100, Concurrent: 5}), rates(limit.Limits{OutputTPM: 10})))
		_, levels, err := l.Reserve(t.Context(), keyA, ask(0, 20))
		want := &limit.Rejection{Scope: `key "one" of tenant "a"`, Resource: limit.OutputTokens, Limit: 10, Asked: 20}
		if got, _ := errors.AsType[*limit.Rejection](err); cmp.Diff(want, got) != "" {
			t.Errorf("rejection %+v, want %+v", got, want)
		}
		if levels.Requests.Remaining != 5 || levels.Output.Remaining != 10 {
			t.Errorf("levels %+v after a rejection", levels)
		}
		standing, err := l.Standing(t.Context(), "a")
		if err != nil || standing[0].Requests.Level != 5 || standing[0].Output.Level != 100 || standing[0].Open != 0 {
			t.Errorf("the tenant was debited: %+v, %v", standing, err)
		}
	})
}

func TestSettlingGivesBackWhatWasNotUsed(t *testing.T) {
	both(t, func(t *testing.T, l Limits) {
		l.Configure(scopesOf(limit.Bounds{Limits: limit.Limits{OutputTPM: 600, Concurrent: 1}, Budgets: limit.Budgets{Month: 50}}, limit.Bounds{}))
		a := ask(0, 100)
		a.Cost = func(limit.Tokens) limit.Money { return 30 }
		r := mustReserve(t, l, keyA, a)
		if got := r.Reserved(); got != use(0, 100, 30) {
			t.Errorf("reserved %+v", got)
		}
		s, ok := r.Settle(use(0, 40, 12))
		if want := (limit.Settlement{Used: 40, Refunded: 60, Cost: 12}); !ok || s != want {
			t.Errorf("settled %+v (%t), want %+v", s, ok, want)
		}
		if _, ok := r.Abandon(); ok {
			t.Error("closed twice")
		}
		standing, err := l.Standing(t.Context(), "a")
		if err != nil || standing[0].Output.Level != 560 || standing[0].Open != 0 || standing[0].Held != 0 || standing[0].Day.Spent != 12 {
			t.Errorf("standing %+v, %v", standing, err)
		}
		if got, want := l.Ledger(), (limit.Ledger{Reserved: 100, Refunded: 60, Settled: 40, Cost: 12}); got != want {
			t.Errorf("ledger %+v, want %+v", got, want)
		}
	})
}

func TestTenantsAndKeysCountApart(t *testing.T) {
	both(t, func(t *testing.T, l Limits) {
		l.Configure(scopesOf(rates(limit.Limits{RPM: 2}), rates(limit.Limits{RPM: 1})))
		for _, step := range []struct {
			account Account
			fits    bool
		}{{keyA, true}, {keyA, false}, {otherA, true}, {otherA, false}, {keyB, true}, {keyB, true}, {keyB, false}} {
			_, levels, err := l.Reserve(t.Context(), step.account, limit.Ask{})
			if (err == nil) != step.fits {
				t.Errorf("%+v: %v, want admitted: %t", step.account, err, step.fits)
			}
			if levels.Requests.Limit == 0 {
				t.Errorf("%+v: no levels", step.account)
			}
		}
	})
}

func TestANewConfigurationKeepsWhatWasCounted(t *testing.T) {
	both(t, func(t *testing.T, l Limits) {
		l.Configure(scopesOf(rates(limit.Limits{OutputTPM: 100}), limit.Bounds{}))
		open := mustReserve(t, l, keyA, ask(0, 70))
		l.Configure(scopesOf(rates(limit.Limits{OutputTPM: 50}), limit.Bounds{}))
		if _, _, err := l.Reserve(t.Context(), keyA, ask(0, 31)); err == nil {
			t.Error("a new limit began full")
		}
		open.Settle(use(0, 60, 0))
		mustReserve(t, l, keyA, ask(0, 40)).Abandon()
		// A tenant that is gone is still known to requests that began before.
		l.Configure([]Scope{{Account{Tenant: "b"}, limit.Bounds{}}, {keyB, limit.Bounds{}}})
		mustReserve(t, l, keyA, ask(0, 1)).Abandon()
		l.Configure([]Scope{{Account{Tenant: "b"}, limit.Bounds{}}, {keyB, limit.Bounds{}}})
		if _, _, err := l.Reserve(t.Context(), keyA, ask(0, 1)); err == nil {
			t.Error("a tenant is never forgotten")
		}
	})
}

func TestSeedsRaiseBudgets(t *testing.T) {
	both(t, func(t *testing.T, l Limits) {
		l.Configure(scopesOf(limit.Bounds{Budgets: limit.Budgets{Day: 10}}, limit.Bounds{Budgets: limit.Budgets{Day: 5}}))
		for range 2 { // a second time changes nothing
			if err := l.Seed(t.Context(), tenantA, 8, 8); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Seed(t.Context(), keyA, 1, 1); err != nil {
			t.Fatal(err)
		}
		mustReserve(t, l, keyA, costing(2)).Settle(use(0, 0, 2))
		if _, _, err := l.Reserve(t.Context(), keyA, costing(1)); err == nil {
			t.Error("admitted above the budget")
		}
		if err := l.Seed(t.Context(), Account{Tenant: "c"}, 1, 1); err == nil {
			t.Error("a tenant that is not there was seeded")
		}
	})
}

// balance makes a thousand requests that come, end, fail and leave at random, on all
// gateways at once: what was debited is what was settled, and nothing stays held.
func balance(t *testing.T, gateways ...Limits) {
	t.Helper()
	bounds := limit.Bounds{
		Limits:  limit.Limits{RPM: 1e6, InputTPM: 1e6, OutputTPM: 1e6, Concurrent: 20},
		Budgets: limit.Budgets{Day: 1e6, Month: 1e9},
	}
	var tokens, money atomic.Int64
	var wg sync.WaitGroup
	for _, l := range gateways {
		l.Configure(scopesOf(bounds, bounds))
		for range 8 {
			wg.Go(func() {
				for range 1000 / 8 / len(gateways) {
					a := ask(rand.Int64N(500), rand.Int64N(500))
					a.Cost = func(limit.Tokens) limit.Money { return limit.Money(rand.Int64N(500)) }
					ctx, cancel := context.WithCancel(context.Background())
					if rand.IntN(4) == 0 {
						cancel()
					}
					r, _, err := l.Reserve(ctx, keyA, a)
					cancel()
					if err != nil {
						continue
					}
					used := use(rand.Int64N(500), rand.Int64N(900), limit.Money(rand.Int64N(900)))
					if rand.IntN(2) == 0 {
						used = limit.Use{}
					}
					tokens.Add(used.Input + used.Output)
					money.Add(int64(used.Cost))
					var settling sync.WaitGroup
					for range 2 { // whoever is first, once
						settling.Go(func() { r.Settle(used) })
					}
					settling.Wait()
				}
			})
		}
	}
	wg.Wait()
	var sum limit.Ledger
	for _, l := range gateways {
		got := l.Ledger()
		sum.Settled, sum.Cost = sum.Settled+got.Settled, sum.Cost+got.Cost
		if got.Reserved-got.Refunded+got.Debt != got.Settled {
			t.Errorf("ledger %+v does not balance", got)
		}
	}
	if sum.Settled != tokens.Load() || int64(sum.Cost) != money.Load() {
		t.Errorf("%d tokens and %v settled, want %d and %d", sum.Settled, sum.Cost, tokens.Load(), money.Load())
	}
	standing, err := gateways[0].Standing(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range standing[:2] {
		if s.Open != 0 || s.Held != 0 || int64(s.Day.Spent) != money.Load() {
			t.Errorf("%+v: %d open, %v held, %v spent, want %v", s.Account, s.Open, s.Held, s.Day.Spent, limit.Money(money.Load()))
		}
	}
}

func TestLedgersBalance(t *testing.T) {
	t.Run("memory", func(t *testing.T) { balance(t, NewMemory(time.Now)) })
	t.Run("two gateways with a redis", func(t *testing.T) {
		m := server(t)
		// A reservation whose client left before the answer came is not settled:
		// it expires.
		gateways := []*Redis{open(t, m), open(t, m)}
		defer m.SetTime(start)
		balance(t, patientRedis{gateways[0]}, patientRedis{gateways[1]})
	})
}

// patientRedis asks with a context that does not end, so that no reservation waits
// for its lease to run out.
type patientRedis struct{ *Redis }

func (p patientRedis) Reserve(ctx context.Context, a Account, ask limit.Ask) (Reservation, limit.Levels, error) {
	if ctx.Err() != nil {
		return nil, limit.Levels{}, ctx.Err()
	}
	return p.Redis.Reserve(context.WithoutCancel(ctx), a, ask)
}

func TestBudgetsFollowTheWallClock(t *testing.T) {
	m := NewMemory(func() time.Time { return start })
	m.Configure(scopesOf(limit.Bounds{Limits: limit.Limits{OutputTPM: 60}, Budgets: limit.Budgets{Day: 10}}, limit.Bounds{}))
	mustReserve(t, m, keyA, ask(0, 60)).Settle(use(0, 60, 10))
	m.follow(time.Second / 2) // as clocks that are slewed do
	if _, _, err := m.Reserve(t.Context(), keyA, ask(0, 0)); err == nil {
		t.Error("admitted above the budget")
	}
	m.follow(3 * time.Minute) // past midnight
	got := m.limiter.State(0, m.scopes[tenantA].counters)
	if got.Day.Spent != 0 || got.Output.Level != 0 {
		t.Errorf("%v spent and %d tokens left in the new day, want none of both: no time has passed", got.Day.Spent, got.Output.Level)
	}
}
