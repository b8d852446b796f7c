package sched

import (
	"fmt"
	"slices"
)

// Complete takes the results of the oldest batch in flight and returns the
// requests that ended with it, in the order of the batch. Results are in the
// order of the batch's entries; those of entries without Sample, and of requests
// aborted or finished since Schedule, may be left out and count for nothing.
// A request ends for the reason its result gives, else with Length at its limit,
// else with Failed when the entry has Sample and the result has no token.
//
// It panics when b is not the oldest batch in flight, or a result belongs to no
// entry: both would corrupt every request that follows.
func (s *Scheduler) Complete(b *Batch, results []Result) []Finished {
	if s.scheduled == s.completed || b != &s.batches[s.completed%2] {
		panic("sched: Complete of a batch that is not the oldest in flight")
	}
	s.completed++
	s.finished = s.finished[:0]
	for i, r := range b.seqs {
		res := Result{}
		if len(results) > 0 && results[0].ID == b.Entries[i].ID {
			res, results = results[0], results[1:]
		}
		r.inFlight--
		if r.state != ended {
			s.settle(r, &b.Entries[i], res)
		}
	}
	if len(results) > 0 {
		panic(fmt.Sprintf("sched: result for request %d matches no entry of batch %d", results[0].ID, b.Step))
	}
	if len(s.finished) > 0 {
		s.compactRunning()
	}
	for _, r := range b.seqs {
		if r.state == ended && r.inFlight == 0 {
			s.recycle(r)
		}
	}
	return s.finished
}

// settle applies one result to a sequence that is still being served. It may
// have been preempted since: its token counts all the same.
func (s *Scheduler) settle(r *sequence, e *Entry, res Result) {
	owed := 0
	if e.Sample {
		owed = 1
	}
	if res.Tokens < 0 || res.Tokens > owed {
		panic(fmt.Sprintf("sched: request %d sampled %d tokens in an entry that allows %d", e.ID, res.Tokens, owed))
	}
	r.known += res.Tokens
	reason := res.Finish
	switch {
	case reason != Running:
	case res.Tokens < owed:
		reason = Failed
	case e.Sample && r.known == r.limit:
		reason = Length
	}
	if reason == Running {
		// A block whose last token was in flight can be named only now. One
		// that was preempted has computed nothing, and so offers nothing.
		s.register(r, r.computed)
		return
	}
	s.finished = append(s.finished, Finished{
		ID:          r.req.ID,
		Reason:      reason,
		Output:      r.known - r.req.Prompt,
		Cached:      r.cached,
		Preemptions: r.preemptions,
		Admitted:    r.admitted,
	})
	s.end(r)
}

// compactRunning removes from the running list whoever is no longer running.
func (s *Scheduler) compactRunning() {
	s.running = slices.DeleteFunc(s.running, func(r *sequence) bool { return r.state != running })
}
