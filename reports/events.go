package reports

import (
	"iter"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// events adds the chunks of one request: tokens to the throughput of the window
// they arrived in, gaps to ICL and, where the tokens of each event are known,
// to ITL. It returns the tokens that arrived inside the window.
func (c *Collector) events(r *record.Record, member bool) (inside float64) {
	if r.Chunks == nil || r.Chunks.Len() == 0 {
		for at, tokens := range spread(r) {
			inside += c.arrive(at, tokens)
		}
		return inside
	}
	gaps := member && (r.Outcome == record.OK || r.Outcome == record.Cancelled || r.Outcome == record.Cut)
	if chunks, ok := r.Chunks.(*record.StepChunks); ok && eachIsAToken(r, chunks) {
		return c.stepEvents(chunks, gaps)
	}
	counted, perEvent, perToken := weights(r)
	var last, lastCounted time.Duration
	index := 0
	for at, count := range r.Chunks.All() {
		tokens, _ := count.Value()
		if counted {
			inside += c.arrive(at, float64(tokens)*perToken)
		} else {
			inside += c.arrive(at, perEvent)
		}
		if gaps && index > 0 {
			c.chunkGap(at-last, 1)
			if counted && tokens > 0 {
				c.samples.itl.AddN(inSeconds(at-lastCounted)/float64(tokens), tokens)
			}
		}
		last = at
		if index == 0 || tokens > 0 {
			lastCounted = at // an event without a token belongs to the gap before the next token
		}
		index++
	}
	return inside
}

// eachIsAToken reports whether the events of a request are its output tokens, one
// each.
func eachIsAToken(r *record.Record, chunks *record.StepChunks) bool {
	n, known := r.Output.Value()
	return !known || n == chunks.Len()
}

// chunkGap adds n gaps between events to ICL.
func (c *Collector) chunkGap(gap time.Duration, n int) {
	c.samples.icl.AddN(inSeconds(gap), n)
	if gap < oneRead {
		c.together += n
	}
}

// tokenGap adds n gaps between events of one token each.
func (c *Collector) tokenGap(gap time.Duration, n int) {
	c.chunkGap(gap, n)
	c.samples.itl.AddN(inSeconds(gap), n)
}

// arrive counts tokens that came at a moment and returns those inside the
// window.
func (c *Collector) arrive(at time.Duration, tokens float64) (inside float64) {
	c.timeline.output(at, tokens)
	if !c.inside(at) {
		return 0
	}
	c.outputInside += tokens
	return tokens
}

// weights says how the N output tokens of a request are spread over its events:
// in proportion to the tokens of each event when all are known (counted), else
// evenly. Without N the events' own counts stand, or one token each.
func weights(r *record.Record) (counted bool, perEvent, perToken float64) {
	sum := 0
	if _, counted = r.FirstTokens(); counted {
		for _, count := range r.Chunks.All() {
			n, known := count.Value()
			if !known {
				counted = false
				break
			}
			sum += n
		}
	}
	counted = counted && sum > 0
	n, known := r.Output.Value()
	switch {
	case !known:
		return counted, 1, 1
	case counted:
		return true, 0, float64(n) / float64(sum)
	default:
		return false, float64(n) / float64(r.Chunks.Len()), 0
	}
}

// spreadSteps bounds the work for a request whose tokens are spread.
const spreadSteps = 1000

// spread yields output tokens evenly from First to Last, for a request whose
// chunks were not kept.
func spread(r *record.Record) iter.Seq2[time.Duration, float64] {
	return func(yield func(time.Duration, float64) bool) {
		first, ok := r.First.Since()
		n, known := r.Output.Value()
		if !ok || !known || n == 0 {
			return
		}
		span, _ := r.Last.Sub(r.First)
		steps := min(n, spreadSteps)
		for i := range steps {
			at := first
			if steps > 1 {
				at += time.Duration(float64(span) * float64(i) / float64(steps-1))
			}
			if !yield(at, float64(n)/float64(steps)) {
				return
			}
		}
	}
}
