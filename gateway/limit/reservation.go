package limit

import "time"

// Reservation is one admitted request. It is open until the first Settle or
// Abandon; later calls change nothing, so a late clean-up cannot refund twice.
type Reservation struct {
	limiter *Limiter
	scopes  []*Scope
	closed  bool

	// Reserved is what was taken from every scope.
	Reserved Use
}

// Settlement is what closing a reservation moved, in tokens of input and output
// together.
type Settlement struct {
	Used     int64
	Refunded int64 // reserved and not used
	Debt     int64 // used and not reserved
	Cost     Money // of what was used
}

// Settle closes the reservation with what the request really used: the
// difference goes back, or pushes the buckets into debt. ok is false when the
// reservation was closed before.
func (r *Reservation) Settle(now time.Duration, used Use) (s Settlement, ok bool) {
	r.limiter.mu.Lock()
	defer r.limiter.mu.Unlock()
	if r.closed {
		return Settlement{}, false
	}
	r.closed = true
	used = used.Clamped()
	calendar := r.limiter.calendar(now)
	for _, scope := range r.scopes {
		scope.settle(now, calendar, r.Reserved, used)
	}
	s = Settle(r.Reserved, used)
	r.limiter.ledger.Settle(s)
	return s, true
}

// Abandon closes the reservation of a request that produced nothing. Its tokens
// go back; that it was made still counts against requests per minute, or a
// client could retry a failing call without limit.
func (r *Reservation) Abandon(now time.Duration) (s Settlement, ok bool) {
	return r.Settle(now, Use{})
}

// Settle is what closing a reservation with what was used moves.
func Settle(reserved, used Use) Settlement {
	s := Settlement{Cost: used.Cost}
	s.add(reserved.Input, used.Input)
	s.add(reserved.Output, used.Output)
	return s
}

func (s *Settlement) add(reserved, used int64) {
	s.Used += used
	s.Refunded += max(reserved-used, 0)
	s.Debt += max(used-reserved, 0)
}
