package sched

// Advance runs rounds in a row in which every sequence that runs is in steady
// decode, nobody is admitted, ends or is preempted, and only blocks are taken: in
// the order of the rounds, so that it leaves the same as Begin and End one by one.
// Before each it asks whether to run it, with the number of sequences and the sum of
// their tokens, as Round has them. It returns how many it ran, which is none while
// anything else is to be done: Begin does that. It must not be called with a round
// under way.
func (s *Scheduler) Advance(goOn func(steady int, context int64) bool) (rounds int) {
	c := &s.cohort
	if s.scheduled != s.completed {
		panic("sched: Advance with a batch in flight")
	}
	most := s.stretch()
	if most <= 0 {
		return 0
	}
	before := s.held
	if s.held = HeldNothing; len(s.waiting) > 0 {
		s.held = HeldSlots
	}
	for rounds < most && goOn(c.size, c.context) {
		for _, r := range *c.bucket(c.ticks) {
			r.table, _ = s.pool.Allocate(r.table, 1) // stretch has counted them
		}
		for _, r := range *c.bucket(c.ticks + 1) {
			s.offer(r)
		}
		c.context += int64(c.size)
		c.ticks++
		c.ended++
		s.scheduled++
		s.completed++
		rounds++
	}
	if rounds == 0 {
		s.held = before
	}
	return rounds
}

// stretch is a number of rounds to come that are sure to be such ones.
func (s *Scheduler) stretch() int {
	c := &s.cohort
	if !c.on || c.size == 0 || len(s.others) > 0 || s.ready > 0 || s.cfg.Pipeline > 1 {
		return 0
	}
	if len(s.waiting) > 0 && (s.cfg.Static || len(s.running) < s.cfg.MaxNumSeqs) {
		return 0
	}
	size := len(c.buckets)
	most := int(c.due[0].due - c.ticks - 1)
	// Each member takes a block in one of as many rounds as a block has tokens.
	turns, left := s.pool.Free()/c.size, s.pool.Free()%c.size
	if most <= turns*size {
		return most
	}
	rounds := turns * size
	for tick := c.ticks; rounds < most; tick++ {
		if left -= len(*c.bucket(tick)); left < 0 {
			break
		}
		rounds++
	}
	return rounds
}
