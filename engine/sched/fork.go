package sched

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/kv"
)

// Fork adds a sibling of a request whose prompt has just been computed: another
// answer, which has all of the prompt's blocks in its table and a first token of
// its own, which the caller has. It is called when the step that sampled the
// parent's first token has run and before Complete of its batch, with no other in
// flight.
//
// The last block of the prompt, where it is partly filled, is in all tables until
// somebody is to write to it: whoever is not the last to hold it gets a copy
// (Entry.CopyFrom). When MaxNumSeqs run already, the sibling waits, where its
// parent would, and computes again what the cache does not
// hold.
//
// It returns ErrNoTokens when the first token is the last that the request may have,
// and ErrDuplicateID; it panics when the parent is not at that point, since the
// blocks would hold something else than the sibling's prompt.
func (s *Scheduler) Fork(parent ID, req *Request) error {
	p := s.byID[parent]
	if p == nil || p.state != running || s.scheduled-s.completed != 1 || s.cohort.on ||
		p.inFlight != 1 || p.known != p.req.Prompt || p.length != p.known+1 || req.Prompt != p.req.Prompt {
		panic(fmt.Sprintf("sched: forking request %d, whose first token has not just been sampled", parent))
	}
	limit := min(s.window-req.Prompt, req.MaxTokens) + req.Prompt
	switch {
	case s.byID[req.ID] != nil:
		return fmt.Errorf("forking request %d: %w", req.ID, ErrDuplicateID)
	case limit <= p.length:
		return fmt.Errorf("forking request %d: %w", req.ID, ErrNoTokens)
	}
	s.added++
	r := s.newSequence()
	r.req, r.limit, r.arrived = *req, limit, s.added
	r.length, r.known = p.length, p.length
	r.cached, r.admitted = p.cached, p.admitted
	s.byID[req.ID] = r
	if len(s.running) >= s.cfg.MaxNumSeqs {
		s.enqueueSibling(r, p)
		return nil
	}
	s.reserveTable(r)
	s.pool.Share(p.table)
	r.table = append(r.table, p.table...)
	r.registered, r.computed, r.extent = p.registered, p.computed, p.extent
	if r.computed%s.pool.BlockSize() != 0 {
		r.shared, p.shared = true, true
	}
	r.state = running
	s.admitted++
	r.ordinal = s.admitted
	s.running = append(s.running, r)
	return nil
}

// enqueueSibling puts a sibling that found no place where its parent was, behind those
// that came with it.
func (s *Scheduler) enqueueSibling(r, parent *sequence) {
	if s.cfg.Policy == Priority {
		s.enqueue(r)
		return
	}
	r.place = place{ticket: parent.arrived, sibling: r.arrived}
	r.state = waiting
	s.waiting.add(r)
}

// resumes tells whether a request has run before: it was preempted, or is a sibling
// that found no place.
func (r *sequence) resumes() bool { return r.preemptions > 0 || r.known > r.req.Prompt }

// separate gives r a copy of its last block, unless nobody else has it in a table any
// more: then it may write there. It changes nothing and reports false when there are
// too few blocks for that and for the given number of tokens.
func (s *Scheduler) separate(r *sequence, tokens int) bool {
	i := r.computed / s.pool.BlockSize()
	if s.pool.Refs(r.table[i]) == 1 {
		r.shared = false
		return true
	}
	if s.blocksFor(tokens)-len(r.table)+1 > s.pool.Free() {
		return false
	}
	var to [1]kv.Block
	own, _ := s.pool.Allocate(to[:0], 1)
	r.copyFrom, r.copyTo = r.table[i], own[0]
	s.pool.Release(r.table[i : i+1])
	r.table[i] = own[0]
	r.shared = false
	return true
}
