package sizing

import "github.com/llmctl/llmctl/sizing/cost"

// closedLoad is the load that so many clients put on the replica: what
// cost.ClosedLoop takes.
func (r replica) closedLoad(clients float64) cost.ClosedLoad {
	l := cost.ClosedLoad{
		Concurrency: clients, Input: tidy(r.mix.input), Cached: tidy(r.mix.cached), Output: tidy(r.mix.output),
		Context: tidy(r.mix.context()), Slots: r.capacity, BatchedTokens: r.batched,
	}
	if r.mix.alike() {
		return l
	}
	for _, p := range r.mix.inputs {
		l.Prompts = append(l.Prompts, cost.Prompt{Weight: p.weight, Tokens: p.tokens, Cached: p.cached})
	}
	return l
}

// closedLoop is the engine under a fixed number of clients, each of which sends
// its next request when the last is done. Its means are those of cost.ClosedLoop;
// what requests differ by is added here. It differs from a stream of arrivals: a
// request arrives at the end of a step, so that it never waits for the rest of
// one; and a long step delays the next arrivals too, so that bursts do not add up.
//
// The prompts that come beside a request, and those that wait before it, are taken
// as Poisson.
func (r replica) closedLoop(clients float64) state {
	loop := cost.ClosedLoop(r.facts, r.device, r.constants, r.closedLoad(clients))
	pipeline := float64(r.facts.Pipeline)
	s := state{
		closed: true, stable: true, rate: loop.Rate / pipeline, batch: loop.Batch / pipeline, decode: loop.Decode, step: loop.TPOT,
		work: loop.Works, workMean: loop.Work,
	}
	s.share = s.rate * s.workMean
	s.running = excess{mean: min(clients, r.capacity) / pipeline}
	if s.work == nil {
		s.work = make([]float64, len(r.prompts))
		for i := range s.work {
			s.work[i] = loop.Work
		}
	}
	for i, p := range r.prompts {
		s.workSquare += p.weight * s.work[i] * s.work[i]
	}
	q := &s.prompts
	q.busy = s.share
	q.ownSteps(r, &s)
	q.outside = r.constants.RequestS
	q.behind = loop.First - q.ownMean - q.outside
	waiting := loop.TTFT - loop.First
	q.wait = excess{q.behind + waiting, max(0, 1-1/s.running.mean)*s.rate*s.step*s.workSquare + waiting/s.rate}
	q.first = excess{loop.TTFT, q.first.variance + q.wait.variance}
	return s
}
