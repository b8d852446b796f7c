package simulator

import (
	"time"

	"github.com/llmctl/llmctl/sizing/cost"
)

// horizon is the end of virtual time. What would come then, or later, does not
// happen.
const horizon = cost.Never

// later adds a time that is not negative; what does not fit is the horizon.
func later(at, by time.Duration) time.Duration {
	if by >= horizon-at {
		return horizon
	}
	return at + by
}

// times is n of a time, neither of them negative; what does not fit is the horizon.
func times(n int, each time.Duration) time.Duration {
	if each > 0 && time.Duration(n) >= horizon/each {
		return horizon
	}
	return time.Duration(n) * each
}

// An event is something that happens at a time. Those of the same time happen in
// the order in which they were planned.
type event struct {
	at    time.Duration
	order int64
	do    action
}

// action is what an event does. Actions are pointers to what they act on, so that
// planning one allocates nothing.
type action interface{ happen(s *sim) }

// agenda is a heap of events, the earliest first.
type agenda struct {
	heap  []event
	order int64
}

func (e event) before(other event) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// plan has something happen at a time, unless that is beyond the horizon.
func (a *agenda) plan(at time.Duration, do action) {
	if at >= horizon {
		return
	}
	a.order++
	a.heap = append(a.heap, event{at, a.order, do})
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !a.heap[i].before(a.heap[parent]) {
			break
		}
		a.heap[i], a.heap[parent] = a.heap[parent], a.heap[i]
		i = parent
	}
}

// idleUntil reports whether no event is planned for a time or one before it.
func (a *agenda) idleUntil(at time.Duration) bool { return len(a.heap) == 0 || a.heap[0].at > at }

// next takes the earliest event out.
func (a *agenda) next() (event, bool) {
	if len(a.heap) == 0 {
		return event{}, false
	}
	first := a.heap[0]
	last := len(a.heap) - 1
	a.heap[0], a.heap[last] = a.heap[last], event{}
	a.heap = a.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && a.heap[child+1].before(a.heap[child]) {
			child++
		}
		if !a.heap[child].before(a.heap[i]) {
			break
		}
		a.heap[i], a.heap[child] = a.heap[child], a.heap[i]
		i = child
	}
	return first, true
}

// call is an action that runs a function, for what happens rarely.
type call func(s *sim)

func (f call) happen(s *sim) { f(s) }
