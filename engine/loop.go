package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// loop is the goroutine that owns the scheduler.
func (e *Engine) loop() {
	defer close(e.done)
	defer e.closeExecutors()
	for {
		closing := e.admit()
		e.report()
		if closing {
			e.stop()
			return
		}
		batch := e.sched.Schedule(e.now())
		e.refresh()
		if batch == nil {
			if i, ok := e.executor.(Idler); ok {
				i.Idle()
			}
			<-e.wake
			continue
		}
		e.run(batch)
	}
}

// admit takes in what happened since the last turn.
func (e *Engine) admit() (closing bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.inbox {
		e.requests[l.id] = l
		for _, a := range l.answers {
			e.answers[a.id] = a
		}
		if err := e.sched.Add(l.answers[0].needs()); err != nil {
			// Submit has checked all that Add checks, so this is a defect.
			e.faults = append(e.faults, fmt.Errorf("adding a request: %w", err))
			e.finishRequest(l, sched.Failed)
		}
	}
	e.inbox = slices.Delete(e.inbox, 0, len(e.inbox))
	for _, id := range e.left {
		if l, ok := e.requests[id]; ok {
			e.abort(l)
			e.finishRequest(l, sched.Aborted)
		}
	}
	e.left = e.left[:0]
	return e.closing
}

// abort takes all answers of a request from the scheduler, which does not know those
// that have ended or not begun.
func (e *Engine) abort(l *live) {
	for _, a := range l.answers {
		e.sched.Abort(a.id)
	}
}

// report tells OnError what went wrong. The loop holds no lock meanwhile.
func (e *Engine) report() {
	for _, err := range e.faults {
		if e.config.OnError != nil {
			e.config.OnError(err)
		}
	}
	e.faults = e.faults[:0]
}

// refresh publishes the scheduler's gauges and counters, before a step as well
// as after it, since a step can be long.
func (e *Engine) refresh() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.Stats = e.sched.Stats()
}

// run executes one batch and hands out what came of it.
func (e *Engine) run(batch *sched.Batch) {
	if e.config.Observe != nil {
		e.config.Observe(batch)
	}
	e.prepareAll(batch)
	begin := e.now()
	if err := e.execute(); err != nil {
		e.faults = append(e.faults, fmt.Errorf("running a step of %d sequences: %w", len(e.sequences), err))
		e.report() // first: whoever is told next may ask why
		e.fail(batch)
		return
	}
	now := e.now()
	e.logStep(batch, begin, now)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.StepTokens.observe(float64(batch.Tokens))
	e.results, e.broken = e.results[:0], e.broken[:0]
	for i := range batch.Entries {
		e.collect(&batch.Entries[i], now)
	}
	for _, f := range e.sched.Complete(batch, e.results) {
		e.finish(e.answers[f.ID], f.Reason)
	}
	e.failBroken(batch)
	for _, r := range e.results {
		if a, ok := e.answers[r.ID]; ok {
			a.publish()
		}
	}
	e.stats.Stats = e.sched.Stats()
}

// prepareAll fills in the executor's view of a batch.
func (e *Engine) prepareAll(batch *sched.Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range batch.Preempted {
		e.answers[id].preemptions++
	}
	e.sequences = e.sequences[:0]
	for i := range batch.Entries {
		e.sequences = append(e.sequences, e.prepare(&batch.Entries[i], batch.At))
	}
	e.pace.turn(batch.At, e.sched.Waiting() > 0)
}

// execute runs the step, after a draft model has said what may come.
func (e *Engine) execute() error {
	if e.drafter != nil {
		if err := e.drafter.fill(e.sequences); err != nil {
			return fmt.Errorf("drafting: %w", err)
		}
	}
	return e.executor.Execute(e.sequences)
}

// collect takes what a step gave one entry.
func (e *Engine) collect(entry *sched.Entry, now time.Duration) {
	a := e.answers[entry.ID]
	if a.sequence.Broken {
		e.broken = append(e.broken, a.of)
		return // the scheduler fails an entry that should have a token and has none
	}
	if a.index == 0 {
		a.score()
	}
	if !entry.Sample {
		return
	}
	first := a.first < 0
	result := e.take(a, entry.Cached, now)
	if result.Finish == sched.Running {
		result.Drafts = e.propose(a)
	}
	e.results = append(e.results, result)
	if first && len(a.of.answers) > 1 {
		e.fork(a, entry.Cached, now)
	}
}

// failBroken ends the requests for which the model gave no numbers: all that could be
// said of them would be made up.
func (e *Engine) failBroken(batch *sched.Batch) {
	if len(e.broken) == 0 {
		return
	}
	e.faults = append(e.faults, fmt.Errorf("step %d of model %q: the logits of %d of %d sequences are not finite, so their requests fail: the weights or the type of the KV cache cannot be right",
		batch.Step, e.shape.Name, len(e.broken), len(batch.Entries)))
	for _, l := range e.broken {
		e.abort(l)
		e.finishRequest(l, sched.Failed)
	}
	clear(e.broken)
}

// finish ends an answer, and with the last one its request.
func (e *Engine) finish(a *answer, reason sched.FinishReason) {
	l := a.of
	a.ended = true
	a.event.Text += a.text.flush()
	a.event.Finish = reason
	a.event.Times = Times{Arrival: l.arrival, Admitted: a.admitted, First: a.first, Last: a.last, Preemptions: a.preemptions}
	e.stats.end(a, reason, e.now())
	a.publish()
	delete(e.answers, a.id)
	e.load--
	l.longest = max(l.longest, a.outputs())
	if l.left--; l.left == 0 {
		l.forget()
		e.dequeue(l)
		e.stats.endRequest(l)
		delete(e.requests, l.id)
	}
}

// finishRequest ends those answers of a request that have not ended.
func (e *Engine) finishRequest(l *live, reason sched.FinishReason) {
	for _, a := range l.answers {
		if !a.ended {
			e.finish(a, reason)
		}
	}
}

// fail ends every request after a step that could not run, because the prefix
// cache promises content that was never computed.
func (e *Engine) fail(batch *sched.Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.requests {
		e.abort(l)
	}
	e.sched.Complete(batch, nil)
	e.finishAll(sched.Failed)
	if err := e.sched.ResetPrefixCache(); err != nil {
		panic(err) // nobody is left who could hold a block
	}
	e.stats.Stats = e.sched.Stats()
}

// stop ends every request when the engine shuts down.
func (e *Engine) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finishAll(sched.Aborted)
}

func (e *Engine) finishAll(reason sched.FinishReason) {
	for _, l := range e.requests {
		e.finishRequest(l, reason)
	}
}
