package sched

// match finds the cached blocks at the head of a waiting sequence and leaves
// them in s.hits. The last token is never taken from the cache, because its
// logits are needed; and as a hit ends with a block, a fully cached prompt whose
// length is a multiple of the block size recomputes its whole last block.
func (s *Scheduler) match(r *sequence) {
	s.hits = s.hits[:0]
	if len(r.table) == 0 && s.readsCache(r) { // else it has what it found
		s.hits = s.pool.Match(s.hits, r.req.Hash, (r.length-1)/s.pool.BlockSize())
	}
}

func (s *Scheduler) readsCache(r *sequence) bool {
	return s.writesCache(r) && !r.req.SkipCacheRead
}

func (s *Scheduler) writesCache(r *sequence) bool {
	return r.req.Hash != nil && !s.cfg.DisablePrefixCache
}

// countHit counts one lookup, when its request is admitted: a request that
// waits at the head of the queue is looked up in every step, which would count
// it many times over.
func (s *Scheduler) countHit(r *sequence, hit int) {
	if !s.readsCache(r) {
		return
	}
	if s.pool.Host() != nil {
		s.stats.ExternalQueries += int64(r.length - hit)
		s.stats.ExternalHits += int64(r.external)
	}
	switch {
	case r.resumes():
		s.stats.PreemptedPrefixQueries += int64(r.length)
		s.stats.PreemptedPrefixHits += int64(hit)
	default:
		s.stats.PrefixQueries += int64(r.length)
		s.stats.PrefixHits += int64(hit)
	}
}

// register offers the full blocks of the first tokens of r to other requests,
// as far as the caller knows the tokens: the hash of a block that contains a
// token still being sampled does not exist yet.
func (s *Scheduler) register(r *sequence, tokens int) {
	size := s.pool.BlockSize()
	known := min(tokens, r.known)
	if r.req.Shared != 0 {
		known = min(known, max(0, r.req.Shared)*size)
	}
	// Most steps of most requests fill no block; a product is cheaper than the
	// quotient below.
	if known < (r.registered+1)*size || !s.writesCache(r) {
		return
	}
	s.registerUpTo(r, known/size)
}

// registerOwn offers the blocks of a request that is preempted: it will look for
// them itself, those that nobody else wants included.
func (s *Scheduler) registerOwn(r *sequence) {
	if r.req.Shared != 0 && s.writesCache(r) {
		s.registerUpTo(r, min(r.computed, r.known)/s.pool.BlockSize())
	}
}

// offersNext reports whether others may ask for the next block that r fills.
func (s *Scheduler) offersNext(r *sequence) bool {
	return s.writesCache(r) && (r.req.Shared == 0 || r.registered < r.req.Shared)
}

func (s *Scheduler) registerUpTo(r *sequence, full int) {
	for i := r.registered; i < full; i++ {
		s.pool.Register(r.table[i], r.req.Hash(i))
	}
	r.registered = max(r.registered, full)
}
