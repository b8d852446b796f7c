package limit

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lastDay is an hour before a month of UTC's calendar ends.
var lastDay = time.Date(2026, 8, 31, 23, 0, 0, 0, time.UTC)

func costing(m Money) Ask { return Ask{Cost: func(Tokens) Money { return m }} }

// budgeted is a limiter at lastDay with one scope.
func budgeted(day, month Money) (*Limiter, *Scope) {
	l := &Limiter{}
	l.SetOrigin(lastDay)
	s := l.NewScope("tenant", Limits{})
	l.Bound(0, s, Bounds{Budgets: Budgets{Day: day, Month: month}})
	return l, s
}

func spend(t *testing.T, l *Limiter, now time.Duration, s *Scope, m Money) {
	t.Helper()
	mustReserve(t, l, now, costing(m), s).Settle(now, Use{Cost: m})
}

func rejection(t *testing.T, err error) *Rejection {
	t.Helper()
	r, ok := errors.AsType[*Rejection](err)
	if !ok {
		t.Fatalf("error is %v, want a rejection", err)
	}
	return r
}

func TestBudgetsRejectWhatTheyCannotHold(t *testing.T) {
	tests := []struct {
		name              string
		day, month        Money
		spent, held, cost Money
		want              *Rejection
		message           string
	}{
		{name: "room for it", day: 40 * dollar, spent: 39 * dollar, cost: dollar},
		{name: "a used-up day ends at midnight", day: 40 * dollar, spent: 40 * dollar, cost: 1,
			want:    &Rejection{Scope: "tenant", Resource: DayBudget, Limit: int64(40 * dollar), Asked: 1, UsedUp: true, Retryable: true, RetryAfter: time.Hour},
			message: "budget of $40.00 a day of tenant is used up"},
		{name: "a used-up budget admits not even what is free", month: dollar, spent: dollar,
			want:    &Rejection{Scope: "tenant", Resource: MonthBudget, Limit: int64(dollar), UsedUp: true, Retryable: true, RetryAfter: time.Hour},
			message: "budget of $1.00 a month of tenant is used up"},
		{name: "more than the budget never fits", day: dollar, cost: dollar + 1,
			want:    &Rejection{Scope: "tenant", Resource: DayBudget, Limit: int64(dollar), Asked: int64(dollar + 1), Left: int64(dollar)},
			message: "request may cost $1.000000001, above the budget of $1.00 a day of tenant: ask for a smaller max_tokens or shorten the prompt"},
		{name: "more than the budget, of which nothing is left", day: dollar, spent: dollar, cost: dollar + 1,
			want:    &Rejection{Scope: "tenant", Resource: DayBudget, Limit: int64(dollar), Asked: int64(dollar + 1), UsedUp: true},
			message: "request may cost $1.000000001, above the budget of $1.00 a day of tenant, which is used up"},
		{name: "more than is left of the budget", day: 10 * dollar, spent: 6 * dollar, cost: 5 * dollar,
			want:    &Rejection{Scope: "tenant", Resource: DayBudget, Limit: int64(10 * dollar), Asked: int64(5 * dollar), Left: int64(4 * dollar), Retryable: true, RetryAfter: time.Hour},
			message: "request may cost $5.00, $4.00 of the budget of $10.00 a day of tenant is left: ask for a smaller max_tokens or shorten the prompt"},
		{name: "more than is left even when open requests have ended", day: 10, spent: 5, held: 3, cost: 6,
			want:    &Rejection{Scope: "tenant", Resource: DayBudget, Limit: 10, Asked: 6, Left: 2, Held: 3, Retryable: true, RetryAfter: time.Hour},
			message: "request may cost $0.000000006, $0.000000002 of the budget of $0.00000001 a day of tenant is left: ask for a smaller max_tokens or shorten the prompt"},
		{name: "money that open requests hold may come back soon", day: 10, held: 8, spent: 1, cost: 2,
			want:    &Rejection{Scope: "tenant", Resource: DayBudget, Limit: 10, Asked: 2, Left: 1, Held: 8, Retryable: true, RetryAfter: time.Second},
			message: "request may cost $0.000000002, $0.000000001 of the budget of $0.00000001 a day of tenant is left and $0.000000008 held by open requests: wait for them, or ask for a smaller max_tokens or shorten the prompt"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, s := budgeted(test.day, test.month)
			spend(t, l, 0, s, test.spent)
			if test.held > 0 {
				mustReserve(t, l, 0, costing(test.held), s)
			}
			_, err := l.Reserve(0, costing(test.cost), s)
			if test.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			got := rejection(t, err)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rejection (-want +got):\n%s", diff)
			}
			if got.Error() != test.message || !got.Quota() {
				t.Errorf("message %q, want %q", got, test.message)
			}
			if got.RetryAfter > time.Second {
				if _, err := l.Reserve(got.RetryAfter-1, costing(test.cost), s); err == nil {
					t.Error("admitted before the wait was over")
				}
				mustReserve(t, l, got.RetryAfter, costing(test.cost), s)
			}
		})
	}
}

// What a request holds when a day ends counts in the day in which it is settled,
// and in no other.
func TestARefundAfterMidnightDoesNotMakeMoney(t *testing.T) {
	l, s := budgeted(10, 100)
	open := mustReserve(t, l, 0, costing(8), s)
	tomorrow := time.Hour
	if _, err := l.Reserve(tomorrow, costing(3), s); err == nil {
		t.Error("the open request's money was given twice")
	}
	open.Settle(tomorrow, Use{Cost: 5})
	got := l.State(tomorrow, s)
	if got.Held != 0 || got.Day.Spent != 5 || got.Month.Spent != 5 {
		t.Errorf("state %+v, want 5 spent in the new day and month", got)
	}
}

// A clock that is set forward begins a day early. Set back, it does not begin it
// again, and nothing is forgotten or below zero.
func TestAClockJumpRefillsABudgetOnce(t *testing.T) {
	l, s := budgeted(10, 100)
	spend(t, l, 0, s, 10)
	l.SetOrigin(lastDay.AddDate(0, 0, 3))
	spend(t, l, 1, s, 7)
	l.SetOrigin(lastDay)
	if _, err := l.Reserve(2, costing(4), s); err == nil {
		t.Error("setting the clock back refilled the budget")
	}
	if r := rejection(t, func() error { _, err := l.Reserve(2, costing(4), s); return err }()); r.RetryAfter != 73*time.Hour-2 {
		t.Errorf("Retry-After %v, want until the day that was reached is over", r.RetryAfter)
	}
	l.SetOrigin(lastDay.AddDate(0, 0, 3))
	if _, err := l.Reserve(3, costing(4), s); err == nil {
		t.Error("the day began twice")
	}
	if got := l.State(3, s); got.Day.Spent != 7 {
		t.Errorf("%v spent, want 7", got.Day.Spent)
	}
}

func TestChangedLimitsKeepWhatWasUsed(t *testing.T) {
	tests := []struct {
		name     string
		from, to Bounds
		used     Use
		after    time.Duration
		want     int64 // output level
	}{
		{"lowered below the level", Bounds{Limits: Limits{OutputTPM: 600}}, Bounds{Limits: Limits{OutputTPM: 60}}, Use{Tokens: Tokens{Output: 100}}, 0, 60},
		{"lowered above the level", Bounds{Limits: Limits{OutputTPM: 600}}, Bounds{Limits: Limits{OutputTPM: 500}}, Use{Tokens: Tokens{Output: 300}}, 0, 300},
		{"raised", Bounds{Limits: Limits{OutputTPM: 600}}, Bounds{Limits: Limits{OutputTPM: 6000}}, Use{Tokens: Tokens{Output: 300}}, 0, 300},
		{"raised, and refilled by the old rate until then", Bounds{Limits: Limits{OutputTPM: 600}}, Bounds{Limits: Limits{OutputTPM: 6000}}, Use{Tokens: Tokens{Output: 300}}, 10 * time.Second, 400},
		{"in debt", Bounds{Limits: Limits{OutputTPM: 600}}, Bounds{Limits: Limits{OutputTPM: 60}}, Use{Tokens: Tokens{Output: 700}}, 0, -100},
		{"new where there was none", Bounds{}, Bounds{Limits: Limits{OutputTPM: 60}}, Use{Tokens: Tokens{Output: 700}}, 0, 60},
		{"the same", Bounds{Limits: Limits{OutputTPM: 600}}, Bounds{Limits: Limits{OutputTPM: 600}}, Use{Tokens: Tokens{Output: 700}}, 0, -100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var l Limiter
			s := l.NewScope("tenant", test.from.Limits)
			mustReserve(t, &l, 0, Ask{}, s).Settle(0, test.used)
			l.Bound(test.after, s, test.to)
			if got := l.State(test.after, s).Output.Level; got != test.want {
				t.Errorf("level %d, want %d", got, test.want)
			}
		})
	}
}

func TestALimitThatIsTakenAwayBoundsNothing(t *testing.T) {
	var l Limiter
	s := l.NewScope("tenant", Limits{OutputTPM: 10, RPM: 1})
	mustReserve(t, &l, 0, ask(0, 10), s)
	l.Bound(0, s, Bounds{})
	mustReserve(t, &l, 0, ask(0, 1000), s)
}

func TestSeedsOnlyRaiseWhatWasSpent(t *testing.T) {
	l, s := budgeted(10, 100)
	spend(t, l, 0, s, 4)
	l.Seed(0, s, 3, 60)
	if got := l.State(0, s); got.Day.Spent != 4 || got.Month.Spent != 60 {
		t.Errorf("state %+v, want 4 and 60", got)
	}
	l.Seed(time.Hour, s, 9, 9) // of another day and month
	if got := l.State(time.Hour, s); got.Day.Spent != 9 || got.Month.Spent != 9 {
		t.Errorf("state %+v, want 9 and 9", got)
	}
}

func TestAnAskWithoutOutputLimitIsCutToTheSmallestBudget(t *testing.T) {
	l, s := budgeted(50, 30)
	r, err := l.Reserve(0, Ask{Unbounded: true, Cost: func(Tokens) Money { return 100 }}, s)
	if err != nil || r.Reserved.Cost != 30 {
		t.Errorf("reserved %+v (%v), want all of the smallest budget", r, err)
	}
}

func TestStateRevivesAScope(t *testing.T) {
	l, s := budgeted(50, 300)
	l.Bound(0, s, Bounds{Limits{RPM: 7, InputTPM: 70, OutputTPM: 700, Concurrent: 3}, Budgets{Day: 50, Month: 300}})
	spend(t, l, 0, s, 20)
	mustReserve(t, l, time.Second/3, Ask{Tokens: Tokens{Input: 5, Output: 50}, Cost: costing(7).Cost}, s)
	now := time.Second
	state := l.State(now, s)
	var other Limiter
	other.SetOrigin(lastDay)
	again := Revive("tenant", s.bounds, state)
	if diff := cmp.Diff(state, other.State(now, again)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(l.Levels(now, s), other.Levels(now, again)); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	for _, want := range []Use{{}, {Cost: 60}, {Cost: 24}, {Tokens: Tokens{Input: 71}}} {
		if diff := cmp.Diff(l.Check(now, Span{Most: want, Least: want}, s), other.Check(now, Span{Most: want, Least: want}, again)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", want, diff)
		}
	}
}

// Whatever is reserved, settled and abandoned under whatever clock, what was spent
// in the windows in force is the sum of what was settled in them, what is held is
// the sum of open reservations, and neither is below zero.
func TestBudgetsBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		money := rapid.Map(rapid.Int64Range(0, 1000), func(n int64) Money { return Money(n) })
		l, s := budgeted(money.Draw(t, "day"), money.Draw(t, "month"))
		var now time.Duration
		var open []*Reservation
		var held, day, month, total Money
		var window State
		// look notes that a window has begun, in which nothing is spent yet.
		look := func(t *rapid.T) State {
			got := l.State(now, s)
			if got.Day.Index < window.Day.Index || got.Month.Index < window.Month.Index {
				t.Fatalf("windows went back from %+v to %+v", window, got)
			}
			if got.Day.Index > window.Day.Index {
				day = 0
			}
			if got.Month.Index > window.Month.Index {
				month = 0
			}
			window = got
			return got
		}
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				now += time.Duration(rapid.Int64Range(0, int64(12*time.Hour)).Draw(t, "step"))
			},
			"clock": func(t *rapid.T) {
				l.SetOrigin(lastDay.Add(time.Duration(rapid.Int64Range(-int64(1000*time.Hour), int64(1000*time.Hour)).Draw(t, "jump"))))
			},
			"reserve": func(t *rapid.T) {
				if r, err := l.Reserve(now, costing(money.Draw(t, "cost")), s); err == nil {
					open, held = append(open, r), held+r.Reserved.Cost
				}
			},
			"settle": func(t *rapid.T) {
				if len(open) == 0 {
					return
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				used := money.Draw(t, "used")
				look(t)
				open[i].Settle(now, Use{Cost: used})
				held -= open[i].Reserved.Cost
				open = append(open[:i], open[i+1:]...)
				day, month, total = day+used, month+used, total+used
			},
			"": func(t *rapid.T) {
				got := look(t)
				if got.Held != held || got.Day.Spent != day || got.Month.Spent != month || got.Day.Spent < 0 {
					t.Fatalf("held %v, day %v, month %v; want %v, %v, %v", got.Held, got.Day.Spent, got.Month.Spent, held, day, month)
				}
			},
		})
		if got := l.Ledger().Cost; got != total {
			t.Fatalf("the ledger has %v, %v was settled", got, total)
		}
	})
}

func TestMonthsEnd(t *testing.T) {
	for _, at := range []time.Time{
		time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC), time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 6, 1, 1, 0, 0, 0, time.FixedZone("east", 2*60*60)), // still May in UTC
	} {
		var c calendar
		c.set(at)
		utc := at.UTC()
		if got, want := monthEnd(c.month), time.Date(utc.Year(), utc.Month()+1, 1, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("the month of %v ends %v, want %v", at, got, want)
		}
		if got, want := dayEnd(c.day), time.Date(utc.Year(), utc.Month(), utc.Day()+1, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("the day of %v ends %v, want %v", at, got, want)
		}
	}
}

func TestMoneyIsExact(t *testing.T) {
	tests := []struct {
		usd  float64
		want Money
		text string
	}{
		{40, 40 * dollar, "$40.00"},
		{0.002, 2_000_000, "$0.002"},
		{0.1 + 0.2, 300_000_000, "$0.30"},
		{1e-9, 1, "$0.000000001"},
		{12345678.125, 12345678_125000000, "$12345678.125"},
		{-1, 0, "$0.00"},
		{math.NaN(), 0, "$0.00"},
		{math.Inf(1), maxMoney, "$4000000000.00"},
	}
	for _, test := range tests {
		if got := Dollars(test.usd); got != test.want || got.String() != test.text {
			t.Errorf("%v is %d, %s; want %d, %s", test.usd, got, got, test.want, test.text)
		}
	}
	if got := (-Dollars(1.5)).String(); got != "-$1.50" {
		t.Errorf("a debt of 1.5 is %s", got)
	}
}
