package limit

import "time"

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
		s.refill(now)
		levels.Requests.tighten(&s.requests)
		levels.Input.tighten(&s.input)
		levels.Output.tighten(&s.output)
	}
	return levels
}

func (v *Level) tighten(b *bucket) {
	if !b.limited() {
		return
	}
	remaining := max(b.Level, 0)
	if v.Limit == 0 || remaining < v.Remaining {
		*v = Level{Limit: b.capacity, Remaining: remaining, Reset: b.wait(b.capacity)}
	}
}
