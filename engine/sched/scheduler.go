package sched

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/llmctl/llmctl/engine/kv"
)

// Scheduler decides what runs in each step. See the package comment.
type Scheduler struct {
	cfg    Config
	pool   *kv.Pool
	window int // prompt plus output, tokens

	watermark int // blocks

	running  []*sequence // in order of admission
	waiting  queue
	byID     map[ID]*sequence
	added    int64 // tickets given out at the back of the queue, from 1 up
	front    int64 // tickets given out at the front, from −1 down
	admitted int64 // ordinals given out

	batches              []Batch // used in turn
	scheduled, completed uint64  // batches handed out and taken back
	budget               int     // tokens left in the step being composed
	part                 int     // entries that it may have
	held                 Hold    // why the last step admitted no more

	loads   []Load      // that the last step began
	loading []*sequence // whose blocks are being filled
	ready   int         // waiting requests that have loaded theirs

	stats       Stats // counters only; gauges are computed on demand
	hits        []kv.Block
	finished    []Finished
	pinned      []*Pinned
	spare       []*sequence
	spareTables [][]kv.Block

	// Of rounds (Begin and End).
	cohort  cohort
	round   Round
	others  []*sequence // that run and are not in the cohort, in order of admission
	chunks  []int       // tokens of each of them in the round being composed
	leaving []*sequence
	results []Result
}

// New returns a scheduler that owns the given pool. It panics on a
// configuration that Validate rejects.
func New(cfg Config, pool *kv.Pool) *Scheduler {
	if err := cfg.Validate(); err != nil {
		panic("sched: " + err.Error())
	}
	if cfg.Static {
		cfg.MaxNumBatchedTokens, cfg.LongPrefillTokenThreshold = math.MaxInt, 0
	}
	return &Scheduler{
		cfg:     cfg,
		pool:    pool,
		window:  min(cfg.MaxModelLen, pool.Usable()*pool.BlockSize()),
		byID:    make(map[ID]*sequence),
		batches: make([]Batch, max(2, cfg.Pipeline)),

		watermark: int(cfg.Watermark * float64(pool.Usable())),
	}
}

// Window is the most tokens that prompt and output of one request can have:
// MaxModelLen, or what the whole pool holds when that is less. A request that
// reaches it finishes with Length, so that one which runs alone never lacks a
// block.
func (s *Scheduler) Window() int { return s.window }

// Add queues a request. It returns a *TooLongError when the prompt leaves no
// room for one output token in Window, ErrNoTokens when there is nothing to do,
// or ErrDuplicateID. The request is copied.
func (s *Scheduler) Add(req *Request) error {
	if err := s.check(req); err != nil {
		return fmt.Errorf("adding request %d: %w", req.ID, err)
	}
	s.added++
	r := s.newSequence()
	r.req = *req
	r.length, r.known = req.Prompt, req.Prompt
	r.limit = min(s.window-req.Prompt, req.MaxTokens) + req.Prompt
	r.cached = -1
	r.arrived = s.added
	s.byID[req.ID] = r
	s.enqueue(r)
	return nil
}

func (s *Scheduler) check(req *Request) error {
	switch {
	case req.Prompt < 1 || req.MaxTokens < 1:
		return fmt.Errorf("%w, not %d and %d", ErrNoTokens, req.Prompt, req.MaxTokens)
	case req.Prompt >= s.window:
		return &TooLongError{Prompt: req.Prompt, Limit: s.window, Memory: s.window < s.cfg.MaxModelLen}
	case s.byID[req.ID] != nil:
		return ErrDuplicateID
	}
	return nil
}

// Abort ends a request wherever it is: waiting, running, or with a batch in
// flight, whose result for it is then ignored. Its blocks are free at once and
// what they hold stays in the prefix cache. It reports whether the request was
// being served; Complete will not report it as finished.
func (s *Scheduler) Abort(id ID) bool {
	r := s.byID[id]
	if r == nil {
		return false
	}
	if r.state == running {
		if r.steady {
			s.cohort.leave(r)
		}
		s.dropRunning(r)
	}
	s.end(r)
	if r.inFlight == 0 { // else the last Complete or Loaded that mentions it recycles it
		s.recycle(r)
	}
	return true
}

// dropRunning takes a sequence out of the running list, which is in order of
// admission.
func (s *Scheduler) dropRunning(r *sequence) {
	i, _ := byOrdinal(s.running, r)
	s.running = slices.Delete(s.running, i, i+1)
}

// end takes a sequence out of the queue or frees its blocks, and forgets its
// ID. The caller takes it out of the running list, and recycles it when no
// batch in flight mentions it.
func (s *Scheduler) end(r *sequence) {
	switch r.state {
	case waiting:
		s.waiting.remove(r)
		if len(r.table) > 0 {
			s.drop(r)
		}
	case running:
		s.pool.Release(r.table)
	}
	if r.state != loading { // whose blocks are being written: Loaded frees them
		r.table = r.table[:0]
	}
	r.state = ended
	delete(s.byID, r.req.ID)
}

// Len is the number of requests being served: waiting, running, or with their
// last token in flight.
func (s *Scheduler) Len() int { return len(s.byID) }

// Running is the number of requests that run.
func (s *Scheduler) Running() int { return len(s.running) }

// Waiting is the number of requests that wait to run, those that load from the
// host included.
func (s *Scheduler) Waiting() int {
	n := s.waiting.Len()
	for _, r := range s.loading {
		if r.state == loading {
			n++
		}
	}
	return n
}

// Stats returns the current gauges and the counters since New.
func (s *Scheduler) Stats() Stats {
	st := s.stats
	st.Running, st.Waiting, st.Usage = s.Running(), s.Waiting(), s.pool.Usage()
	return st
}

// ResetPrefixCache forgets all cached blocks. It returns kv.ErrInUse while any
// request is running.
func (s *Scheduler) ResetPrefixCache() error { return s.pool.Reset() }

// blocksFor is the number of blocks that hold the given number of tokens.
func (s *Scheduler) blocksFor(tokens int) int {
	return kv.BlocksFor(tokens, s.pool.BlockSize())
}

// tables yields the block table of everybody who holds blocks.
func (s *Scheduler) tables() iter.Seq[[]kv.Block] {
	return func(yield func([]kv.Block) bool) {
		for _, r := range s.running {
			if !yield(r.table) {
				return
			}
		}
		for _, r := range s.loading {
			if !yield(r.table) {
				return
			}
		}
		for _, r := range s.waiting {
			if !yield(r.table) {
				return
			}
		}
		for _, p := range s.pinned {
			if !yield(p.table) {
				return
			}
		}
	}
}

// batch is the one with the given number, in the place that it shares with the
// ones before and after it.
func (s *Scheduler) batch(number uint64) *Batch { return &s.batches[number%uint64(len(s.batches))] }
