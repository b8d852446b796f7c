package sched

// share is how many entries the next batch may have. A batch of a pipeline takes
// an even part of everybody who runs or could, so that as many batches as there
// are stages find work. vLLM lets the first batch take all.
func (s *Scheduler) share() int {
	if s.cfg.Pipeline < 2 || s.cfg.Static {
		return s.cfg.MaxNumSeqs
	}
	n := min(s.cfg.MaxNumSeqs, len(s.running)+len(s.waiting))
	return max(1, (n+s.cfg.Pipeline-1)/s.cfg.Pipeline)
}
