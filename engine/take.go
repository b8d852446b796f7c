package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// take adds the tokens that a step gave an answer and decides whether they end it.
// What stands behind the end is dropped.
func (e *Engine) take(a *answer, cached int, now time.Duration) sched.Result {
	q := &a.sequence
	result := sched.Result{ID: a.id}
	drafted := q.Tokens
	if q.Drafts > 0 {
		e.stats.Speculation.count(q.Drafts, q.Accepted)
		drafted = drafted[len(drafted)-q.Drafts:]
	}
	for i := 0; i <= q.Accepted && result.Finish == sched.Running; i++ {
		token := q.Next
		if i < q.Accepted {
			token = drafted[i]
		}
		if token < 0 { // nothing may come: the guide has reached its end
			result.Finish = sched.Stop
			break
		}
		if i < len(q.Sampled) {
			a.event.Logprobs = append(a.event.Logprobs, q.Sampled[i])
		}
		result.Tokens++
		result.Finish = e.takeToken(a, token, cached, now)
	}
	return result
}

// takeToken adds one token. The order in which ends are looked for is vLLM's: end of
// sequence and stop tokens before stop strings; the limits are the scheduler's to
// find.
func (e *Engine) takeToken(a *answer, token int32, cached int, now time.Duration) sched.FinishReason {
	r := &a.of.request
	a.tokens = append(a.tokens, token)
	e.stats.token(a, cached, now)
	if a.first < 0 {
		a.first = now
	}
	a.last = now
	a.event.Tokens++
	a.event.Cached, a.event.Output = cached, a.outputs()
	early := a.outputs() < r.MinTokens
	switch {
	case early:
		a.event.Text += a.text.pass(token)
	case e.isEOS(token) && !r.IgnoreEOS:
		if r.KeepStop {
			a.event.Text += a.text.pass(token)
		}
		return sched.Stop
	case slices.Contains(r.StopTokens, token):
		a.event.Stopped.Token = token
		if r.KeepStop {
			a.event.Text += a.text.pass(token)
		}
		return sched.Stop
	default:
		ready, stop := a.text.push(token)
		a.event.Text += ready
		if stop != "" {
			a.event.Stopped.Text = stop
			return sched.Stop
		}
	}
	return sched.Running
}

// fork gives the other answers their first tokens and the blocks of the prompt. It is
// called before the first answer's own end can free them.
func (e *Engine) fork(first *answer, cached int, now time.Duration) {
	for _, a := range first.of.answers[1:] {
		if a.ended {
			continue
		}
		a.admitted, a.ran = first.admitted, first.ran
		a.event.Queued = first.event.Queued
		a.chain.hashes = slices.Clone(first.chain.hashes[:min(len(first.chain.hashes), len(a.tokens)/a.chain.size)])
		reason := e.take(a, cached, now).Finish
		if reason == sched.Running {
			switch err := e.sched.Fork(first.id, a.needs()); {
			case errors.Is(err, sched.ErrNoTokens):
				reason = sched.Length
			case err != nil: // numbers are given out once, so this is a defect
				e.faults = append(e.faults, fmt.Errorf("adding an answer: %w", err))
				reason = sched.Failed
			}
		}
		if reason == sched.Running {
			a.publish()
		} else {
			e.finish(a, reason)
		}
	}
}
