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
	if s.scheduled == s.completed || b != s.batch(s.completed) {
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
	most := 0
	if e.Sample {
		most = 1 + int(e.Drafts)
	}
	if res.Tokens < 0 || res.Tokens > most || res.Drafts < 0 {
		panic(fmt.Sprintf("sched: request %d sampled %d tokens and proposed %d in an entry that allows %d", e.ID, res.Tokens, res.Drafts, most))
	}
	r.known += res.Tokens
	if e.Drafts > 0 {
		s.verify(r, e, max(0, res.Tokens-1))
	}
	reason := res.Finish
	switch {
	case reason != Running:
	case e.Sample && res.Tokens == 0:
		reason = Failed
	case e.Sample && r.known == r.limit:
		reason = Length
	}
	if reason == Running {
		// A block whose last token was in flight can be named only now. One
		// that was preempted has computed nothing, and so offers nothing.
		s.register(r, r.computed)
		if e.Sample && r.state == running && r.inFlight == 0 {
			r.drafts = int32(res.Drafts)
		}
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
