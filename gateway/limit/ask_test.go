package limit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// assuming is an ask whose output is an assumption, at a price of 1 a token.
func assuming(input, output int64) Ask {
	return Ask{Tokens: Tokens{Input: input, Output: output}, Unbounded: true, Cost: func(t Tokens) Money { return Money(t.Input + t.Output) }}
}

// A request that names no output limit takes what is left, as long as that is an
// eighth of what it would take from full buckets.
func TestAnAssumedOutputIsCutToWhatIsLeft(t *testing.T) {
	for _, test := range []struct {
		name        string
		tenant, key Bounds
		used        Use // before
		ask         Ask
		want        Use
		refused     *Rejection
	}{
		{name: "all of it", tenant: Bounds{Limits: Limits{OutputTPM: 5000}}, ask: assuming(0, 1024), want: Use{Tokens: Tokens{Output: 1024}, Cost: 1024}},
		{name: "the smallest limit", tenant: Bounds{Limits: Limits{OutputTPM: 500}}, key: Bounds{Limits: Limits{OutputTPM: 300}}, ask: assuming(0, 1024), want: Use{Tokens: Tokens{Output: 300}, Cost: 300}},
		{name: "what is left of it", tenant: Bounds{Limits: Limits{OutputTPM: 500}}, used: Use{Tokens: Tokens{Output: 100}}, ask: assuming(0, 1024), want: Use{Tokens: Tokens{Output: 400}, Cost: 500}},
		{name: "what is left of the scope with less", tenant: Bounds{Limits: Limits{OutputTPM: 500}}, key: Bounds{Limits: Limits{OutputTPM: 400}}, used: Use{Tokens: Tokens{Output: 300}}, ask: assuming(0, 1024), want: Use{Tokens: Tokens{Output: 100}, Cost: 400}},
		{name: "an eighth", tenant: Bounds{Limits: Limits{OutputTPM: 800}}, used: Use{Tokens: Tokens{Output: 700}}, ask: assuming(0, 1024), want: Use{Tokens: Tokens{Output: 100}, Cost: 800}},
		{name: "less than an eighth", tenant: Bounds{Limits: Limits{OutputTPM: 800}}, used: Use{Tokens: Tokens{Output: 701}}, ask: assuming(0, 1024),
			refused: &Rejection{Scope: "tenant", Resource: OutputTokens, Limit: 800, Asked: 100, Retryable: true, RetryAfter: 75 * time.Millisecond}},
		{name: "debt", tenant: Bounds{Limits: Limits{OutputTPM: 800}}, used: Use{Tokens: Tokens{Output: 1600}}, ask: assuming(0, 1024),
			refused: &Rejection{Scope: "tenant", Resource: OutputTokens, Limit: 800, Asked: 100, Retryable: true, RetryAfter: 67500 * time.Millisecond}},
		{name: "an output that was named is not cut", tenant: Bounds{Limits: Limits{OutputTPM: 800}}, used: Use{Tokens: Tokens{Output: 1}}, ask: ask(0, 800),
			refused: &Rejection{Scope: "tenant", Resource: OutputTokens, Limit: 800, Asked: 800, Retryable: true, RetryAfter: 75 * time.Millisecond}},
		{name: "nor is the input", tenant: Bounds{Limits: Limits{InputTPM: 600}}, used: Use{Tokens: Tokens{Input: 1}}, ask: assuming(600, 10),
			refused: &Rejection{Scope: "tenant", Resource: InputTokens, Limit: 600, Asked: 600, Retryable: true, RetryAfter: 100 * time.Millisecond}},
		{name: "what is left of the money", tenant: Bounds{Budgets: Budgets{Day: 1000, Month: 900}}, used: Use{Cost: 500}, ask: assuming(100, 800), want: Use{Tokens: Tokens{Input: 100, Output: 800}, Cost: 400}},
		{name: "money for the input and an eighth", tenant: Bounds{Budgets: Budgets{Day: 1000}}, used: Use{Cost: 800}, ask: assuming(100, 800), want: Use{Tokens: Tokens{Input: 100, Output: 800}, Cost: 200}},
		{name: "less money", tenant: Bounds{Budgets: Budgets{Day: 1000}}, used: Use{Cost: 801}, ask: assuming(100, 800),
			refused: &Rejection{Scope: "tenant", Resource: DayBudget, Limit: 1000, Asked: 200, Left: 199, Retryable: true, RetryAfter: time.Hour}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := &Limiter{}
			l.SetOrigin(lastDay)
			tenant, key := l.NewScope("tenant", test.tenant.Limits), l.NewScope("key", test.key.Limits)
			l.Bound(0, tenant, test.tenant)
			l.Bound(0, key, test.key)
			mustReserve(t, l, 0, Ask{}, tenant, key).Settle(0, test.used)
			r, err := l.Reserve(0, test.ask, tenant, key)
			if test.refused == nil {
				if err != nil || r.Reserved != test.want {
					t.Errorf("reserved %+v (%v), want %+v", r, err, test.want)
				}
				return
			}
			if diff := cmp.Diff(test.refused, rejection(t, err)); diff != "" {
				t.Errorf("rejection (-want +got):\n%s", diff)
			}
			mustReserve(t, l, test.refused.RetryAfter, test.ask, tenant, key)
		})
	}
}

// To leave the limit out gets nobody more than there is: however many such requests
// come at once, what they hold in all is what was there.
func TestConcurrentAsksWithoutALimitHoldNoMoreThanThereIs(t *testing.T) {
	var l Limiter
	s := l.NewScope("tenant", Limits{OutputTPM: 5000})
	var held, admitted atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if r, err := l.Reserve(0, assuming(0, 1024), s); err == nil {
				held.Add(r.Reserved.Output)
				admitted.Add(1)
			}
		})
	}
	wg.Wait()
	if held.Load() != 5000 || admitted.Load() != 5 {
		t.Errorf("%d requests hold %d tokens, want 5 with 5000", admitted.Load(), held.Load())
	}
}

// Whatever comes in whatever order: letting a request in brings no bucket below zero
// and no budget above its limit, an assumption takes between its least and its most,
// and nobody is let in while more was used than ever flowed in.
func TestAdmissionNeverOverdraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, s := budgeted(Money(rapid.Int64Range(1, 20_000).Draw(t, "day")), 0)
		capacity := rapid.Int64Range(1, 3000).Draw(t, "capacity")
		l.Bound(0, s, Bounds{Limits: Limits{OutputTPM: capacity}, Budgets: s.bounds.Budgets})
		amount := rapid.Int64Range(0, 2000)
		var now time.Duration
		var open []*Reservation
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) { now += time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "step")) },
			"reserve": func(t *rapid.T) {
				a := assuming(amount.Draw(t, "input"), amount.Draw(t, "output"))
				a.Unbounded = rapid.Bool().Draw(t, "unbounded")
				span := a.Within(s.bounds)
				r, err := l.Reserve(now, a, s)
				if err != nil {
					return
				}
				got := l.State(now, s)
				if got.Output.Level < 0 || got.Day.Spent+got.Held > s.bounds.Day {
					t.Fatalf("admitting brought the scope to %+v", got)
				}
				if u := r.Reserved; u.Output < span.Least.Output || u.Output > span.Most.Output || u.Cost < span.Least.Cost || u.Cost > span.Most.Cost {
					t.Fatalf("reserved %+v of %+v", u, span)
				}
				open = append(open, r)
				taken := l.Ledger().Settled
				for _, r := range open {
					taken += r.Reserved.Output
				}
				if most := capacity + int64(float64(capacity)*now.Minutes()) + 1; taken > most {
					t.Fatalf("%d tokens used and held, of %d that were ever there", taken, most)
				}
			},
			"settle": func(t *rapid.T) {
				if len(open) == 0 {
					return
				}
				used := Tokens{Output: amount.Draw(t, "used")}
				open[0].Settle(now, Use{Tokens: used, Cost: Money(used.Output)})
				open = open[1:]
			},
		})
	})
}
