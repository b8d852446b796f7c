package simulator

import (
	"iter"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// provider is the fallback: somebody else's service, that answers at a constant
// pace, so many requests at once, for money per token.
type provider struct {
	profiles.Fallback
	s      *sim
	out    int // outages that are going on
	busy   int // requests that it answers
	counts *record.Provided
}

// stay is a request's time at the provider.
type stay struct {
	from   time.Duration
	ttft   time.Duration
	tpot   time.Duration
	tokens int // that have come; set at the end
}

// take hands a request to the provider, and reports whether it takes it. A nil
// provider takes none.
func (p *provider) take(r *request) bool {
	if p == nil || p.out > 0 || p.Concurrent > 0 && p.busy >= p.Concurrent {
		return false
	}
	p.busy++
	r.attempts++
	r.passage.provided = &stay{from: p.s.now, ttft: p.TTFT, tpot: p.TPOT}
	p.s.agenda.plan(later(later(p.s.now, p.TTFT), times(r.output-1, p.TPOT)), provided{r})
	return true
}

// provided is an answer of the provider's that is complete.
type provided struct{ r *request }

func (e provided) happen(s *sim) {
	if r := e.r; !r.ended {
		s.front.gateway.provider.leave(r)
		s.over(r, record.OK, "")
	}
}

// leave ends a request's stay: it has what has come by now.
func (p *provider) leave(r *request) {
	p.busy--
	y := r.passage.provided
	if y.tokens = y.by(p.s.now, r.output); y.tokens == 0 {
		return
	}
	r.produced = y.tokens
	r.first = y.from + y.ttft
	r.last = r.first + time.Duration(y.tokens-1)*y.tpot
	if p.s.measuring() {
		c := p.counts
		c.Requests++
		c.InputTokens += int64(r.prompt)
		c.OutputTokens += int64(y.tokens)
	}
}

// by is how many of so many tokens have come at a time.
func (y *stay) by(now time.Duration, output int) int {
	since := now - y.from - y.ttft
	switch {
	case since < 0:
		return 0
	case y.tpot <= 0:
		return output
	}
	return min(output, 1+int(since/y.tpot))
}

// breakOff ends all requests that the provider has. Nobody is left to try.
func (p *provider) breakOff() {
	for _, r := range p.s.inFlight(func(r *request) bool { return r.passage != nil && r.passage.provided != nil }) {
		p.leave(r)
		r.why = "the fallback failed"
		if r.produced > 0 {
			p.s.over(r, record.Failed, record.Truncated)
		} else {
			p.s.over(r, record.Failed, record.HTTPFailure(502))
		}
	}
}

// bill is what the provider has done for money.
func (p *provider) bill() {
	p.counts.USD = float64(float64(p.counts.InputTokens)*p.USDPer1MIn)/1e6 + float64(float64(p.counts.OutputTokens)*p.USDPer1MOut)/1e6
}

// Len implements record.Chunks: each token is an event.
func (y *stay) Len() int { return y.tokens }

// All implements record.Chunks.
func (y *stay) All() iter.Seq2[time.Duration, record.Count] {
	return func(yield func(time.Duration, record.Count) bool) {
		for i := range y.tokens {
			if !yield(y.from+y.ttft+time.Duration(i)*y.tpot, record.Counted(1)) {
				return
			}
		}
	}
}
