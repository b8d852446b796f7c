package sched

import (
	"iter"
	"time"
)

// Round is one step of which only what changes is listed. It is for drivers that
// know what the executor will say: every sequence that reaches its end samples one
// token, and a request ends with the last of its tokens and not before.
//
// Most sequences of most steps are in steady decode: they have one token each, as
// they had in the step before. From the round that names a request in Joined up to
// the one that names it in Left, that one not included, or up to its end, that one
// included, it gets one token per round and is in no Entries. A round costs what
// changes in it, however many run.
type Round struct {
	Step uint64
	At   time.Duration

	Joined  []ID    // in steady decode from this round on
	Left    []ID    // no longer so; may name one that has just joined
	Entries []Entry // of everybody else, in the order of a batch; Blocks are valid until End

	// Steady is the number of sequences in steady decode, and Context the sum of
	// their tokens before this one. End lowers Steady by those aborted meanwhile.
	Steady    int
	Context   int64
	Preempted []ID

	batch *Batch
}

// Begin composes the next round, the same as Schedule would. It returns nil when
// there is nothing to run. Nothing may be in flight; it panics otherwise. The round
// is valid until the next Begin.
func (s *Scheduler) Begin(now time.Duration) *Round {
	if s.scheduled != s.completed {
		panic("sched: Begin with a batch in flight")
	}
	n := &s.round
	*n = Round{Joined: n.Joined[:0], Left: n.Left[:0]}
	s.gather(n)
	if !s.light() {
		return s.heavyRound(n, now)
	}
	b := s.nextBatch(now)
	c := &s.cohort
	s.budget -= c.size
	s.growAll(b)
	s.registerAll(b)
	before := len(s.running)
	s.held = s.admitWaiting(b)
	s.others = append(s.others, s.running[before:]...)
	if c.size+len(b.Entries) == 0 {
		return nil
	}
	s.advance(b)
	n.Step, n.At, n.Entries, n.Preempted, n.batch = b.Step, b.At, b.Entries, b.Preempted, b
	n.Steady, n.Context = c.size, c.context
	c.context += int64(c.size)
	c.ticks++
	return n
}

// End counts the tokens of a round and returns the requests that ended with it, as
// Complete does.
func (s *Scheduler) End(n *Round) []Finished {
	b := n.batch
	if s.scheduled == s.completed || n != &s.round || b != s.batch(s.completed) {
		panic("sched: End of a round that is not under way")
	}
	c := &s.cohort
	if !c.on {
		s.results = s.results[:0]
		for i := range b.Entries {
			s.results = append(s.results, outcome(&b.Entries[i]))
		}
		return s.Complete(b, s.results)
	}
	s.completed++
	s.finished = s.finished[:0]
	n.Steady = c.size
	s.leaveDue()
	c.ended++
	steady := Entry{Sample: true}
	merge(s.leaving, b.seqs, func(r *sequence, i int) {
		e := &steady
		if i >= 0 {
			e = &b.Entries[i]
			r.inFlight--
		} else {
			steady.ID = r.req.ID
		}
		if r.state == running {
			s.settle(r, e, outcome(e))
			s.dropEnded(r)
		}
		if r.state == ended && r.inFlight == 0 {
			s.recycle(r)
		}
	})
	return s.finished
}

// outcome is the result that such a driver has for an entry.
func outcome(e *Entry) Result {
	r := Result{ID: e.ID}
	if e.Sample {
		r.Tokens = 1
	}
	return r
}

// gather sorts the running sequences into the cohort and the others.
func (s *Scheduler) gather(n *Round) {
	c := &s.cohort
	if !c.on {
		c.on = true
		s.others = append(s.others[:0], s.running...)
		if c.buckets == nil {
			c.buckets = make([][]*sequence, s.pool.BlockSize())
		}
	}
	kept := s.others[:0]
	for _, r := range s.others {
		switch {
		case r.state != running: // it was aborted, or has ended
		case r.ready():
			c.join(r)
			n.Joined = append(n.Joined, r.req.ID)
		default:
			kept = append(kept, r)
		}
	}
	clear(s.others[len(kept):])
	s.others = kept
}

// light reports whether everybody who runs gets what it wants, or those who get
// less come after all members of the cohort, and whether blocks suffice, so that
// nobody is preempted. It leaves the tokens of the others in s.chunks.
func (s *Scheduler) light() bool {
	if s.cfg.Pipeline > 1 || s.ready > 0 {
		return false
	}
	c := &s.cohort
	left := s.cfg.MaxNumBatchedTokens - c.size // no more run than the budget has tokens
	need, cut := len(*c.bucket(c.ticks)), false
	s.chunks = s.chunks[:0]
	for _, r := range s.others {
		want := s.chunk(r.length + r.proposed() - r.computed)
		n := min(want, left)
		cut = cut || n < want
		left -= n
		if n > 0 {
			need += max(0, s.blocksFor(r.computed+n)-len(r.table))
		}
		s.chunks = append(s.chunks, n)
	}
	if cut && s.running[c.size] != s.others[0] {
		return false
	}
	return need <= s.pool.Free()
}

// heavyRound is a round in which all entries are listed.
func (s *Scheduler) heavyRound(n *Round, now time.Duration) *Round {
	for _, r := range s.running {
		if r.steady {
			n.Left = append(n.Left, r.req.ID)
		}
	}
	b := s.Schedule(now)
	if b == nil { // everybody waits for a load
		return nil
	}
	n.Step, n.At, n.Entries, n.Preempted, n.batch = b.Step, b.At, b.Entries, b.Preempted, b
	return n
}

// dissolve settles all members of the cohort and ends it.
func (s *Scheduler) dissolve() {
	c := &s.cohort
	if c.ticks != c.ended {
		panic("sched: Schedule with a round under way")
	}
	for _, r := range s.running {
		if r.steady {
			c.settle(r)
			r.membership = membership{}
		}
	}
	c.clear()
	clear(s.others)
	s.others = s.others[:0]
}

// growAll takes the blocks of a round in order of admission, and lists the others.
func (s *Scheduler) growAll(b *Batch) {
	merge(*s.cohort.bucket(s.cohort.ticks), s.others, func(r *sequence, i int) {
		if i < 0 {
			r.table, _ = s.pool.Allocate(r.table, 1) // light has counted them
			return
		}
		if n := s.chunks[i]; n > 0 {
			s.grow(r, r.computed+n)
			s.schedule(b, r, n)
		}
	})
}

// registerAll offers the blocks that a round fills.
func (s *Scheduler) registerAll(b *Batch) {
	c := &s.cohort
	merge(*c.bucket(c.ticks + 1), b.seqs, func(r *sequence, i int) {
		if i >= 0 {
			s.register(r, b.Entries[i].Start+b.Entries[i].Tokens)
			return
		}
		s.offer(r)
	})
}

// offer offers the block that a member of the cohort fills in this round.
func (s *Scheduler) offer(r *sequence) {
	if s.offersNext(r) {
		s.cohort.settle(r)
		s.register(r, r.computed+1)
	}
}

// leaveDue takes those out of the cohort whose last round this is, in order of
// admission, into s.leaving.
func (s *Scheduler) leaveDue() {
	c := &s.cohort
	s.leaving = s.leaving[:0]
	for len(c.due) > 0 && c.due[0].due == c.ticks {
		r := c.due[0]
		c.leave(r)
		s.leaving = append(s.leaving, r)
	}
}

// dropEnded takes a sequence that has ended out of the running list.
func (s *Scheduler) dropEnded(r *sequence) {
	if r.state == ended {
		s.dropRunning(r)
	}
}

// merge visits two lists, each in order of admission, in the order of both: i is
// the index in the second one, −1 for members of the first.
func merge(a, b []*sequence, visit func(r *sequence, i int)) {
	i := 0
	for _, r := range a {
		for ; i < len(b) && b[i].ordinal < r.ordinal; i++ {
			visit(b[i], i)
		}
		visit(r, -1)
	}
	for ; i < len(b); i++ {
		visit(b[i], i)
	}
}

// Steady yields, of each sequence that is in steady decode in the round under way,
// the tokens before its own.
func (s *Scheduler) Steady() iter.Seq[int] {
	return func(yield func(int) bool) {
		c := &s.cohort
		for _, r := range c.due {
			if !yield(r.computed + int(c.ticks-1-r.tick)) {
				return
			}
		}
	}
}
