package limit

import (
	"sync"
	"time"
)

// Resource names what a limit counts.
type Resource string

const (
	Requests     Resource = "requests"
	InputTokens  Resource = "input_tokens"
	OutputTokens Resource = "output_tokens"
	Slots        Resource = "concurrent"
	DayBudget    Resource = "usd_per_day"
	MonthBudget  Resource = "usd_per_month"
)

// Tokens is an amount of work.
type Tokens struct{ Input, Output int64 }

// maxTokens bounds the amounts that callers pass in, so that sums of them
// cannot overflow; no request comes near it.
const maxTokens = 1 << 40

func (t Tokens) clamped() Tokens {
	return Tokens{Input: min(max(t.Input, 0), maxTokens), Output: min(max(t.Output, 0), maxTokens)}
}

// Use is what a request uses: tokens, and what they cost.
type Use struct {
	Tokens
	Cost Money
}

// Clamped cuts amounts that no request has down to what can be counted.
func (u Use) Clamped() Use { return Use{Tokens: u.Tokens.clamped(), Cost: u.Cost.clamped(maxCost)} }

// Limiter grants reservations over several scopes at once. It is safe for
// concurrent use; one lock guards all scopes, since a decision takes well under
// a microsecond and must see all of them at one instant.
type Limiter struct {
	mu     sync.Mutex
	ledger Ledger
	origin time.Time // of the clock, for the windows of budgets
	today  calendar
}

// SetOrigin says which time of UTC's calendar is the origin of the limiter's
// clock. Budgets need it; it may be set anew when the wall clock was set.
func (l *Limiter) SetOrigin(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.origin = t
}

func (l *Limiter) calendar(now time.Duration) *calendar {
	l.today.set(l.origin.Add(now))
	return &l.today
}

// Ledger is the sum of everything that reservations did, in tokens of input and
// output together. When no reservation is open,
// Reserved − Refunded + Debt = Settled.
type Ledger struct {
	Reserved int64 // taken at admission
	Refunded int64 // given back: reserved, not used
	Debt     int64 // used beyond the reservation
	Settled  int64 // used
	Cost     Money // of what was used
}

// Reserve adds what was taken at admission.
func (l *Ledger) Reserve(u Use) { l.Reserved += u.Input + u.Output }

// Settle adds what closing a reservation moved.
func (l *Ledger) Settle(s Settlement) {
	l.Settled += s.Used
	l.Refunded += s.Refunded
	l.Debt += s.Debt
	l.Cost += s.Cost
}

// Ledger returns the totals so far.
func (l *Limiter) Ledger() Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ledger
}

// Reserve takes one request, its tokens, their cost and a slot from every scope,
// or nothing from any: all scopes are tried before the first is debited. now is
// the time since any fixed origin. The error is a *Rejection.
func (l *Limiter) Reserve(now time.Duration, ask Ask, scopes ...*Scope) (*Reservation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bounds := make([]Bounds, 0, 4) // more than the scopes of a request, so that it stays on the stack
	for _, s := range scopes {
		bounds = append(bounds, s.bounds)
	}
	span := ask.Within(bounds...)
	want, refused := l.check(now, span, scopes)
	if refused != nil {
		return nil, refused
	}
	for _, s := range scopes {
		s.debit(span.Requests(), want)
	}
	l.ledger.Reserve(want)
	return &Reservation{limiter: l, scopes: scopes, Reserved: want}, nil
}

// Check tells why the scopes do not admit a request now, or nil.
func (l *Limiter) Check(now time.Duration, want Span, scopes ...*Scope) *Rejection {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, refused := l.check(now, want, scopes)
	return refused
}

// check returns what a request gets of the scopes, and why it does not, or nil.
func (l *Limiter) check(now time.Duration, span Span, scopes []*Scope) (want Use, worst *Rejection) {
	calendar := l.calendar(now)
	want = span.Most
	for _, s := range scopes {
		s.refill(now)
		s.roll(calendar)
		want = s.spare(want)
	}
	want = span.atLeast(want)
	for _, s := range scopes {
		worst = worse(worst, s.tryRates(span.Requests(), want.Tokens))
		worst = worse(worst, s.trySlots())
		worst = worse(worst, s.tryBudgets(l.origin.Add(now), want.Cost))
	}
	return want, worst
}
