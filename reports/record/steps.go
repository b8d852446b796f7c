package record

import (
	"iter"
	"slices"
	"time"
)

// Steps are the times at which the steps of an engine ended, shared by all
// requests that they served.
type Steps struct {
	// OnForget, if any, is told before the steps before one are forgotten.
	OnForget func(before int)

	first int // number of the first step that is kept
	ends  []time.Duration
}

// Add appends the next step and returns its number. No step ends before the one
// before it.
func (s *Steps) Add(end time.Duration) int {
	s.ends = append(s.ends, end)
	return s.first + len(s.ends) - 1
}

// First is the number of the first step that is kept.
func (s *Steps) First() int { return s.first }

// Next is the number of the step that Add adds next.
func (s *Steps) Next() int { return s.first + len(s.ends) }

// End is when a step ended that is kept.
func (s *Steps) End(step int) time.Duration { return s.ends[step-s.first] }

// From is the first of the steps that are kept which did not end before a moment,
// or Next.
func (s *Steps) From(moment time.Duration) int {
	i, _ := slices.BinarySearch(s.ends, moment)
	return s.first + i
}

// forgetAtOnce is the number of steps that are forgotten together, so that moving
// the others costs little per step.
const forgetAtOnce = 1024

// Forget says that nobody will ask for the steps before one. They are dropped some
// time later.
func (s *Steps) Forget(before int) {
	n := before - s.first
	if n < forgetAtOnce || n < len(s.ends)/2 {
		return
	}
	if s.OnForget != nil {
		s.OnForget(before)
	}
	s.ends = append(s.ends[:0], s.ends[n:]...)
	s.first = before
}

// StepChunks are the output events of a request that steps of an engine produced,
// one in each of the steps of Spans. A million of one token each take a few words.
type StepChunks struct {
	Steps  *Steps
	Spans  []StepSpan // in ascending order, none of them empty
	Tokens []int32    // of each event; nil when each is one token
}

// StepSpan is the steps From ≤ step < To.
type StepSpan struct{ From, To int }

// Add adds a step with a number of tokens, which comes after all others.
func (c *StepChunks) Add(step, tokens int) {
	if tokens != 1 && c.Tokens == nil {
		for range c.Len() {
			c.Tokens = append(c.Tokens, 1)
		}
	}
	if tokens != 1 || c.Tokens != nil {
		c.Tokens = append(c.Tokens, int32(tokens))
	}
	c.extend(step)
}

// Extend adds a step with one token, which comes after all others.
func (c *StepChunks) Extend(step int) { c.Add(step, 1) }

func (c *StepChunks) extend(step int) {
	if n := len(c.Spans); n > 0 && c.Spans[n-1].To == step {
		c.Spans[n-1].To++
		return
	}
	c.Spans = append(c.Spans, StepSpan{step, step + 1})
}

// Len implements Chunks.
func (c *StepChunks) Len() (n int) {
	for _, s := range c.Spans {
		n += s.To - s.From
	}
	return n
}

// All implements Chunks.
func (c *StepChunks) All() iter.Seq2[time.Duration, Count] {
	return func(yield func(time.Duration, Count) bool) {
		i := 0
		for _, span := range c.Spans {
			for step := span.From; step < span.To; step++ {
				tokens := 1
				if c.Tokens != nil {
					tokens = int(c.Tokens[i])
				}
				if !yield(c.Steps.End(step), Counted(tokens)) {
					return
				}
				i++
			}
		}
	}
}
