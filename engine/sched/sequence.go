package sched

import (
	"time"

	"github.com/llmctl/llmctl/engine/kv"
)

// state is where a sequence is in its life.
type state uint8

const (
	waiting  state = iota // in the queue; without blocks, unless it has loaded some
	loading               // out of the queue; its blocks are filled from the host
	running               // in the running list, with blocks
	draining              // its last token is in flight; blocks already released
	ended                 // gone; kept only while a batch in flight mentions it
)

// sequence is the scheduler's own state of one request.
//
// There is no prefill or decode phase: every step moves computed towards length.
// length runs ahead of known by the tokens that batches in flight will sample.
//
// What every step touches comes first.
type sequence struct {
	computed int // tokens whose K and V are written, once the batches in flight have run
	length   int // prompt and output tokens, those being sampled in flight included
	known    int // prompt and output tokens that the caller has seen
	extent   int // tokens that the table covers: as far as entries have reached since admission
	limit    int // length at which the request ends

	drafts    int32 // tokens proposed for its next entry
	verifying int32 // drafts in flight: until they are verified, its length is not known
	inFlight  int32 // batches and loads handed out and not completed that mention it
	state     state
	shared    bool // its last block is partly filled and may be in the tables of siblings

	registered int // blocks at the head of table that are in the prefix cache
	table      []kv.Block
	cached     int // prompt tokens hit at the first admission; −1 before it
	req        Request

	copyFrom, copyTo kv.Block // to be named in the entry that is being composed

	preemptions int
	admitted    time.Duration
	external    int // tokens that came from the host for the admission to come

	arrived int64 // order of Add
	ordinal int64 // order of admission
	place   place // in the waiting queue
	heapAt  int   // index in the waiting queue

	membership
}

// newSequence takes a sequence from the spares, or makes one.
func (s *Scheduler) newSequence() *sequence {
	n := len(s.spare)
	if n == 0 {
		return &sequence{}
	}
	r := s.spare[n-1]
	s.spare = s.spare[:n-1]
	return r
}

// recycle keeps an ended sequence for a later request. It may run only when no
// batch or load in flight mentions the sequence, because the executor may still be
// reading its block table.
func (s *Scheduler) recycle(r *sequence) {
	if cap(r.table) > 0 {
		s.spareTables = append(s.spareTables, r.table[:0])
	}
	*r = sequence{}
	s.spare = append(s.spare, r)
}

// reserveTable gives an admitted sequence a table with room for every block it
// can ever hold, so that no later step has to grow it. A preempted sequence
// still has its own.
func (s *Scheduler) reserveTable(r *sequence) {
	if n := len(s.spareTables); r.table == nil && n > 0 {
		r.table = s.spareTables[n-1]
		s.spareTables = s.spareTables[:n-1]
	}
	if need := s.blocksFor(r.limit - 1); cap(r.table) < need {
		r.table = make([]kv.Block, 0, need)
	}
}
