package limit

import (
	"fmt"
	"sync"
	"time"
)

// Limits bounds one scope. Zero is no limit: whoever reads a configuration
// refuses an explicit zero, which would never refill.
type Limits struct {
	RPM        int64 // requests per minute
	InputTPM   int64 // input tokens per minute
	OutputTPM  int64 // output tokens per minute
	Concurrent int64 // requests at once
}

// Resource names what a limit counts.
type Resource string

const (
	Requests     Resource = "requests"
	InputTokens  Resource = "input_tokens"
	OutputTokens Resource = "output_tokens"
	Slots        Resource = "concurrent"
)

// Tokens is an amount of work.
type Tokens struct{ Input, Output int64 }

// maxTokens bounds the amounts that callers pass in, so that sums of them
// cannot overflow; no request comes near it.
const maxTokens = 1 << 40

func (t Tokens) clamped() Tokens {
	return Tokens{Input: min(max(t.Input, 0), maxTokens), Output: min(max(t.Output, 0), maxTokens)}
}

// Scope is the counters of one tenant or one key. It belongs to the Limiter
// that made it.
type Scope struct {
	name                    string
	limits                  Limits
	requests, input, output bucket
	open                    int64 // reservations that hold a slot
}

// Limiter grants reservations over several scopes at once. It is safe for
// concurrent use; one lock guards all scopes, since a decision takes well under
// a microsecond and must see all of them at one instant.
type Limiter struct {
	mu     sync.Mutex
	ledger Ledger
}

// Ledger is the sum of everything that reservations did, in tokens of input and
// output together. When no reservation is open,
// Reserved − Refunded + Debt = Settled.
type Ledger struct {
	Reserved int64 // taken at admission
	Refunded int64 // given back: reserved, not used
	Debt     int64 // used beyond the reservation
	Settled  int64 // used
}

// NewScope returns a scope with full buckets. name appears in rejections.
func (l *Limiter) NewScope(name string, limits Limits) *Scope {
	return &Scope{
		name:     name,
		limits:   limits,
		requests: newBucket(limits.RPM),
		input:    newBucket(limits.InputTPM),
		output:   newBucket(limits.OutputTPM),
	}
}

// Ledger returns the totals so far.
func (l *Limiter) Ledger() Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ledger
}

// Ask is what a request may use.
type Ask struct {
	Tokens
	// Unbounded says that the client named no output limit, so that Output is
	// only an assumption. It is then cut down to the smallest output limit,
	// else a small tenant's first request could never pass.
	Unbounded bool
}

// Rejection is the error of a request that does not fit now.
type Rejection struct {
	Scope    string
	Resource Resource
	Limit    int64 // per minute, or at once
	Asked    int64
	// Retryable is false when the ask is above the limit itself: waiting does
	// not help.
	Retryable bool
	// RetryAfter is when the request would fit if no other came: the longest
	// wait of all scopes and resources. A slot has no known time; it counts as
	// one second.
	RetryAfter time.Duration
}

func (r *Rejection) Error() string {
	if !r.Retryable {
		return fmt.Sprintf("request needs %d %s, above the limit of %d of %s", r.Asked, r.Resource, r.Limit, r.Scope)
	}
	return fmt.Sprintf("limit of %d %s of %s reached", r.Limit, r.Resource, r.Scope)
}

// RetryAfterSeconds is RetryAfter for the Retry-After header: whole seconds,
// rounded up, at least 1.
func (r *Rejection) RetryAfterSeconds() int64 {
	return max(1, int64((r.RetryAfter-1)/time.Second)+1)
}

// Reserve takes one request, its tokens and a slot from every scope, or nothing
// from any: all scopes are tried before the first is debited. now is the time
// since any fixed origin. The error is a *Rejection.
func (l *Limiter) Reserve(now time.Duration, ask Ask, scopes ...*Scope) (*Reservation, error) {
	want := ask.clamped()
	if ask.Unbounded {
		for _, s := range scopes {
			if s.output.limited() {
				want.Output = min(want.Output, s.output.capacity)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var worst *Rejection
	for _, s := range scopes {
		worst = worse(worst, s.try(now, want))
	}
	if worst != nil {
		return nil, worst
	}
	for _, s := range scopes {
		s.debit(want)
	}
	l.ledger.Reserved += want.Input + want.Output
	return &Reservation{limiter: l, scopes: scopes, Reserved: want}, nil
}

// try reports why the scope cannot admit the request now, or nil.
func (s *Scope) try(now time.Duration, want Tokens) *Rejection {
	var worst *Rejection
	for _, need := range []struct {
		resource Resource
		bucket   *bucket
		n        int64
	}{
		{Requests, &s.requests, 1},
		{InputTokens, &s.input, want.Input},
		{OutputTokens, &s.output, want.Output},
	} {
		b := need.bucket
		if !b.limited() {
			continue
		}
		b.refill(now)
		if need.n <= b.level {
			continue
		}
		r := &Rejection{Scope: s.name, Resource: need.resource, Limit: b.capacity, Asked: need.n}
		if need.n <= b.capacity {
			r.Retryable, r.RetryAfter = true, b.wait(need.n)
		}
		worst = worse(worst, r)
	}
	if limit := s.limits.Concurrent; limit > 0 && s.open >= limit {
		worst = worse(worst, &Rejection{
			Scope: s.name, Resource: Slots, Limit: limit, Asked: 1, Retryable: true, RetryAfter: time.Second,
		})
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

func (s *Scope) debit(t Tokens) {
	s.requests.take(1)
	s.input.take(t.Input)
	s.output.take(t.Output)
	s.open++
}
