package limit

import "time"

// Limits bounds one scope. Zero is no limit: whoever reads a configuration
// refuses an explicit zero, which would never refill.
type Limits struct {
	RPM        int64 // requests per minute
	InputTPM   int64 // input tokens per minute
	OutputTPM  int64 // output tokens per minute
	Concurrent int64 // requests at once
}

// Bounds are all that bounds a scope.
type Bounds struct {
	Limits
	Budgets
}

// Any tells whether there is a bound at all.
func (b Bounds) Any() bool { return b != Bounds{} }

// Scope is the counters of one tenant or one key. It belongs to the Limiter
// that made it.
type Scope struct {
	name                    string
	bounds                  Bounds
	requests, input, output bucket
	open                    int64 // reservations that hold a slot
	held                    Money // reserved by them
	day, month              Window
}

// NewScope returns a scope with full buckets. name appears in rejections.
func (l *Limiter) NewScope(name string, limits Limits) *Scope {
	return &Scope{
		name:     name,
		bounds:   Bounds{Limits: limits},
		requests: newBucket(limits.RPM),
		input:    newBucket(limits.InputTPM),
		output:   newBucket(limits.OutputTPM),
	}
}

// Bound changes what a scope may use. What it has used stays used: a level above
// a lowered limit is cut down to it, one below a raised limit stays until it has
// refilled. A limit where there was none begins full.
func (l *Limiter) Bound(now time.Duration, s *Scope, b Bounds) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.refill(now)
	s.bounds = b
	s.requests.resize(now, b.RPM)
	s.input.resize(now, b.InputTPM)
	s.output.resize(now, b.OutputTPM)
}

// Seed says what a scope has spent in the windows that now lies in, as a ledger
// knows it. It never lowers what the scope knows itself.
func (l *Limiter) Seed(now time.Duration, s *Scope, day, month Money) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.roll(l.calendar(now))
	s.day.Spent = max(s.day.Spent, day.clamped(maxMoney))
	s.month.Spent = max(s.month.Spent, month.clamped(maxMoney))
}

func (s *Scope) refill(now time.Duration) {
	s.requests.refill(now)
	s.input.refill(now)
	s.output.refill(now)
}

func (s *Scope) roll(c *calendar) {
	s.day.roll(c.day)
	s.month.roll(c.month)
}

func (s *Scope) debit(requests int64, u Use) {
	s.requests.take(requests)
	s.input.take(u.Input)
	s.output.take(u.Output)
	s.open++
	s.held = min(s.held+u.Cost, maxMoney)
}

// settle replaces what was reserved by what was used. The money counts in the
// windows of now: what was held for it belongs to none.
func (s *Scope) settle(now time.Duration, c *calendar, reserved, used Use) {
	s.refill(now)
	s.roll(c)
	s.open--
	s.input.settle(reserved.Input, used.Input)
	s.output.settle(reserved.Output, used.Output)
	s.held = max(s.held-reserved.Cost, 0)
	s.day.spend(used.Cost)
	s.month.spend(used.Cost)
}

// State is all that a scope's counters hold, for one that is kept elsewhere.
type State struct {
	At                      time.Duration // when the buckets' levels were true
	Requests, Input, Output Bucket
	Open                    int64
	Held                    Money
	Day, Month              Window
}

// Bucket is what a bucket holds.
type Bucket struct {
	Level int64  // whole tokens; below zero is debt
	Carry uint64 // part of a token, in 1/60,000,000,000 of one
}

// Revive returns a scope with the counters that State returned. What a limit of
// zero counts is ignored.
func Revive(name string, b Bounds, s State) *Scope {
	revived := func(capacity int64, b Bucket) bucket {
		if capacity == 0 {
			b = Bucket{}
		}
		return bucket{capacity: capacity, Bucket: b, at: s.At}
	}
	return &Scope{
		name: name, bounds: b,
		requests: revived(b.RPM, s.Requests),
		input:    revived(b.InputTPM, s.Input),
		output:   revived(b.OutputTPM, s.Output),
		open:     s.Open, held: s.Held, day: s.Day, month: s.Month,
	}
}

// State returns what a scope's counters hold at now.
func (l *Limiter) State(now time.Duration, s *Scope) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.refill(now)
	s.roll(l.calendar(now))
	return State{
		At:       s.requests.at,
		Requests: s.requests.Bucket, Input: s.input.Bucket, Output: s.output.Bucket,
		Open: s.open, Held: s.held, Day: s.day, Month: s.month,
	}
}
