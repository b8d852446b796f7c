package sizing

import "math"

// closedLoop is the engine under a fixed number of clients, each of which sends
// its next request when the last is done. It differs from a stream of arrivals:
// a request arrives at the end of a step, so that it never waits for the rest of
// one; and a long step delays the next arrivals too, so that bursts do not add
// up. Clients are taken to be out of step with each other, as their lengths vary.
//
// Of n clients that run at once, each step carries the prompts of those that
// another n − 1 finished in it. With λ the rate and w the prefill work,
//
//	T = D + (1 − 1/n)·λ·T·w,  F = w + D·own steps + (1 − 1/n)·λ·T·w + time outside of the engine,
//	n = λ·((output − 1)·T + F),
//
// where F is the time to first token of those that run. The rate is found by
// bisection; clients beyond the capacity wait for the others to end. When the
// prompts exceed the token budget, steps are full and prompts wait for them.
func (r replica) closedLoop(clients float64) state {
	pipeline := float64(r.facts.Pipeline)
	c := clients / pipeline
	n := min(c, r.capacity/pipeline)
	s := state{closed: true, stable: true}
	low, high := 0.0, 1.0
	for ; s.inFlight(r, high, n) < n && high < 1e9; high *= 2 {
		low = high
	}
	for high-low > 1e-9*high {
		if middle := (low + high) / 2; s.inFlight(r, middle, n) < n {
			low = middle
		} else {
			high = middle
		}
	}
	s.inFlight(r, low, n)
	// What is missing to n waits for the token budget, what is missing to all
	// for a place.
	waiting := (c - low*((r.mix.output-1)*s.step+s.prompts.first.mean)) / low
	q := &s.prompts
	q.wait.mean += waiting
	q.wait.variance += waiting / low
	q.first.mean += waiting
	q.first.variance += waiting / low
	s.running = excess{mean: n}
	return s
}

// inFlight computes the times at a rate and returns how many requests are then
// in the engine, infinitely many when the rate is beyond what it can do.
func (s *state) inFlight(r replica, rate, n float64) float64 {
	others := max(0, 1-1/n)
	s.rate = rate
	// More in the batch makes longer steps and a larger batch.
	s.batch = 0
	for range 1000 {
		s.decode = r.decodeStep(max(0, s.batch-1))
		s.addPrompts(r)
		if s.share = others * rate * s.workMean; s.share >= 1 {
			return math.Inf(1)
		}
		s.step = s.decode.Seconds / (1 - s.share)
		next := rate * (r.mix.output - 1) * s.step
		done := next-s.batch < 1e-9*max(1, next)
		if s.batch = next; s.batch > n {
			return math.Inf(1)
		}
		if done {
			break
		}
	}
	if rate*s.step*(r.mix.input-r.mix.cached) > r.budget(*s) {
		return math.Inf(1)
	}
	q := promptQueue{own: s.prompts.own, busy: s.share, outside: r.constants.RequestS}
	q.ownSteps(r, s)
	q.behind = s.share * s.step
	q.wait = excess{q.behind, others * rate * s.step * s.workSquare}
	q.first = excess{q.ownMean + q.wait.mean + q.outside, q.first.variance + q.wait.variance}
	s.prompts = q
	return rate * ((r.mix.output-1)*s.step + q.first.mean)
}
