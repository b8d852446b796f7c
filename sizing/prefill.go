package sizing

import "math"

// promptQueue is the way to the first token: the wait for the token budget, and
// the prompt's own steps. All times are in seconds.
//
// A prompt of u uncached tokens and work w takes up S = w + D·u/(budget − B): its
// work, and its share of the decodes of the steps that it fills. The work ahead
// of an arrival is that of a queue M/G/1 with this S; its first two moments are
// those of Pollaczek and Khinchine and of Takács:
//
//	E[W]  = λ·E[S²] / (2·(1 − λ·E[S]))
//	E[W²] = 2·E[W]² + λ·E[S³] / (3·(1 − λ·E[S]))
//
// But prompts join at the beginning of a step and are done at its end. A step
// lasts D and the work of all prompts that arrived during the one before, which
// is a branching process with immigration (the gated queue with vacations, Takagi
// 1991, §2.4). If the engine is at work, the arrival also waits for the rest of the
// running step's decodes, D/2 on average, and for those of the steps that carry the
// prompts ahead, ρ·T less what S counts already; and for the prompts that come after
// it and still fit into its last step: ρ times the rest of the running step and its
// own earlier steps.
type promptQueue struct {
	service, square, cube float64 // E[S], E[S²], E[S³]
	busy                  float64 // λ·E[S]

	own      []weighted // work and decodes of the prompt's own steps, per input point
	ownMean  float64
	ahead    float64 // E[W]
	working  float64 // chance that the engine is at work: something decodes or waits
	counted  float64 // decodes of full steps, in ahead
	boundary float64 // decodes of the running step and those before its own
	behind   float64 // work of later prompts in its last step, mean
	outside  float64 // server, tokenizer and the way to the client
	chunks   float64 // sum over the prompt's steps of their work squared, mean

	wait    excess // ahead and behind
	first   excess // the time to the first token
	backlog excess // work that waits when the first token comes
}

// budget is how many tokens of prompts a step takes beside its decodes.
func (r replica) budget(s state) float64 { return max(1, r.batched-s.batch) }

// queuePrompts fills in the queue beside the batch; false when it never ends.
func (s *state) queuePrompts(r replica) bool {
	budget, d, rho := r.budget(*s), s.decode.Seconds, s.share
	q := promptQueue{own: s.prompts.own}
	share := d / budget // of a token in the decodes of its step
	for i := range r.prompts {
		p, w := &r.prompts[i], s.work[i]
		occupied := w + share*p.tokens
		q.service += p.weight * occupied
		q.square += p.weight * occupied * occupied
		q.cube += p.weight * occupied * occupied * occupied
		chunks := w * w
		if p.tokens > budget {
			whole := math.Floor(p.tokens / budget)
			last := p.tokens - whole*budget
			chunks *= (whole*budget*budget + last*last) / (p.tokens * p.tokens)
		}
		q.chunks += p.weight * chunks
	}
	if q.busy = s.rate * q.service; q.busy >= 1 {
		s.prompts = q
		return false
	}
	q.ahead = s.rate * q.square / (2 * (1 - q.busy))
	q.working = 1 - math.Exp(-s.batch)*(1-q.busy)
	q.counted = q.ahead - s.rate*s.workSquare/(2*(1-rho))
	q.boundary = q.working * (d/2 + max(0, rho*s.step-q.counted))
	q.ownSteps(r, s)
	q.wait.mean = q.ahead + q.behind
	q.wait.variance = q.ahead*q.ahead + s.rate*q.cube/(3*(1-q.busy)) +
		s.step*s.step/12 + s.rate*q.chunks*s.step/(1-rho)
	q.first.mean += q.boundary + q.wait.mean
	q.first.variance += q.wait.variance
	q.outside = r.constants.RequestS
	q.backlog = excess{
		mean:     rho*q.first.mean - q.behind,
		variance: s.rate*s.workSquare*q.first.mean + rho*rho*q.first.variance,
	}
	q.first.mean += q.outside // during which nothing arrives ahead of it in the engine
	for i, t := range r.transfer {
		q.own[i].value += t
		q.first.mean += q.own[i].weight * t
	}
	s.prompts = q
	return true
}

// ownSteps fills in each prompt's own steps, and what joins the last of them.
// The running step is met in proportion to its length: T + λ·chunks/(1 − ρ²).
func (q *promptQueue) ownSteps(r replica, s *state) {
	budget, d, rho := r.budget(*s), s.decode.Seconds, s.share
	if q.own == nil {
		q.own = make([]weighted, len(r.prompts))
	}
	running := s.step + s.rate*q.chunks/(1-rho*rho)
	square := 0.0
	for i := range r.prompts {
		p, w := &r.prompts[i], s.work[i]
		perToken, steps := w/p.tokens, 1.0
		if p.tokens > budget {
			steps = math.Ceil(p.tokens / budget)
		}
		later := rho * (q.working*running/2 + (steps-1)*(d+perToken*budget))
		q.behind += p.weight * min(later, perToken*(steps*budget-p.tokens))
		own := w + d*steps
		q.own[i] = weighted{p.weight, own}
		q.ownMean += p.weight * own
		square += p.weight * own * own
	}
	q.first = excess{q.ownMean, max(0, square-q.ownMean*q.ownMean)}
}

// ttft is the mean time to first token.
func (s state) ttft() float64 { return s.prompts.first.mean }

// ttftBelow is the share of requests whose first token takes at most t. Prompts
// between two points are spread evenly over the times between them, lest the
// distribution have steps where there are none.
func (s state) ttftBelow(t float64) float64 {
	own, sum := s.prompts.own, 0.0
	t -= s.prompts.boundary + s.prompts.outside
	low := own[0].value
	atLow := s.prompts.wait.below(t - low)
	for i, p := range own {
		high := own[min(i+1, len(own)-1)].value
		high = (p.value + high) / 2
		if t < high {
			if high > low && t > low {
				sum += p.weight * (t - low) / (high - low) * (atLow + s.prompts.wait.below(0)) / 2
			}
			break
		}
		atHigh := s.prompts.wait.below(t - high)
		sum += p.weight * (atLow + atHigh) / 2
		low, atLow = high, atHigh
	}
	return sum
}

// ttftQuantile inverts the distribution.
func (s state) ttftQuantile(p float64) float64 {
	return invert(s.ttftBelow, p, s.prompts.own[len(s.prompts.own)-1].value)
}

// invert finds where a distribution reaches p, from a first guess.
func invert(below func(float64) float64, p, guess float64) float64 {
	low, high := 0.0, guess
	for below(high) < p && high < 1e6 {
		low, high = high, high*2
	}
	for high-low > 1e-7*high {
		middle := (low + high) / 2
		if below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
