package sched

// Speculative decoding: a proposer puts up tokens that may come next (Result.Drafts),
// and the request's next entry runs them all at once behind its last token. The
// executor takes those that the model would have sampled itself, up to the first
// that it would not, and the token that it samples in that one's place.

// proposed is how many drafts the next entry of r can carry: none past the end of
// the request, where nobody would read what they lead to.
func (r *sequence) proposed() int {
	if r.drafts == 0 {
		return 0
	}
	return min(int(r.drafts), r.limit-r.length-1)
}

// pending tells whether the next entry of r can not be composed before a batch
// in flight is completed.
func (s *Scheduler) pending(r *sequence) bool {
	return r.verifying > 0 || s.cfg.Pipeline > 1 && r.length > r.known
}

// verify settles the drafts of an entry: what was computed for those that were
// wrong counts as never computed. Their slots will be written again; blocks stay.
func (s *Scheduler) verify(r *sequence, e *Entry, accepted int) {
	s.stats.Drafts += int64(e.Drafts)
	s.stats.AcceptedDrafts += int64(accepted)
	r.verifying = 0
	r.length += accepted
	if r.state == running { // else it was preempted since
		r.computed -= int(e.Drafts) - accepted
	}
}
