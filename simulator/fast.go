package simulator

import (
	"time"

	"github.com/llmctl/llmctl/sizing/cost"
)

// plain reports whether every step of a kind gives each sequence that decodes one
// token, so that rounds of the scheduler (sched.Begin) say all of it.
func (k *Kind) plain() bool {
	v := &k.Serving
	return k.Role != prefill && k.Facts.Pipeline <= 1 && v.Speculative.Tokens == 0 && v.Offload.MemoryBytes == 0 && v.Batching != "static"
}

// runRounds begins the next round. As long as nothing else happens before it ends,
// it is ended at once and the next one is begun: the same as if each end had come
// from the agenda.
func (p *replica) runRounds() {
	for p.state != down { // else that was the last one of a replica that goes
		p.round = p.sched.Begin(p.s.now)
		p.life.turned(p.s.now, p.round != nil)
		if p.round == nil {
			return
		}
		p.noteSteady()
		end := p.s.now + p.roundDuration()
		if !p.s.runsOn || p.s.done() || !p.s.agenda.idleUntil(end) {
			p.s.agenda.plan(end, p)
			return
		}
		p.s.now = end
		p.s.result.Events++
		p.endRound()
		p.runStretch()
	}
}

// runStretch advances the steps at once in which nobody joins, ends or is preempted,
// up to what else happens.
func (p *replica) runStretch() {
	if p.state != down && !p.s.done() && p.cost.Sums() {
		p.sched.Advance(p.passes)
	}
}

// pass runs the next step of a stretch, if it ends before anything else happens.
func (p *replica) pass(steady int, context int64) bool {
	s := p.s
	p.cost.Reset()
	p.cost.AddSum(steady, context)
	terms := p.cost.Step()
	end := s.now + p.lasting(terms)
	if !s.agenda.idleUntil(end) {
		return false
	}
	p.account.begin(s.now, terms, p.sched.Held(), s.fleet.starts)
	s.now = end
	s.result.Events++
	s.result.Steps++
	p.account.end(end, s.windowEnd())
	p.steps.Add(end)
	p.counts.generated += float64(steady)
	p.forget()
	return true
}

// noteSteady notes from and to which step requests get one token in each.
func (p *replica) noteSteady() {
	next := p.steps.Next()
	for _, id := range p.round.Joined {
		p.requests[id].since = next
	}
	for _, id := range p.round.Left {
		p.requests[id].catchUp(p, next)
	}
}

// roundDuration is how long the round runs.
func (p *replica) roundDuration() time.Duration {
	p.cost.Reset()
	n := p.round
	for i := range n.Entries {
		e := &n.Entries[i]
		if e.Tokens == 1 && e.Sample {
			p.cost.AddDecode(e.Start)
		} else {
			p.cost.AddPrefill(cost.Prefill{Tokens: float64(e.Tokens), Context: float64(e.Start), Final: e.Sample})
		}
	}
	if p.cost.Sums() {
		p.cost.AddSum(n.Steady, n.Context)
	} else {
		for context := range p.sched.Steady() {
			p.cost.AddDecode(context)
		}
	}
	return p.lasts(p.cost.Step())
}

// endRound ends the round that runs.
func (p *replica) endRound() {
	s := p.s
	s.result.Steps++
	p.account.end(s.now, s.windowEnd())
	number := p.steps.Add(s.now)
	for i := range p.round.Entries {
		e := &p.round.Entries[i]
		switch r := p.requests[e.ID]; {
		case r != nil:
			p.admitted(r, e)
			if e.Sample {
				r.took(p, number, s.now, 1)
			}
		case e.Sample:
			p.unheard()
		}
	}
	done := p.sched.End(p.round)
	p.counts.generated += float64(p.round.Steady)
	for _, f := range done {
		if r := p.requests[f.ID]; r != nil { // else nobody waits for it
			r.catchUp(p, number+1)
			p.finish(r, f.Reason)
		}
	}
	p.drop()
	p.forget()
}

// catchUp counts the tokens that a request got in the steps before one, since it
// has been in steady decode.
func (r *request) catchUp(p *replica, before int) {
	if r.since >= 0 && r.since < before {
		r.produced += before - r.since
		r.last = p.steps.End(before - 1)
		r.chunks.ExtendTo(r.since, before)
	}
	r.since = unsteady
}

// soFar counts the tokens that a request has by now, which goes on.
func (r *request) soFar() {
	if p := r.replica; p != nil && p.requests[r.key] == r && r.since >= 0 {
		next := p.steps.Next()
		r.catchUp(p, next)
		r.since = next
	}
}

// unsteady is the since of a request that does not get a token in each step.
const unsteady = -1

// keptSteps is how many steps a replica keeps before it looks which it can forget.
const keptSteps = 4096

// forget drops the steps of which no record will tell any more: those before the
// first token of every request that is in flight.
func (p *replica) forget() {
	next := p.steps.Next()
	if next < p.forgetAt {
		return
	}
	first := next
	for _, r := range p.s.flying {
		if r.chunks.Steps == &p.steps && len(r.chunks.Spans) > 0 {
			first = min(first, r.chunks.Spans[0].From)
		}
	}
	p.steps.Forget(first)
	p.forgetAt = next + max(keptSteps, next-first)
}
