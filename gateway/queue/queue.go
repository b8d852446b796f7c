package queue

import (
	"iter"
	"slices"
)

// Item is what the queue needs to know of a request.
type Item struct {
	Tenant   string
	Priority int   // smaller goes first, always
	Cost     int64 // tokens of prompt and answer that it may take; less than 1 counts as 1
	Weight   int   // share of its tenant, by which its cost is divided; less than 1 counts as 1
}

// Bounds limit how many may wait; 0 is no limit.
type Bounds struct {
	All      int
	Priority map[int]int // of each priority that is listed
}

// Queue orders requests by priority, and within a priority gives each tenant that
// waits tokens in proportion to its weight, whatever the number and size of its
// requests.
// The rule is self-clocked fair queueing (Golestani, "A self-clocked fair queueing
// scheme for broadband applications", INFOCOM 1994) with tokens for the length of
// a packet: each request has a finish tag,
//
//	start  = max(finish of its tenant's request before it, virtual time)
//	finish = start + cost / weight
//
// the smallest finish goes first, and virtual time is the finish of the request
// that went last. What two tenants that both wait are served, each divided by its
// weight, never differs by more than a largest request of each, divided likewise. A tenant that comes to a long queue of another's
// is served soon; one that came late, or used a service that nobody waited for,
// is owed nothing and owes nothing. A long request lets short ones of others
// pass, but no more tokens of them per tenant than it has itself.
//
// Start-time fair queueing, which orders by start, would not let short ones pass,
// but its virtual time stands still for as long as every tenant is a new one:
// whoever came a second time would wait for ever.
type Queue[T any] struct {
	bounds  Bounds
	classes []*class[T] // by priority
	length  int
	order   int64
}

// Ticket is a request in the queue.
type Ticket[T any] struct {
	Value T

	item   Item
	start  int64
	finish int64
	order  int64
	class  *class[T] // nil once it has left
	at     [2]int    // place in each heap of its class
}

// New returns an empty queue.
func New[T any](b Bounds) *Queue[T] { return &Queue[T]{bounds: b} }

// Len is how many wait.
func (q *Queue[T]) Len() int { return q.length }

// Push adds a request. When there is no room, the least urgent request leaves, of
// those the one that would go last, and of equals the newest: shed is its ticket,
// or, when that is the new one itself, the one that is returned; nil when there is
// room.
func (q *Queue[T]) Push(v T, item Item) (ticket, shed *Ticket[T]) {
	c := q.class(item.Priority)
	q.order++
	ticket = &Ticket[T]{Value: v, item: item, order: q.order, class: c}
	c.push(ticket)
	q.length++
	if bound := q.bounds.Priority[item.Priority]; bound > 0 && c.len() > bound {
		shed = c.last()
	} else if q.bounds.All > 0 && q.length > q.bounds.All {
		for _, c := range slices.Backward(q.classes) {
			if c.len() > 0 {
				shed = c.last()
				break
			}
		}
	}
	if shed != nil {
		q.Remove(shed)
	}
	return ticket, shed
}

// Bound changes the bounds, and returns the requests that leave because of it,
// as Push would have shed them.
func (q *Queue[T]) Bound(b Bounds) (shed []*Ticket[T]) {
	q.bounds = b
	drop := func(c *class[T]) {
		t := c.last()
		q.Remove(t)
		shed = append(shed, t)
	}
	for _, c := range q.classes {
		for bound := b.Priority[c.priority]; bound > 0 && c.len() > bound; {
			drop(c)
		}
	}
	for _, c := range slices.Backward(q.classes) {
		for b.All > 0 && q.length > b.All && c.len() > 0 {
			drop(c)
		}
	}
	return shed
}

// Pop takes out the request that goes next.
func (q *Queue[T]) Pop() (v T, ok bool) { return q.PopFunc(func(T) bool { return true }) }

// PopFunc takes out the first request, in the order in which they go, that may.
// Those before it keep their places.
func (q *Queue[T]) PopFunc(may func(T) bool) (v T, ok bool) {
	for _, c := range q.classes {
		if t := c.next(may); t != nil {
			q.length--
			return t.Value, true
		}
	}
	return v, false
}

// Remove takes a request out, wherever it is, and reports whether it was there.
func (q *Queue[T]) Remove(t *Ticket[T]) bool {
	if t.class == nil {
		return false
	}
	t.class.withdraw(t)
	q.length--
	return true
}

// class finds the requests of a priority.
func (q *Queue[T]) class(priority int) *class[T] {
	i, ok := slices.BinarySearchFunc(q.classes, priority, func(c *class[T], p int) int { return c.priority - p })
	if !ok {
		q.classes = slices.Insert(q.classes, i, &class[T]{priority: priority, tenants: map[string]*flow{}})
	}
	return q.classes[i]
}

// All ranges over the requests that wait, in no order.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, c := range q.classes {
			for _, t := range c.heaps[toFirst] {
				if !yield(t.Value) {
					return
				}
			}
		}
	}
}
