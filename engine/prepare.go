package engine

import (
	"time"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// prepare fills in the executor's view of one entry.
func (e *Engine) prepare(entry *sched.Entry, at time.Duration) *model.Sequence {
	a := e.answers[entry.ID]
	if entry.Admitted && a.first < 0 {
		a.admitted = at
		a.event.Queued = at - a.of.arrival
	}
	if entry.Admitted {
		e.start(a.of)
	}
	end := entry.Start + entry.Tokens
	prompt := len(a.of.request.Tokens)
	e.stats.Recomputed += int64(max(0, min(end, a.ran, prompt)-entry.Start))
	a.ran = max(a.ran, end-int(entry.Drafts))

	q := &a.sequence
	q.Start, q.Blocks, q.Sample, q.Drafts = entry.Start, entry.Blocks, entry.Sample, int(entry.Drafts)
	q.Accepted, q.Score, q.Scores, q.Siblings, q.Copies = 0, nil, nil, nil, nil
	if q.Drafts == 0 {
		q.Tokens = a.tokens[entry.Start:end]
	} else {
		a.window = append(append(a.window[:0], a.tokens[entry.Start:]...), a.drafts[:q.Drafts]...)
		q.Tokens = a.window
	}
	if entry.CopyTo != kv.Null {
		a.copies[0] = model.Copy{From: entry.CopyFrom, To: entry.CopyTo}
		q.Copies = a.copies[:]
	}
	a.forbid()
	if a.first < 0 && a.index == 0 {
		a.prepareFirst(end)
	}
	return q
}

// forbid rules out the end of the text as long as the request asked for more.
func (a *answer) forbid() {
	q := &a.sequence
	q.Forbidden, q.Until = nil, 0
	if left := a.of.request.MinTokens - a.outputs(); left > 0 {
		q.Forbidden, q.Until = a.of.ends, left
	}
}

// prepareFirst asks for what the prompt gives: log-probabilities of its tokens up to
// the end of the step, and with the first token those of the other answers.
func (a *answer) prepareFirst(end int) {
	q := &a.sequence
	if a.of.request.PromptLogprobs {
		from, to := max(q.Start, a.scored), min(end, len(a.of.request.Tokens)-1)
		if from < to {
			q.Score = a.tokens[from+1 : to+1]
		}
	}
	if q.Sample {
		for _, sibling := range a.of.answers[1:] {
			sibling.forbid()
			q.Siblings = append(q.Siblings, &sibling.sequence)
		}
	}
}

// score takes the log-probabilities of prompt tokens that a step has brought.
func (a *answer) score() {
	q := &a.sequence
	if len(q.Scores) == 0 {
		return
	}
	a.event.Prompt = append(a.event.Prompt, q.Scores...)
	a.scored = max(q.Start, a.scored) + len(q.Scores)
}
