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

	wait    excess    // ahead and behind, and steps that they are in
	rest    float64   // longest rest of the running step's decodes
	never   float64   // share of requests that wait for no prompts
	slots   slotQueue // the wait for a place
	first   excess    // the time to the first token
	backlog excess    // work that waits when the first token comes
}

// chunkNoise is by how much the prompts that arrive during the steps that a request
// waits for vary more than a Poisson stream of their chunks: a step with more prompts
// is longer, so that more arrive during it. Against events (docs/latency.md) the p99
// of TTFT is within 20 % with 1.5 where nobody waits for a place; with 1 it is up to
// 30 % low for short prompts of one length.
const chunkNoise = 1.5

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
	if q.busy = s.meets * q.service; q.busy >= 1 {
		s.prompts = q
		return false
	}
	q.ahead = s.meets * q.square / (2 * (1 - q.busy))
	q.working = 1 - math.Exp(-s.batch)*(1-q.busy)
	q.counted = q.ahead - s.meets*s.workSquare/(2*(1-rho))
	q.boundary = q.working * (d/2 + max(0, rho*s.step-q.counted))
	q.ownSteps(r, s)
	q.rest = d
	q.never = (1 - q.busy) * math.Exp(-q.behind/s.workMean)
	q.wait.mean = q.ahead + q.behind + q.boundary - q.working*d/2
	q.wait.variance = q.ahead*q.ahead + s.meets*q.cube/(3*(1-q.busy)) +
		s.step*s.step*rho*(2-rho)/12 + chunkNoise*s.meets*q.chunks*s.step/(1-rho)
	q.first.mean += q.boundary + q.ahead + q.behind
	q.first.variance += q.wait.variance + q.working*d*d*(1./3-q.working/4)
	q.outside = r.constants.RequestS
	q.backlog = excess{
		mean:     rho*q.first.mean - q.behind,
		variance: s.meets*s.workSquare*q.first.mean + rho*rho*q.first.variance,
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
	running := s.step + s.meets*q.chunks/(1-rho*rho)
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
	t -= s.prompts.outside
	wait := s.prompts.waiting()
	low := own[0].value
	atLow := wait.below(t - low)
	for i, p := range own {
		high := own[min(i+1, len(own)-1)].value
		high = (p.value + high) / 2
		if t < high {
			if high > low && t > low {
				sum += p.weight * (t - low) / (high - low) * (atLow + wait.below(0)) / 2
			}
			break
		}
		atHigh := atLow
		if high > low {
			atHigh = wait.below(t - high)
		}
		sum += p.weight * (atLow + atHigh) / 2
		low, atLow = high, atHigh
	}
	return sum
}

// ttftQuantile inverts the distribution.
func (s state) ttftQuantile(p float64) float64 {
	return invert(s.ttftBelow, p, s.prompts.own[len(s.prompts.own)-1].value)
}

// waiting is the distribution of what a request waits before its own prompt's
// steps. One that finds a place waits for the rest of the running step, which is
// anything up to a step if there is one, and for prompts, if there are any; one that
// does not waits for the place.
type waiting struct {
	never   float64 // share that waits for no prompts
	prompts excess  // wait of the others
	working float64
	rest    float64
	slots   slotQueue
	before  float64 // mean of all but the wait for a place
}

func (q promptQueue) waiting() waiting {
	w := waiting{never: q.never, prompts: q.wait, working: q.working, rest: q.rest, slots: q.slots}
	w.before = q.wait.mean + q.working*q.rest/2
	if some := 1 - q.never; some > 0 && q.never > 0 {
		mean := q.wait.mean / some
		square := (q.wait.variance + q.wait.mean*q.wait.mean) / some
		w.prompts = excess{mean, max(0, square-mean*mean)}
	}
	return w
}

// below is the share of requests that wait at most t.
func (w waiting) below(t float64) float64 {
	if t < 0 {
		return 0
	}
	share := (1 - w.slots.waits) * w.found(t)
	if over := t - w.before; over > 0 && w.slots.waits > 0 {
		share -= w.slots.waits * math.Expm1(-over/w.slots.mean)
	}
	return share
}

// found is below for those that find a place. The mean over the rest of the
// running step is taken at four moments.
func (w waiting) found(t float64) float64 {
	atOnce := w.never + (1-w.never)*w.prompts.below(t)
	if w.working == 0 || w.rest == 0 {
		return atOnce
	}
	const moments = 4
	share := w.never * min(1, t/w.rest)
	for i := range moments {
		share += (1 - w.never) / moments * w.prompts.below(t-w.rest*(float64(i)+0.5)/moments)
	}
	return (1-w.working)*atOnce + w.working*share
}

// longest is the longest time that is looked for, in seconds: three centuries.
const longest = 1e10

// invert finds where a distribution of times reaches p, from a first guess. Guesses
// may be anything; the result is positive, and at most the longest.
func invert(below func(float64) float64, p, guess float64) float64 {
	low, high := 0.0, 1e-9
	if guess > high {
		high = min(guess, longest)
	}
	for high < longest && !(below(high) >= p) {
		low, high = high, high*2
	}
	for range 200 {
		if high-low <= 1e-7*high {
			break
		}
		middle := (low + high) / 2
		if below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return min(high, longest)
}
