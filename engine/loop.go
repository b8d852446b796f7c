package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// loop is the goroutine that owns the scheduler.
func (e *Engine) loop() {
	defer close(e.done)
	defer e.executor.Close()
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
		err := e.sched.Add(&sched.Request{
			ID: l.id, Prompt: len(l.request.Tokens), MaxTokens: l.request.MaxTokens,
			Priority: l.request.Priority, Arrival: l.arrival, Hash: l.hash,
		})
		if err != nil {
			// Submit has checked all that Add checks, so this is a defect.
			e.faults = append(e.faults, fmt.Errorf("adding a request: %w", err))
			e.finish(l, sched.Failed)
		}
	}
	e.inbox = slices.Delete(e.inbox, 0, len(e.inbox))
	for _, id := range e.left {
		if l, ok := e.requests[id]; ok {
			e.sched.Abort(id)
			e.finish(l, sched.Aborted)
		}
	}
	e.left = e.left[:0]
	return e.closing
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
	e.sequences = e.sequences[:0]
	for _, entry := range batch.Entries {
		e.sequences = append(e.sequences, e.prepare(entry, batch.At))
	}
	if err := e.executor.Execute(e.sequences); err != nil {
		e.faults = append(e.faults, fmt.Errorf("running a step of %d sequences: %w", len(e.sequences), err))
		e.report() // first: whoever is told next may ask why
		e.fail(batch)
		return
	}
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.StepTokens.observe(float64(batch.Tokens))
	e.results = e.results[:0]
	for _, entry := range batch.Entries {
		if entry.Sample {
			e.results = append(e.results, e.take(e.requests[entry.ID], entry, now))
		}
	}
	for _, f := range e.sched.Complete(batch, e.results) {
		e.finish(e.requests[f.ID], f.Reason)
	}
	for _, r := range e.results {
		if l, ok := e.requests[r.ID]; ok {
			l.publish()
		}
	}
	e.stats.Stats = e.sched.Stats()
}

// prepare fills in the executor's view of one entry.
func (e *Engine) prepare(entry sched.Entry, at time.Duration) *model.Sequence {
	l := e.requests[entry.ID]
	if l.admitted < 0 {
		l.admitted = at
		l.event.Queued = at - l.arrival
	}
	s := &l.sequence
	s.Tokens = l.tokens[entry.Start : entry.Start+entry.Tokens]
	s.Start, s.Blocks, s.Sample = entry.Start, entry.Blocks, entry.Sample
	s.Forbidden = nil
	if l.outputs() < l.request.MinTokens {
		s.Forbidden = e.shape.EOS
	}
	return s
}

// take adds a sampled token to its request and decides whether it ends it. The
// order is vLLM's: end of sequence before stop strings; the limits are the
// scheduler's to find.
func (e *Engine) take(l *live, entry sched.Entry, now time.Duration) sched.Result {
	token := l.sequence.Next
	l.tokens = append(l.tokens, token)
	e.stats.token(l, entry.Cached, now)
	if l.first < 0 {
		l.first = now
	}
	l.last = now
	l.event.Tokens++
	l.event.Cached, l.event.Output = entry.Cached, l.outputs()

	result := sched.Result{ID: l.id, Tokens: 1}
	early := l.outputs() < l.request.MinTokens
	switch {
	case e.isEOS(token) && !l.request.IgnoreEOS && !early:
		result.Finish = sched.Stop
	case early:
		l.event.Text += l.text.pass(token)
	default:
		ready, stop := l.text.push(token)
		l.event.Text += ready
		if stop != "" {
			result.Finish = sched.Stop
		}
	}
	return result
}

// publish hands out the pending event, unless it carries no text yet: its tokens
// then go with the next one that does.
func (l *live) publish() {
	if l.event.Text == "" && l.event.Finish == sched.Running {
		return
	}
	l.stream.put(l.event)
	l.event.Text, l.event.Tokens = "", 0
}

// finish ends a request's stream.
func (e *Engine) finish(l *live, reason sched.FinishReason) {
	l.forget()
	l.event.Text += l.text.flush()
	l.event.Finish = reason
	e.stats.end(l, reason, e.now())
	l.publish()
	delete(e.requests, l.id)
}

// fail ends every request after a step that could not run, because the prefix
// cache promises content that was never computed.
func (e *Engine) fail(batch *sched.Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.requests {
		e.sched.Abort(id)
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
		e.finish(l, reason)
	}
}
