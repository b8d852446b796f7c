package sched

// Hold is why Schedule admitted no more requests.
type Hold uint8

const (
	HeldNothing Hold = iota // nobody waits
	HeldSlots               // MaxNumSeqs run
	HeldBlocks              // the first in the queue finds too few free blocks, or somebody was preempted
	HeldBudget              // the step's tokens are spent
	// HeldBatch: the batch takes no more. A static one is closed; one of a pipeline
	// has its part, or the first in the queue was preempted and is still in flight.
	HeldBatch
)

// String is one word for a Hold.
func (h Hold) String() string {
	return [...]string{"nothing", "slots", "blocks", "budget", "batch"}[h]
}

// Held is why the last Schedule left the first of the queue there.
func (s *Scheduler) Held() Hold { return s.held }

// admitWaiting starts waiting requests in the order of the queue until the
// budget is spent, too many run, or the first in the queue finds no blocks:
// nobody overtakes it. It returns why it stopped.
func (s *Scheduler) admitWaiting(b *Batch) Hold {
	closed := s.cfg.Static && len(s.running) > 0
	for len(s.waiting) > 0 {
		r := s.waiting[0]
		switch {
		case len(s.running) >= s.cfg.MaxNumSeqs:
			return HeldSlots
		case s.budget <= 0:
			return HeldBudget
		case closed || len(b.Entries) >= s.part || r.inFlight > 0:
			return HeldBatch
		}
		s.match(r)
		if held := s.start(b, r); held != HeldNothing {
			return held
		}
	}
	return HeldNothing
}

// start admits the first in the queue, for which match has found s.hits, or
// begins to load what the host holds of it. It returns what holds it back.
func (s *Scheduler) start(b *Batch, r *sequence) Hold {
	place := s.inPlace(r)
	n := s.chunk(r.length - place)
	if s.cfg.DisableChunkedPrefill && n > s.budget {
		return HeldBudget
	}
	n = min(n, s.budget)
	load := s.onHost(r)
	reserve := place + n
	if load > 0 {
		reserve = place + load
	}
	if s.cfg.ReserveFullPrompt {
		reserve = r.length
	}
	for s.blocksFor(reserve)-len(s.hits)-len(r.table)+s.pool.Idle(s.hits) > s.available() {
		if len(s.running) > 0 || !s.reclaim(r) {
			return HeldBlocks
		}
	}
	if load > 0 {
		s.load(r, load)
	} else {
		s.admit(b, r, place, n)
	}
	return HeldNothing
}

// inPlace is how many tokens at the head of a waiting sequence need not be
// computed: those of s.hits, those that it has loaded from the host, or those that
// came with it.
func (s *Scheduler) inPlace(r *sequence) int {
	place := max(r.computed, len(s.hits)*s.pool.BlockSize())
	if r.arrivesLoaded() {
		place = max(place, min(r.req.Loaded, r.length-1))
	}
	return place
}

// arrivesLoaded tells whether tokens that were computed elsewhere are still there.
func (r *sequence) arrivesLoaded() bool {
	return r.req.Loaded > 0 && r.preemptions == 0
}

// available is how many blocks an admission may take.
func (s *Scheduler) available() int {
	if len(s.running) == 0 {
		return s.pool.Free()
	}
	return s.pool.Free() - s.watermark
}

// admit moves the first waiting request to the running list, with the blocks
// that match found or that it has loaded. place tokens need not be computed.
func (s *Scheduler) admit(b *Batch, r *sequence, place, n int) {
	s.waiting.remove(r)
	if len(r.table) == 0 {
		s.take(r)
	} else {
		s.ready--
	}
	found := r.registered * s.pool.BlockSize()
	s.countHit(r, found-r.external)
	r.external = 0
	if r.cached < 0 {
		r.cached = found
	}
	r.computed = place
	if !s.grow(r, place+n) {
		panic("sched: admitting a request without blocks") // start has counted them
	}
	r.state = running
	r.admitted = b.At
	s.admitted++
	r.ordinal = s.admitted
	s.running = append(s.running, r)
	s.schedule(b, r, n)
	b.Entries[len(b.Entries)-1].Admitted = true
	s.register(r, place+n)
}

// take gives a sequence the blocks that match found.
func (s *Scheduler) take(r *sequence) {
	s.reserveTable(r)
	s.pool.Share(s.hits)
	r.table = append(r.table, s.hits...)
	r.registered = len(s.hits)
	r.extent = r.registered * s.pool.BlockSize()
}
