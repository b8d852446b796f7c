package sched

import "slices"

// victim picks the index of the running request that loses its blocks: under
// FCFS the one admitted last, under Priority the one with the worst priority
// and, among equals, the latest arrival.
func (s *Scheduler) victim() int {
	last := len(s.running) - 1
	if s.cfg.Policy == FCFS {
		return last
	}
	worst := last
	for i, r := range s.running {
		if rank(r).compare(rank(s.running[worst])) > 0 {
			worst = i
		}
	}
	return worst
}

// rank orders running requests under Priority; the largest is preempted first.
func rank(r *sequence) place {
	return place{priority: r.req.Priority, arrival: r.req.Arrival, ticket: r.arrived}
}

// preempt takes all blocks from running[v] and puts it back into the queue. It
// will recompute its prompt and its outputs, except for what the prefix cache
// still holds of them then. A token that is being sampled in flight is kept.
func (s *Scheduler) preempt(b *Batch, v int) {
	r := s.running[v]
	s.running = slices.Delete(s.running, v, v+1)
	s.registerOwn(r)
	s.pool.Release(r.table)
	r.table = r.table[:0]
	r.registered, r.computed, r.extent, r.drafts = 0, 0, 0, 0
	r.shared = false
	r.preemptions++
	s.stats.Preemptions++
	b.Preempted = append(b.Preempted, r.req.ID)
	s.enqueue(r)
}
