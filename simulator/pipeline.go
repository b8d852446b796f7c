package simulator

import (
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// pipe is the stages of a replica and the batches on their way through them. A
// batch takes the time of its step from its start to its tokens, and each stage an
// even part of it; the next batch follows as soon as a stage is free. With fewer
// batches than stages, stages stand idle.
type pipe struct {
	free    []time.Duration // when each stage has ended what it has
	flights []*sched.Batch  // oldest first
}

func (k *Kind) newPipe() *pipe {
	if k.Facts.Pipeline < 2 {
		return nil
	}
	return &pipe{free: make([]time.Duration, k.Facts.Pipeline)}
}

// pass sends a batch through the stages, and returns when it leaves the last one.
func (w *pipe) pass(now, duration time.Duration) time.Duration {
	at, left := now, duration
	for i := range w.free {
		share := left / time.Duration(len(w.free)-i)
		left -= share
		at = later(max(at, w.free[i]), share)
		w.free[i] = at
	}
	return at
}

// enter begins the next batch, if the first stage is free and there is anything to
// run.
func (p *replica) enter() {
	w := p.pipe
	p.batch = nil
	if p.s.now < w.free[0] || len(w.flights) == len(w.free) {
		return
	}
	b := p.sched.Schedule(p.s.now)
	p.beginLoads()
	p.life.turned(p.s.now, b != nil || len(w.flights) > 0)
	if b == nil {
		return
	}
	w.flights = append(w.flights, b)
	end := w.pass(p.s.now, p.duration(b))
	if t := p.s.config.Trace; t != nil {
		t.Step(p.s.now, end-p.s.now, p.index, b, p.stats())
	}
	p.s.agenda.plan(w.free[0], stageFree{p})
	p.s.agenda.plan(end, passed{p})
}

// stageFree is the first stage that can take the next batch.
type stageFree struct{ p *replica }

func (f stageFree) happen(*sim) { f.p.step() }

// passed is the oldest batch that has left the last stage.
type passed struct{ p *replica }

func (f passed) happen(s *sim) {
	p := f.p
	if p.state == down {
		return
	}
	p.batch = p.pipe.flights[0]
	p.pipe.flights = append(p.pipe.flights[:0], p.pipe.flights[1:]...)
	p.happen(s)
}
