package sched

import (
	"cmp"
	"container/heap"
	"time"
)

// place orders the waiting queue: smaller is served first. Under FCFS only
// ticket differs. Under Priority, a preempted request goes before one that has
// never run, at equal priority: else an older newcomer could push it back again
// and again, and each time its work would be lost.
type place struct {
	priority int
	fresh    int // 0 when preempted, else 1
	arrival  time.Duration
	ticket   int64
	sibling  int64 // order among those of one ticket
}

func (p place) compare(q place) int {
	return cmp.Or(
		cmp.Compare(p.priority, q.priority),
		cmp.Compare(p.fresh, q.fresh),
		cmp.Compare(p.arrival, q.arrival),
		cmp.Compare(p.ticket, q.ticket),
		cmp.Compare(p.sibling, q.sibling),
	)
}

// queue is the waiting queue: a heap, so that an abort anywhere in it costs
// O(log n) under either policy.
type queue []*sequence

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].place.compare(q[j].place) < 0 }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].heapAt, q[j].heapAt = i, j
}

// Push implements heap.Interface; use add.
func (q *queue) Push(x any) {
	r := x.(*sequence)
	r.heapAt = len(*q)
	*q = append(*q, r)
}

// Pop implements heap.Interface; use remove.
func (q *queue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return r
}

func (q *queue) add(r *sequence)    { heap.Push(q, r) }
func (q *queue) remove(r *sequence) { heap.Remove(q, r.heapAt) }

// enqueue puts a new or preempted sequence into the waiting queue. Under FCFS a
// preempted one goes to the very front: several preempted in one step, the
// youngest first, end up in their old order.
func (s *Scheduler) enqueue(r *sequence) {
	preempted := r.resumes()
	switch {
	case s.cfg.Policy == Priority:
		r.place = place{priority: r.req.Priority, fresh: 1, arrival: r.req.Arrival, ticket: r.arrived}
		if preempted {
			r.place.fresh = 0
		}
	case preempted:
		s.front--
		r.place = place{ticket: s.front}
	default:
		r.place = place{ticket: r.arrived}
	}
	r.state = waiting
	s.waiting.add(r)
}
