package sched

import "fmt"

// CheckIntegrity verifies the block pool against the tables of all running
// requests (see kv.Pool.CheckIntegrity) and the scheduler's own lists against
// each other. It is meant for tests and for a debug endpoint: it reads
// everything.
func (s *Scheduler) CheckIntegrity() error {
	if err := s.pool.CheckIntegrity(s.tables()); err != nil {
		return fmt.Errorf("checking blocks: %w", err)
	}
	if len(s.running) > s.cfg.MaxNumSeqs {
		return fmt.Errorf("%d requests run, at most %d may", len(s.running), s.cfg.MaxNumSeqs)
	}
	for _, r := range s.running {
		if r.steady {
			s.cohort.settle(r)
		}
		switch {
		case r.state != running || s.byID[r.req.ID] != r:
			return fmt.Errorf("request %d is in the running list, but does not run", r.req.ID)
		case s.blocksFor(r.computed) != len(r.table):
			return fmt.Errorf("request %d has %d blocks for %d tokens", r.req.ID, len(r.table), r.computed)
		case r.computed > r.length || r.known > r.length || r.length > r.limit:
			return fmt.Errorf("request %d has %d tokens computed and %d known of %d, at most %d",
				r.req.ID, r.computed, r.known, r.length, r.limit)
		}
	}
	for i, r := range s.waiting {
		if r.state != waiting || r.heapAt != i || len(r.table) != 0 || r.computed != 0 || r.registered != 0 || s.byID[r.req.ID] != r {
			return fmt.Errorf("request %d is in the queue, but does not wait", r.req.ID)
		}
	}
	last := 0
	for _, r := range s.byID {
		if r.state == draining {
			last++
		}
	}
	if n := len(s.running) + len(s.waiting) + last; n != len(s.byID) {
		return fmt.Errorf("%d requests run, wait or drain, but %d are known", n, len(s.byID))
	}
	return nil
}
