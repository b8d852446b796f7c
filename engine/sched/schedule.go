package sched

import (
	"slices"
	"time"
)

// Schedule composes the next batch: first everybody who is running, in order of
// admission, then waiting requests, unless somebody had to be preempted. It
// returns nil when there is nothing to run; that is never the case while
// Running or Waiting is above 0. now is recorded in the batch.
//
// At most one batch may be in flight when it is called; it panics otherwise.
func (s *Scheduler) Schedule(now time.Duration) *Batch {
	if s.scheduled-s.completed > 1 {
		panic("sched: Schedule with two batches in flight")
	}
	if s.cohort.on {
		s.dissolve()
	}
	s.drain()
	b := s.nextBatch(now)
	s.budget = s.cfg.MaxNumBatchedTokens

	// Under Priority the first in the list can be the worst of all and so
	// preempt itself. The step would then be empty, though others can run.
	for s.scheduleRunning(b) && len(b.Entries) == 0 {
	}
	// Registered only now, and not as each entry is added: an entry that its
	// request lost again to a preemption will not be computed.
	for i, r := range b.seqs {
		s.register(r, b.Entries[i].Start+b.Entries[i].Tokens)
	}
	if len(b.Preempted) == 0 {
		s.admitWaiting(b)
	}
	if len(b.Entries) == 0 {
		return nil
	}
	s.advance(b)
	return b
}

// nextBatch is the batch to compose, empty.
func (s *Scheduler) nextBatch(now time.Duration) *Batch {
	b := &s.batches[s.scheduled%2]
	*b = Batch{Step: s.scheduled, At: now, Entries: b.Entries[:0], Preempted: b.Preempted[:0], seqs: b.seqs[:0]}
	return b
}

// drain releases the requests whose last token is being sampled by the batch in
// flight. Their blocks may be written again by the batch that is now composed,
// because that one runs later.
func (s *Scheduler) drain() {
	if s.scheduled == s.completed {
		return
	}
	drained := false
	for _, r := range s.batches[(s.scheduled-1)%2].seqs {
		if r.state == running && r.length == r.limit {
			s.pool.Release(r.table)
			r.table = r.table[:0]
			r.state = draining
			drained = true
		}
	}
	if drained {
		s.compactRunning()
	}
}

// scheduleRunning gives every running request its next tokens, preempting the
// least deserving when blocks run out, and reports whether it preempted any.
// Until it returns, Entries[i] belongs to running[i].
func (s *Scheduler) scheduleRunning(b *Batch) (preempted bool) {
	for i := 0; i < len(s.running) && s.budget > 0; i++ {
		r := s.running[i]
		n := min(s.chunk(r.length-r.computed), s.budget)
		for !s.grow(r, r.computed+n) {
			preempted = true
			v := s.victim()
			if v < i {
				s.budget += b.Entries[v].Tokens
				b.Tokens -= b.Entries[v].Tokens
				b.Entries = slices.Delete(b.Entries, v, v+1)
				b.seqs = slices.Delete(b.seqs, v, v+1)
			}
			s.preempt(b, v)
			if v == i {
				return preempted
			}
			if v < i {
				i--
			}
		}
		s.schedule(b, r, n)
	}
	return preempted
}

// admitWaiting starts waiting requests in the order of the queue until the
// budget is spent, too many run, or the first in the queue finds no blocks:
// nobody overtakes it.
func (s *Scheduler) admitWaiting(b *Batch) {
	for len(s.waiting) > 0 && len(s.running) < s.cfg.MaxNumSeqs && s.budget > 0 {
		r := s.waiting[0]
		s.match(r)
		hit := len(s.hits) * s.pool.BlockSize()
		n := s.chunk(r.length - hit)
		if s.cfg.DisableChunkedPrefill && n > s.budget {
			return
		}
		n = min(n, s.budget)
		reserve := hit + n
		if s.cfg.ReserveFullPrompt {
			reserve = r.length
		}
		if s.blocksFor(reserve)-len(s.hits)+s.pool.Idle(s.hits) > s.pool.Free() {
			return
		}
		s.admit(b, r, hit, n)
	}
}

// admit moves the first waiting request to the running list, with the blocks
// that match found.
func (s *Scheduler) admit(b *Batch, r *sequence, hit, n int) {
	s.waiting.remove(r)
	s.countHit(r, hit)
	s.reserveTable(r)
	s.pool.Share(s.hits)
	r.table = append(r.table, s.hits...)
	r.registered = len(s.hits)
	r.computed = hit
	if r.cached < 0 {
		r.cached = hit
	}
	if !s.grow(r, hit+n) {
		panic("sched: admitting a request without blocks") // admitWaiting has counted them
	}
	r.state = running
	r.admitted = b.At
	s.admitted++
	r.ordinal = s.admitted
	s.running = append(s.running, r)
	s.schedule(b, r, n)
	b.Entries[len(b.Entries)-1].Admitted = true
	s.register(r, hit+n)
}

// schedule adds an entry of n tokens for r, whose table already covers them.
func (s *Scheduler) schedule(b *Batch, r *sequence, n int) {
	end := r.computed + n
	b.Entries = append(b.Entries, Entry{
		ID:     r.req.ID,
		Start:  r.computed,
		Tokens: n,
		Blocks: r.table[:len(r.table):len(r.table)],
		Cached: r.cached,
		Sample: end == r.length,
	})
	b.seqs = append(b.seqs, r)
	b.Tokens += n
	s.budget -= n
}

// advance counts the batch as computed, before it has run.
func (s *Scheduler) advance(b *Batch) {
	for i, r := range b.seqs {
		e := &b.Entries[i]
		r.computed += e.Tokens
		if e.Sample {
			r.length++
		}
		r.inFlight++
	}
	s.scheduled++
}

// chunk caps a prefill chunk at LongPrefillTokenThreshold.
func (s *Scheduler) chunk(tokens int) int {
	if t := s.cfg.LongPrefillTokenThreshold; t > 0 {
		return min(tokens, t)
	}
	return tokens
}

// grow extends the table of r to cover the given number of tokens, or changes
// nothing and reports false.
func (s *Scheduler) grow(r *sequence, tokens int) bool {
	if tokens <= len(r.table)*s.pool.BlockSize() {
		return true
	}
	var ok bool
	r.table, ok = s.pool.Allocate(r.table, s.blocksFor(tokens)-len(r.table))
	return ok
}
