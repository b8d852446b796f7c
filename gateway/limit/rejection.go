package limit

import (
	"fmt"
	"time"
)

// soon is the wait that a rejection names for what has no known end: a slot, or
// money that open requests hold and may not use.
const soon = time.Second

// Rejection is the error of a request that does not fit now.
type Rejection struct {
	Scope    string
	Resource Resource
	Limit    int64 // per minute, or at once; nano-dollars of a budget
	Asked    int64
	// UsedUp tells that a budget is spent, so that nothing passes. Of one that is not,
	// Left is what is neither spent nor held by open requests, and Held what those hold,
	// in nano-dollars.
	UsedUp     bool
	Left, Held int64
	// Retryable is false when the ask is above the limit itself: waiting does
	// not help.
	Retryable bool
	// RetryAfter is when the request would fit if no other came: the longest
	// wait of all scopes and resources. What has no known end, such as a slot,
	// counts as one second.
	RetryAfter time.Duration
}

// Quota tells whether a budget turned the request away, not a rate.
func (r *Rejection) Quota() bool { return r.Resource == DayBudget || r.Resource == MonthBudget }

// TooCostly tells whether a budget has some left, and a cheaper request than this one
// could pass: waiting for open requests does not help it.
func (r *Rejection) TooCostly() bool { return r.Quota() && !r.UsedUp && r.Asked > r.Left+r.Held }

func (r *Rejection) Error() string {
	if r.Quota() {
		return r.budgetError()
	}
	switch {
	case !r.Retryable:
		return fmt.Sprintf("request needs %d %s, above the limit of %d of %s", r.Asked, r.Resource, r.Limit, r.Scope)
	}
	if r.Resource == Slots {
		return fmt.Sprintf("limit of %d %s of %s reached", r.Limit, r.Resource, r.Scope)
	}
	return fmt.Sprintf("limit of %d %s a minute of %s reached", r.Limit, r.Resource, r.Scope)
}

func (r *Rejection) budgetError() string {
	const smaller = "ask for a smaller max_tokens or shorten the prompt"
	asked, whole := Money(r.Asked), fmt.Sprintf("budget of %v %s of %s", Money(r.Limit), r.period(), r.Scope)
	switch {
	case r.UsedUp && r.Retryable:
		return whole + " is used up"
	case r.UsedUp:
		return fmt.Sprintf("request may cost %v, above the %s, which is used up", asked, whole)
	case !r.Retryable:
		return fmt.Sprintf("request may cost %v, above the %s: %s", asked, whole, smaller)
	case r.TooCostly():
		return fmt.Sprintf("request may cost %v, %v of the %s is left: %s", asked, Money(r.Left), whole, smaller)
	}
	return fmt.Sprintf("request may cost %v, %v of the %s is left and %v held by open requests: wait for them, or %s", asked, Money(r.Left), whole, Money(r.Held), smaller)
}

func (r *Rejection) period() string {
	if r.Resource == DayBudget {
		return "a day"
	}
	return "a month"
}

// RetryAfterSeconds is RetryAfter for the Retry-After header: whole seconds,
// rounded up, at least 1.
func (r *Rejection) RetryAfterSeconds() int64 {
	return max(1, int64((r.RetryAfter-1)/time.Second)+1)
}

// tryRates reports why the buckets cannot give what is wanted, or nil.
func (s *Scope) tryRates(requests int64, want Tokens) (worst *Rejection) {
	for _, need := range [...]struct {
		resource Resource
		bucket   *bucket
		n        int64
	}{
		{Requests, &s.requests, requests},
		{InputTokens, &s.input, want.Input},
		{OutputTokens, &s.output, want.Output},
	} {
		b := need.bucket
		if !b.limited() || need.n <= b.Level {
			continue
		}
		r := &Rejection{Scope: s.name, Resource: need.resource, Limit: b.capacity, Asked: need.n}
		if need.n <= b.capacity {
			r.Retryable, r.RetryAfter = true, b.wait(need.n)
		}
		worst = worse(worst, r)
	}
	return worst
}

func (s *Scope) trySlots() *Rejection {
	limit := s.bounds.Concurrent
	if limit == 0 || s.open < limit {
		return nil
	}
	return &Rejection{Scope: s.name, Resource: Slots, Limit: limit, Asked: 1, Retryable: true, RetryAfter: soon}
}

// tryBudgets reports why the budgets cannot hold the cost, or nil. A budget that
// is used up admits nothing, not even what costs nothing.
func (s *Scope) tryBudgets(wall time.Time, cost Money) (worst *Rejection) {
	for _, need := range [...]struct {
		resource Resource
		limit    Money
		window   *Window
		end      func(index int64) time.Time
	}{
		{DayBudget, s.bounds.Day, &s.day, dayEnd},
		{MonthBudget, s.bounds.Month, &s.month, monthEnd},
	} {
		spent := need.window.Spent
		if need.limit == 0 || spent < need.limit && spent+s.held+cost <= need.limit {
			continue
		}
		r := &Rejection{Scope: s.name, Resource: need.resource, Limit: int64(need.limit), Asked: int64(cost)}
		if r.UsedUp = spent >= need.limit; !r.UsedUp {
			r.Left, r.Held = int64(max(need.limit-spent-s.held, 0)), int64(s.held)
		}
		switch {
		case cost > need.limit: // never
		case spent < need.limit && spent+cost <= need.limit:
			r.Retryable, r.RetryAfter = true, soon // when open requests give back what they do not use
		default:
			r.Retryable, r.RetryAfter = true, max(need.end(need.window.Index).Sub(wall), soon)
		}
		worst = worse(worst, r)
	}
	return worst
}

// worse is the rejection that holds the request back longer.
func worse(a, b *Rejection) *Rejection {
	switch {
	case a == nil:
		return b
	case b == nil, !a.Retryable:
		return a
	case !b.Retryable, b.RetryAfter > a.RetryAfter:
		return b
	}
	return a
}
