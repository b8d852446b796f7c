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
		case s.blocksFor(r.extent) != len(r.table) || r.computed > r.extent:
			return fmt.Errorf("request %d has %d blocks for %d tokens, %d of them computed", r.req.ID, len(r.table), r.extent, r.computed)
		case r.computed-int(r.verifying) > r.length || r.known > r.length || r.extent >= r.limit || r.length > r.limit:
			return fmt.Errorf("request %d has %d tokens computed and %d known of %d, at most %d",
				r.req.ID, r.computed, r.known, r.length, r.limit)
		}
	}
	ready := 0
	for i, r := range s.waiting {
		if r.state != waiting || r.heapAt != i || s.byID[r.req.ID] != r || r.drafts != 0 {
			return fmt.Errorf("request %d is in the queue, but does not wait", r.req.ID)
		}
		if len(r.table) > 0 {
			ready++
		}
		if r.computed != r.extent || s.blocksFor(r.extent) != len(r.table) || r.computed != r.registered*s.pool.BlockSize() {
			return fmt.Errorf("request %d waits with %d blocks for %d tokens, %d of them computed", r.req.ID, len(r.table), r.extent, r.computed)
		}
	}
	if ready != s.ready {
		return fmt.Errorf("%d requests wait with blocks, but %d are counted", ready, s.ready)
	}
	return s.checkNumbers()
}

// checkNumbers requires that everybody who is known is in one place.
func (s *Scheduler) checkNumbers() error {
	last := 0
	for _, r := range s.loading {
		if r.state == loading {
			last++
		}
	}
	for _, r := range s.byID {
		if r.state == draining {
			last++
		}
	}
	if n := len(s.running) + len(s.waiting) + last; n != len(s.byID) {
		return fmt.Errorf("%d requests run, wait, load or drain, but %d are known", n, len(s.byID))
	}
	return nil
}
