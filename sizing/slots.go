package sizing

// slotQueue is the wait for a place in the batch: max_num_seqs, or the sequences
// that the KV cache holds. All times are in seconds.
//
// An engine with c places is a queue M/G/c whose servers are slower the more of
// them are busy. As long as places are free it is the engine without a limit, whose
// sequences are distributed as state.running says; once all are taken, requests
// leave at the rate of the closed loop of c clients, µ, and the number of those
// that wait is geometric with the ratio ρ = λ/µ. So with N the sequences of the
// engine without a limit, the share of requests that wait is (Erlang's C with the
// Poisson distribution replaced by that of N)
//
//	C = P(N = c)/(1 − ρ) / (P(N < c) + P(N = c)/(1 − ρ)),
//
// and those that wait do so for an exponentially distributed time of the mean
// (1 + v)/2 / (µ·(1 − ρ)), v the squared coefficient of variation of a request's
// stay, or of tokens × stay where the cache is the limit and prompts of unequal length
// look for room: the conditional wait of M/M/c with the correction of Lee and Longton
// (1959).
type slotQueue struct {
	places  float64 // c
	most    float64 // µ
	load    float64 // ρ
	waits   float64 // C
	varying float64 // v
	mean    float64 // wait of those that wait
	without excess  // the time to the first token without this wait
}

// fewest is how many standard deviations of the sequences must find no place for
// a wait to be worth computing: rarer than three in 100,000.
const fewest = 4

// queueSlots adds the wait for a place to the first token. It ends with an
// unstable state when requests come faster than full places serve them.
func (s *state) queueSlots(r replica) {
	places := r.capacity / float64(r.facts.Pipeline)
	s.held = s.running
	if r.kvBound {
		held, _ := r.mix.unequal()
		s.held.variance += s.running.mean * held
	}
	if s.held.at(fewest) < places {
		return
	}
	if r.transfer != nil { // one prompt after the other: the prompts' queue is all there is
		s.stable, s.full = s.running.mean < places, s.running.mean >= places
		return
	}
	q := slotQueue{places: places, most: r.saturation(*s)}
	q.load = s.rate / q.most
	if q.load >= 1 || s.running.mean >= places {
		s.stable, s.full = false, true
		return
	}
	free, full := s.findPlace(r, places)
	taken := full / (1 - q.load)
	q.waits = taken / max(1e-12, free+taken)
	if q.varying = s.stayVariation(r); r.kvBound {
		_, q.varying = r.mix.unequal()
	}
	q.mean = (1 + q.varying) / 2 / (q.most * (1 - q.load))
	s.prompts.waitForSlot(q, r.front == nil)
}

// findPlace is the chance that a request finds room, and the chance that it would if
// one place more were free.
func (s *state) findPlace(r replica, places float64) (free, full float64) {
	if !r.kvBound {
		free = s.held.below(places - 0.5)
		return free, s.held.below(places+0.5) - free
	}
	for _, p := range r.mix.inputs {
		left := places - (p.tokens-p.common)/r.mix.own()
		below := s.held.below(left)
		free += p.weight * below
		full += p.weight * (s.held.below(left+1) - below)
	}
	return free, full
}

// waitForSlot adds the wait to that for prompts. Those that wait for a place have
// the prompts ahead done meanwhile.
func (p *promptQueue) waitForSlot(q slotQueue, prefills bool) {
	q.without = p.first
	p.slots = q
	waiting := q.waits * q.mean
	p.first.mean += waiting
	p.first.variance += 2*waiting*q.mean - waiting*waiting
	if prefills {
		p.first.mean -= q.waits * p.ahead
	}
}

// foundMean is the mean time to first token without the wait for a place.
func (p promptQueue) foundMean() float64 {
	if p.slots.waits > 0 {
		return p.slots.without.mean
	}
	return p.first.mean
}

// saturation is the rate per pipeline batch at which all places are always taken.
func (r replica) saturation(s state) float64 {
	places := r.capacity / float64(r.facts.Pipeline)
	if r.front != nil {
		return places / ((r.mix.output-1)*r.decodeStep(max(0, places-1)).Seconds + r.receive)
	}
	if *r.saturated == 0 {
		*r.saturated = r.closedLoop(r.capacity).rate
	}
	return *r.saturated
}

// stayVariation is the squared coefficient of variation of the time for which a
// request keeps its place: outputs differ, and prompts do.
func (s *state) stayVariation(r replica) float64 {
	own := 0.0
	for _, p := range s.prompts.own {
		own += p.weight * (p.value - s.prompts.ownMean) * (p.value - s.prompts.ownMean)
	}
	stay := s.prompts.ownMean + s.batch/s.rate
	spread := r.mix.outputSquare - r.mix.output*r.mix.output
	return (own + s.step*s.step*max(0, spread)) / (stay * stay)
}
