package simulator

import (
	"time"

	"github.com/llmctl/llmctl/engine/kv"
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

	nextKey  sched.ID
	requests map[sched.ID]*request
	batch    *sched.Batch // that runs; nil while idle
	left     []sched.ID   // whose user went away while it runs
	steps    record.Steps

	shape   cost.Batch // reused
	results []sched.Result
	counts  counts
}

// counts are a replica's totals.
type counts struct {
	prompt, generated float64 // tokens
	finished          float64
}

func newReplica(s *sim, index int, p *Pool) *replica {
	k := &p.Kind
	return &replica{
		s: s, index: index, pool: p, kind: k,
		sched:    sched.New(k.Sched, kv.NewPool(k.Blocks+1, k.BlockSize)), // one is the null block
		requests: map[sched.ID]*request{},
	}
}

// submit queues a request.
func (p *replica) submit(r *request) {
	p.nextKey++
	r.key = p.nextKey
	err := p.sched.Add(&sched.Request{
		ID: r.key, Prompt: r.prompt, MaxTokens: r.output, Arrival: p.s.now,
		Priority: p.kind.Serving.Priorities[r.session.Class], Hash: r.hash,
	})
	if err != nil {
		p.s.refused(r)
		return
	}
	p.requests[r.key] = r
	if p.batch == nil {
		p.step()
	}
}

// abort ends a request early. As in the live engine, whose loop waits for the step
// that runs, its blocks are free only when that step has ended.
func (p *replica) abort(r *request) {
	if p.requests[r.key] != r {
		return
	}
	p.left = append(p.left, r.key)
	if p.batch == nil {
		p.drop()
	}
}

// drop takes those out whose users have left, unless their last step was the one
// that has just ended.
func (p *replica) drop() {
	for _, key := range p.left {
		p.sched.Abort(key)
		delete(p.requests, key)
	}
	p.left = p.left[:0]
}

// step begins the next step, if there is anything to run.
func (p *replica) step() {
	if p.batch = p.sched.Schedule(p.s.now); p.batch == nil {
		return
	}
	if p.s.config.Observe != nil {
		p.s.config.Observe(p.index, p.batch)
	}
	p.s.agenda.plan(p.s.now+p.duration(p.batch), p)
}

// duration is how long a batch runs.
func (p *replica) duration(b *sched.Batch) time.Duration {
	p.shape.Prefill, p.shape.Decode = p.shape.Prefill[:0], p.shape.Decode[:0]
	for i := range b.Entries {
		e := &b.Entries[i]
		if e.Tokens == 1 && e.Sample {
			p.shape.Decode = append(p.shape.Decode, cost.Decode{Sequences: 1, Context: float64(e.Start)})
		} else {
			p.shape.Prefill = append(p.shape.Prefill, cost.Prefill{Tokens: float64(e.Tokens), Context: float64(e.Start), Final: e.Sample})
		}
	}
	t := cost.StepTime(p.kind.Facts, p.kind.Device, p.kind.Constants, p.shape).Seconds
	if p.kind.Slowdown > 0 {
		t *= p.kind.Slowdown
	}
	return max(1, seconds(t))
}

// happen ends the step that runs, and begins the next one.
func (p *replica) happen(s *sim) {
	b := p.batch
	s.result.Steps++
	number := p.steps.Add(s.now)
	p.results = p.results[:0]
	for i := range b.Entries {
		e := &b.Entries[i]
		r := p.requests[e.ID]
		if r.cached < 0 {
			r.cached = e.Cached
			p.counts.prompt += float64(r.prompt)
		}
		if !e.Sample {
			continue
		}
		p.results = append(p.results, sched.Result{ID: e.ID, Tokens: 1})
		if !r.ended {
			r.took(p, number, s.now)
		}
	}
	for _, f := range p.sched.Complete(b, p.results) {
		r := p.requests[f.ID]
		delete(p.requests, f.ID)
		p.counts.finished++
		if !r.ended {
			s.finished(r, f.Reason)
		}
	}
	p.drop()
	p.step()
}

// took is a token that a request got in a step.
func (r *request) took(p *replica, step int, now time.Duration) {
	if r.produced == 0 {
		r.first = now
		r.chunks.Steps = &p.steps
	}
	r.produced++
	r.last = now
	r.chunks.Extend(step)
	p.counts.generated++
}
