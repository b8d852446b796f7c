package reports

import (
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// tally is what the requests of one engine got in each of its steps. A step is the
// gap of every sequence that also got a token in the step before, so that the
// millions of tokens of a simulated run cost what its steps do.
//
// Both counts are kept as differences from step to step: a request that has a token
// in many steps in a row changes them where it begins and where it ends.
type tally struct {
	c     *Collector
	steps *record.Steps

	from   int // step that tokens[0] and gaps[0] are of
	tokens []int32
	gaps   []int32 // that end with the step

	// Of the step before from.
	sequences, waited int // that got a token in it, and in the one before too
	last              time.Duration
}

// tallyOf is that of an engine's steps.
func (c *Collector) tallyOf(steps *record.Steps) *tally {
	if t := c.tallies[steps]; t != nil {
		return t
	}
	t := &tally{c: c, steps: steps, from: steps.First()}
	if c.tallies == nil {
		c.tallies = map[*record.Steps]*tally{}
	}
	c.tallies[steps] = t
	c.tallied = append(c.tallied, t)
	steps.OnForget = t.settle
	return t
}

// stepEvents adds the chunks of a request that steps made, one token in each, as
// events does for any; gaps says whether those between its tokens count. It
// returns the tokens that arrived inside the window.
func (c *Collector) stepEvents(chunks *record.StepChunks, gaps bool) (inside float64) {
	t := c.tallyOf(chunks.Steps)
	t.reach(chunks.Spans[len(chunks.Spans)-1].To)
	low, high := t.steps.From(c.run.Window.Start), t.steps.From(c.run.Window.End+1)
	for i, span := range chunks.Spans {
		inside += float64(max(0, min(span.To, high)-max(span.From, low)))
		if gaps && i > 0 {
			c.tokenGap(t.steps.End(span.From)-t.steps.End(chunks.Spans[i-1].To-1), 1)
		}
		from := t.afterSettled(span, gaps)
		if from == span.To {
			continue
		}
		t.tokens[from-t.from]++
		t.tokens[span.To-t.from]--
		if gaps {
			first := max(span.From+1, from)
			t.gaps[first-t.from]++
			t.gaps[span.To-t.from]--
		}
	}
	return inside
}

// afterSettled is where the part of a span begins that is not settled yet. What is
// before it, as when somebody wanted to see a report meanwhile, is counted step by
// step.
func (t *tally) afterSettled(span record.StepSpan, gaps bool) int {
	step := span.From
	for ; step < min(span.To, t.from); step++ {
		t.c.arrive(t.steps.End(step), 1)
		if gaps && step > span.From {
			t.c.tokenGap(t.steps.End(step)-t.steps.End(step-1), 1)
		}
	}
	return step
}

// reach makes room for the differences up to a step, itself included.
func (t *tally) reach(step int) {
	if need := step + 1 - t.from; need > len(t.tokens) {
		t.tokens = append(t.tokens, make([]int32, need-len(t.tokens))...)
		t.gaps = append(t.gaps, make([]int32, need-len(t.gaps))...)
	}
}

// settle counts the steps before one, which no request will name any more.
func (t *tally) settle(before int) {
	before = min(before, t.steps.Next())
	t.reach(before)
	for step := t.from; step < before; step++ {
		at := t.steps.End(step)
		t.sequences += int(t.tokens[step-t.from])
		t.waited += int(t.gaps[step-t.from])
		if t.sequences > 0 {
			t.c.arrive(at, float64(t.sequences))
		}
		if t.waited > 0 {
			t.c.tokenGap(at-t.last, t.waited)
		}
		t.last = at
	}
	n := max(0, before-t.from)
	t.tokens, t.gaps = append(t.tokens[:0], t.tokens[n:]...), append(t.gaps[:0], t.gaps[n:]...)
	t.from += n
}
