package sched

import (
	"fmt"
	"slices"
	"time"

	"github.com/llmctl/llmctl/engine/kv"
)

// Schedule composes the next batch: first everybody who is running, in order of
// admission, then waiting requests, unless somebody had to be preempted. It
// returns nil when there is nothing to run; while Running or Waiting is above 0,
// that is only the case until a batch or a load in flight is over. now is
// recorded in the batch.
//
// At most one batch may be in flight when it is called, or one less than the
// pipeline has stages; it panics otherwise.
func (s *Scheduler) Schedule(now time.Duration) *Batch {
	if s.scheduled-s.completed >= uint64(len(s.batches)) {
		panic(fmt.Sprintf("sched: Schedule with %d batches in flight", len(s.batches)))
	}
	if s.cohort.on {
		s.dissolve()
	}
	s.drain()
	b := s.nextBatch(now)

	// Under Priority the first in the list can be the worst of all and so
	// preempt itself. The step would then be empty, though others can run.
	for s.scheduleRunning(b) && len(b.Entries) == 0 {
	}
	// Registered only now, and not as each entry is added: an entry that its
	// request lost again to a preemption will not be computed.
	for i, r := range b.seqs {
		s.register(r, b.Entries[i].Start+b.Entries[i].Tokens)
	}
	s.held = HeldBlocks
	if len(b.Preempted) == 0 || len(b.Entries) == 0 {
		s.held = s.admitWaiting(b)
	}
	if len(b.Entries) == 0 {
		return nil
	}
	s.advance(b)
	return b
}

// nextBatch is the batch to compose, empty, with the step's limits.
func (s *Scheduler) nextBatch(now time.Duration) *Batch {
	b := s.batch(s.scheduled)
	*b = Batch{Step: s.scheduled, At: now, Entries: b.Entries[:0], Preempted: b.Preempted[:0], seqs: b.seqs[:0]}
	s.budget, s.part = s.cfg.MaxNumBatchedTokens, s.share()
	s.loads = s.loads[:0]
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
	for _, r := range s.batch(s.scheduled - 1).seqs {
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
func (s *Scheduler) scheduleRunning(b *Batch) (preempted bool) {
	for i := 0; i < len(s.running) && s.budget > 0 && len(b.Entries) < s.part; i++ {
		r := s.running[i]
		if s.pending(r) {
			continue
		}
		n := min(s.chunk(r.length+r.proposed()-r.computed), s.budget)
		for !s.grow(r, r.computed+n) {
			if s.reclaim(nil) {
				continue
			}
			preempted = true
			v := s.victim()
			s.withdraw(b, s.running[v])
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

// withdraw takes the entry of a request out again that is about to lose its
// blocks, if it has one: under Priority, it may come before those who need them.
func (s *Scheduler) withdraw(b *Batch, r *sequence) {
	i := slices.Index(b.seqs, r)
	if i < 0 {
		return
	}
	s.budget += b.Entries[i].Tokens
	b.Tokens -= b.Entries[i].Tokens
	b.Entries = slices.Delete(b.Entries, i, i+1)
	b.seqs = slices.Delete(b.seqs, i, i+1)
}

// schedule adds an entry of n tokens for r, whose table already covers them.
func (s *Scheduler) schedule(b *Batch, r *sequence, n int) {
	end := r.computed + n
	r.drafts = 0 // taken, or cut
	b.Entries = append(b.Entries, Entry{
		ID:     r.req.ID,
		Start:  r.computed,
		Tokens: n,
		Blocks: r.table[:len(r.table):len(r.table)],
		Cached: r.cached,
		Drafts: int32(max(0, end-r.length)),
		Sample: end >= r.length,

		CopyFrom: r.copyFrom, CopyTo: r.copyTo,
	})
	r.copyFrom, r.copyTo = kv.Null, kv.Null
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
		r.verifying = e.Drafts
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

// grow extends the table of r to cover the given number of tokens, and makes the
// block that is written first its own, or changes nothing and reports false.
func (s *Scheduler) grow(r *sequence, tokens int) bool {
	if r.shared && !s.separate(r, tokens) {
		return false
	}
	if tokens > len(r.table)*s.pool.BlockSize() {
		var ok bool
		if r.table, ok = s.pool.Allocate(r.table, s.blocksFor(tokens)-len(r.table)); !ok {
			return false
		}
	}
	r.extent = max(r.extent, tokens)
	return true
}
