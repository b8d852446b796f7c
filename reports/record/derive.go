package record

import "time"

// The derived times of one request, as docs/metrics.md defines them. Each is
// absent (ok is false) when a moment that it needs was not measured.

// TTFT is the time to first token: First − Sent.
func (r *Record) TTFT() (time.Duration, bool) { return r.First.Sub(r.Sent) }

// TTFTFromSchedule is First − Scheduled: what the user of an open loop felt,
// the client's own lateness included.
func (r *Record) TTFTFromSchedule() (time.Duration, bool) { return r.First.Sub(r.Scheduled) }

// TTFO is the time to first visible output: FirstVisible − Sent.
func (r *Record) TTFO() (time.Duration, bool) { return r.FirstVisible.Sub(r.Sent) }

// E2E is Last − Sent.
func (r *Record) E2E() (time.Duration, bool) { return r.Last.Sub(r.Sent) }

// E2EToClose is Closed − Sent, which includes what the server says after its
// last output.
func (r *Record) E2EToClose() (time.Duration, bool) { return r.Closed.Sub(r.Sent) }

// Lag is Sent − Scheduled, the client's own lateness.
func (r *Record) Lag() (time.Duration, bool) { return r.Sent.Sub(r.Scheduled) }

// FirstTokens is the number of tokens in the first event with output; known is
// false when the server did not say, and then it is taken to be 1.
func (r *Record) FirstTokens() (k int, known bool) {
	// What a load test or a simulation records is asked for several times per
	// request; this way costs nothing.
	switch c := r.Chunks.(type) {
	case *MeasuredChunks:
		if len(c.Tokens) > 0 && c.Tokens[0] >= 0 {
			return int(c.Tokens[0]), true
		}
		return 1, false
	case *StepChunks:
		return 1, len(c.Spans) > 0
	}
	if r.Chunks != nil {
		for _, tokens := range r.Chunks.All() {
			if n, ok := tokens.Value(); ok {
				return n, true
			}
			break
		}
	}
	return 1, false
}

// TPOT is the time per output token after the first event: (Last − First) /
// (N − k) with N output tokens, k of them in the first event. It is absent when
// N ≤ k.
func (r *Record) TPOT() (time.Duration, bool) {
	span, ok := r.Last.Sub(r.First)
	n, counted := r.Output.Value()
	k, _ := r.FirstTokens()
	if !ok || !counted || n <= k {
		return 0, false
	}
	return span / time.Duration(n-k), true
}

// End is the moment at which the request was over for the client: the latest of
// its moments.
func (r *Record) End() Moment {
	return max(r.Sent, r.Wrote, r.FirstByte, r.First, r.FirstVisible, r.Last, r.Finished, r.Closed)
}
