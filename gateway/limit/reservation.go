package limit

import "time"

// Reservation is one admitted request. It is open until the first Settle or
// Abandon; later calls change nothing, so a late clean-up cannot refund twice.
type Reservation struct {
	limiter *Limiter
	scopes  []*Scope
	closed  bool

	// Reserved is what was taken from every scope.
	Reserved Tokens
}

// Settlement is what closing a reservation moved, in tokens of input and output
// together.
type Settlement struct {
	Used     int64
	Refunded int64 // reserved and not used
	Debt     int64 // used and not reserved
}

// Settle closes the reservation with what the request really used: the
// difference goes back, or pushes the buckets into debt. ok is false when the
// reservation was closed before.
func (r *Reservation) Settle(now time.Duration, used Tokens) (s Settlement, ok bool) {
	r.limiter.mu.Lock()
	defer r.limiter.mu.Unlock()
	if r.closed {
		return Settlement{}, false
	}
	r.closed = true
	used = used.clamped()
	for _, scope := range r.scopes {
		scope.settle(now, r.Reserved, used)
	}
	s.add(r.Reserved.Input, used.Input)
	s.add(r.Reserved.Output, used.Output)
	ledger := &r.limiter.ledger
	ledger.Settled += s.Used
	ledger.Refunded += s.Refunded
	ledger.Debt += s.Debt
	return s, true
}

// Abandon closes the reservation of a request that produced nothing. Its tokens
// go back; that it was made still counts against requests per minute, or a
// client could retry a failing call without limit.
func (r *Reservation) Abandon(now time.Duration) (s Settlement, ok bool) {
	return r.Settle(now, Tokens{})
}

func (s *Settlement) add(reserved, used int64) {
	s.Used += used
	s.Refunded += max(reserved-used, 0)
	s.Debt += max(used-reserved, 0)
}

func (s *Scope) settle(now time.Duration, reserved, used Tokens) {
	s.open--
	s.input.settle(now, reserved.Input, used.Input)
	s.output.settle(now, reserved.Output, used.Output)
}

// Level is where one resource stands, for the x-ratelimit headers.
type Level struct {
	Limit     int64         // per minute; 0 means that nothing limits it
	Remaining int64         // never below zero
	Reset     time.Duration // until the bucket is full again
}

// Levels are those of the tightest scope, resource by resource.
type Levels struct{ Requests, Input, Output Level }

// Levels returns what is left of each resource at now.
func (l *Limiter) Levels(now time.Duration, scopes ...*Scope) Levels {
	l.mu.Lock()
	defer l.mu.Unlock()
	var levels Levels
	for _, s := range scopes {
		levels.Requests.tighten(now, &s.requests)
		levels.Input.tighten(now, &s.input)
		levels.Output.tighten(now, &s.output)
	}
	return levels
}

func (v *Level) tighten(now time.Duration, b *bucket) {
	if !b.limited() {
		return
	}
	b.refill(now)
	remaining := max(b.level, 0)
	if v.Limit == 0 || remaining < v.Remaining {
		*v = Level{Limit: b.capacity, Remaining: remaining, Reset: b.wait(b.capacity)}
	}
}
