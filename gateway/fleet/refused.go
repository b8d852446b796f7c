package fleet

import (
	"fmt"
	"slices"
	"time"
)

// Reason says why a request got no endpoint. The list is closed: the values are
// metric labels.
type Reason string

// The reasons. After the first three, another provider may take the request.
const (
	QueueFull    Reason = "queue_full"    // the queue has no room, and this request was the least urgent
	QueueTimeout Reason = "queue_timeout" // it has waited for too long
	Saturated    Reason = "saturated"     // it would have had to wait, and would not
	Unhealthy    Reason = "unhealthy"     // all endpoints are left alone for a while
	Exhausted    Reason = "exhausted"     // it has tried all of them
)

// Refused is a request that got no endpoint.
type Refused struct {
	Provider   string
	Reason     Reason
	Waited     time.Duration
	RetryAfter time.Duration // when it may be worth another try; 0 is unknown
	Resting    bool          // for Unhealthy: some answer, and asked to be left alone for a while
}

func (r *Refused) Error() string {
	switch r.Reason {
	case QueueFull:
		return fmt.Sprintf("the queue of provider %q is full", r.Provider)
	case QueueTimeout:
		return fmt.Sprintf("no endpoint of provider %q had room for %v", r.Provider, r.Waited.Round(time.Millisecond))
	case Saturated:
		return fmt.Sprintf("no endpoint of provider %q has room", r.Provider)
	case Exhausted:
		return fmt.Sprintf("every endpoint of provider %q was tried", r.Provider)
	}
	if r.Resting {
		return fmt.Sprintf("the endpoints of provider %q asked to be left alone", r.Provider)
	}
	return fmt.Sprintf("no endpoint of provider %q is healthy", r.Provider)
}

// Saturated tells whether the provider is well, and only has too much to do.
func (r *Refused) Saturated() bool {
	return r.Reason == QueueFull || r.Reason == QueueTimeout || r.Reason == Saturated
}

func reasonOf(v verdict) Reason {
	switch v {
	case busy:
		return Saturated
	case exhausted:
		return Exhausted
	}
	return Unhealthy
}

// maxRetryAfter bounds what a refused client is told, in whole seconds.
const maxRetryAfter = 30 * time.Second

// refusal is the error for a request that has waited since a time.
func (p *Pool) refusal(reason Reason, w *Want, since, now time.Duration) *Refused {
	r := &Refused{Provider: p.name, Reason: reason, Waited: now - since}
	switch {
	case r.Saturated():
		r.RetryAfter = min(max(time.Second, p.wait.value(now)), maxRetryAfter)
	case reason == Unhealthy:
		r.RetryAfter = min(max(time.Second, p.recovers(w.Model, now)), maxRetryAfter)
		r.Resting = slices.ContainsFunc(p.endpoints, func(e *Endpoint) bool { return e.well(now) && !e.cool.over(w.Model, now) })
	}
	return r
}

// drop refuses a request that waits.
func (p *Pool) drop(w *waiter, reason Reason, now time.Duration) {
	w.refuse(p.refusal(reason, &w.want, w.since, now))
}

// recovers is how long the endpoint rests that is back first.
func (p *Pool) recovers(model string, now time.Duration) time.Duration {
	soonest := maxRetryAfter
	for _, e := range p.endpoints {
		soonest = min(soonest, e.rests(model, now))
	}
	return soonest
}

// mean follows how long requests waited lately.
type mean struct {
	wait time.Duration
	at   time.Duration
}

// forget is after how long without a wait the last ones tell nothing.
const forget = time.Minute

func (m *mean) add(wait, now time.Duration) {
	if m.value(now) == 0 {
		m.wait = wait
	}
	m.wait += (wait - m.wait) / 8
	m.at = now
}

func (m *mean) value(now time.Duration) time.Duration {
	if now-m.at > forget {
		return 0
	}
	return m.wait
}
