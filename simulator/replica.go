package simulator

import (
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

// replica is one engine: its scheduler, driven by steps that last as long as the
// cost model says.
type replica struct {
	s     *sim
	index int
	pool  *Pool
	kind  *Kind
	sched *sched.Scheduler
	load  int // requests that were sent to it and have not ended
	state state
	life  life

	nextKey  sched.ID
	requests map[sched.ID]*request
	leaving  []sched.ID // whose users went away while a step runs
	steps    record.Steps
	forgetAt int // number of steps at which the next look for some to forget is due

	// What runs, nil while idle: a batch, or of a plain kind a round (fast.go). With a
	// pipeline, the batches that run are there.
	plain  bool
	waking bool // an idle replica will begin a step at this instant
	batch  *sched.Batch
	round  *sched.Round
	passes func(steady int, context int64) bool // pass
	pipe   *pipe                                // nil without a pipeline

	group group         // of static batching
	link  time.Duration // when the link to the host is free

	cost, drafts *cost.Evaluator
	results      []sched.Result // reused
	counts       counts
	account      account
}

// counts are a replica's totals.
type counts struct {
	prompt, generated float64 // tokens
	unheard           float64 // of those generated: sampled when their user had left
	finished          float64
}

func newReplica(s *sim, index int, p *Pool) *replica {
	k := &p.Kind
	r := &replica{
		s: s, index: index, pool: p, kind: k, account: newAccount(s.config.Warmup, s.now),
		sched:    k.engine(),
		requests: map[sched.ID]*request{},
		plain:    s.config.Trace == nil && k.plain(),
		pipe:     k.newPipe(),
		group:    group{on: k.Serving.Batching == "static"},
		cost:     cost.NewEvaluator(&k.Facts, k.Device, &k.Constants),
		drafts:   cost.NewEvaluator(&k.Facts, k.Device, &k.Constants),
	}
	r.passes = r.pass
	return r
}

// submit queues a request.
func (p *replica) submit(r *request) {
	p.nextKey++
	r.key, r.since = p.nextKey, unsteady
	r.withheld = 0 // an earlier try may have come to something
	err := p.sched.Add(p.part(r, &sched.Request{
		ID: r.key, Prompt: r.prompt, MaxTokens: r.output, Arrival: p.s.now,
		Priority: p.kind.Serving.Priorities[r.session.Class], Hash: r.hash, Shared: p.shared(r),
	}))
	if err != nil {
		p.s.refused(r, err)
		return
	}
	p.requests[r.key] = r
	if t := p.s.config.Trace; t != nil {
		t.Queued(p.s.now, p.index, r.key, r.id)
	}
	if p.idle() && !p.waking {
		p.waking = true
		p.s.agenda.plan(p.s.now, wake{p})
	}
}

// wake has an idle replica begin a step, after whatever else comes at the same
// instant: requests that arrive together run together.
type wake struct{ p *replica }

func (w wake) happen(*sim) {
	w.p.waking = false
	if w.p.idle() {
		w.p.step()
	}
}

// idle reports whether no step runs.
func (p *replica) idle() bool { return p.batch == nil && p.round == nil }

// abort ends a request early. As in the live engine, whose loop waits for the step
// that runs, its blocks are free only when that step has ended.
func (p *replica) abort(r *request) {
	if p.requests[r.key] != r {
		return
	}
	if r.since != unsteady {
		p.counts.unheard++ // the round counts it whole
	}
	r.catchUp(p, p.steps.Next())
	if !p.idle() && p.pipe == nil && !p.group.on && p.kind.Role != prefill {
		p.leaving = append(p.leaving, r.key)
	} else {
		p.sched.Abort(r.key)
	}
	p.left(r, false)
}

// unheard is a token of a request whose user has left, which the engine has yet to
// hear.
func (p *replica) unheard() {
	p.counts.generated++
	p.counts.unheard++
}

// drop takes those out whose users have left, unless the step that has just ended
// was their last.
func (p *replica) drop() {
	for _, key := range p.leaving {
		p.sched.Abort(key)
	}
	p.leaving = p.leaving[:0]
}

// left is a request that the engine no longer has.
func (p *replica) left(r *request, answered bool) {
	delete(p.requests, r.key)
	if t := p.s.config.Trace; t != nil {
		t.Left(p.s.now, p.index, r.key, answered)
	}
}

// step begins the next step, if there is anything to run.
func (p *replica) step() {
	if p.state == down {
		return // that was the last one of a replica that goes
	}
	if p.plain {
		p.runRounds()
		return
	}
	if p.pipe != nil {
		p.enter()
		return
	}
	p.batch = p.sched.Schedule(p.s.now)
	p.beginLoads()
	p.life.turned(p.s.now, p.batch != nil)
	if p.batch == nil {
		return
	}
	took := p.duration(p.batch)
	if t := p.s.config.Trace; t != nil {
		t.Step(p.s.now, took, p.index, p.batch, p.stats())
	}
	p.s.agenda.plan(p.s.now+took, p)
}

// duration is how long a batch runs.
func (p *replica) duration(b *sched.Batch) time.Duration {
	p.cost.Reset()
	for i := range b.Entries {
		p.addCost(&b.Entries[i])
	}
	p.pad(b)
	terms := p.cost.Step()
	p.addDrafting(&terms, b)
	return p.lasts(terms)
}

// addCost adds an entry to the step whose cost is summed up.
func (p *replica) addCost(e *sched.Entry) {
	switch {
	case e.Drafts > 0:
		p.cost.AddVerify(cost.Verify{Tokens: float64(e.Tokens), Context: float64(e.Start)})
	case e.Tokens == 1 && e.Sample:
		p.cost.AddDecode(e.Start)
	default:
		p.cost.AddPrefill(cost.Prefill{Tokens: float64(e.Tokens), Context: float64(e.Start), Final: e.Sample})
	}
}

// lasts is how long a step lasts that begins now.
func (p *replica) lasts(terms cost.Step) time.Duration {
	p.account.begin(p.s.now, terms, p.sched.Held(), p.s.fleet.starts)
	return p.lasting(terms)
}

// lasting is how long a step of such a cost lasts.
func (p *replica) lasting(terms cost.Step) time.Duration {
	return max(1, seconds(terms.Seconds*p.pace()))
}

// happen ends the step that runs, and begins the next one.
func (p *replica) happen(s *sim) {
	if p.state == down {
		return // it died in the middle of the step
	}
	if p.plain {
		p.endRound()
		p.step()
		return
	}
	b := p.batch
	s.result.Steps++
	p.account.end(s.now, s.windowEnd())
	number := p.steps.Add(s.now)
	p.results = p.results[:0]
	for i := range b.Entries {
		e := &b.Entries[i]
		r := p.requests[e.ID]
		if r == nil { // its user has left, which the engine has yet to hear
			if e.Sample {
				p.results = append(p.results, sched.Result{ID: e.ID, Tokens: 1})
				p.unheard()
			}
			continue
		}
		p.admitted(r, e)
		if !e.Sample {
			continue
		}
		result := p.outcome(r, e)
		p.results = append(p.results, result)
		if p.kind.Role == prefill {
			r.pinned = p.sched.Pin(e)
			continue // the decode replica samples the token once more
		}
		if p.group.on {
			r.withheld += result.Tokens
			continue
		}
		r.took(p, number, s.now, result.Tokens)
	}
	for _, f := range p.sched.Complete(b, p.results) {
		if p.group.on {
			p.group.over = append(p.group.over, f)
			continue
		}
		if r := p.requests[f.ID]; r != nil { // else nobody waits for it
			p.finish(r, f.Reason)
		}
	}
	if p.group.on {
		p.handOut(number)
	}
	p.drop()
	p.forget()
	p.step()
}

// admitted notes what the cache saved a request, when its first step ends.
func (p *replica) admitted(r *request, e *sched.Entry) {
	if r.cached < 0 {
		r.cached = e.Cached
		p.counts.prompt += float64(r.prompt)
	}
}

// finish is a request that its engine has done.
func (p *replica) finish(r *request, reason sched.FinishReason) {
	p.left(r, true)
	p.counts.finished++
	if p.kind.Role == prefill {
		p.s.transfer(p, r)
		return
	}
	p.s.finished(r, reason)
}

// took is what a request got in a step.
func (r *request) took(p *replica, step int, now time.Duration, tokens int) {
	if r.produced == 0 {
		r.first = now
		r.chunks.Steps = &p.steps
		p.s.front.answering(r)
	}
	r.produced += tokens
	r.last = now
	r.chunks.Add(step, tokens)
	p.counts.generated += float64(tokens)
}
