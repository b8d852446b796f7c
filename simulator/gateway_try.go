package simulator

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/reports/record"
)

// breaker is that of a replica.
func (g *gateway) breaker(p *replica) *health.Breaker {
	for len(g.breakers) <= p.index {
		g.breakers = append(g.breakers, health.NewBreaker(health.Unreliable()))
	}
	return g.breakers[p.index]
}

// fit tells whether a replica should be sent requests, while others are there.
func (g *gateway) fit(p *replica) bool { return g.breaker(p).Fit(g.f.s.now) }

// place begins a try at a replica that was chosen. When that one is known to fail,
// as then all are, the fallback goes before it.
func (g *gateway) place(r *request, p *replica) {
	if !g.fit(p) && g.provider.take(r) {
		return
	}
	now, w := g.f.s.now, r.passage
	if w.tries++; w.tries > 1 {
		g.count(&g.counts.Retried)
	}
	w.breaker = g.breaker(p)
	w.pass = w.breaker.Tried(now)
	g.f.try(r, p)
	if g.Timeout > 0 {
		w.deadline = now + g.Timeout
		g.f.s.agenda.plan(w.deadline, deadline{r})
	}
}

// deadline is the end of the time that a try has for its first token.
type deadline struct{ r *request }

func (d deadline) happen(s *sim) {
	r, g := d.r, s.front.gateway
	if r.ended || !r.held || r.produced > 0 || r.passage.deadline != s.now {
		return
	}
	g.count(&g.counts.TimedOut)
	r.passage.failed(s.now)
	r.replica.abort(r)
	g.f.release(r)
	r.why = fmt.Sprintf("no token within %s", g.Timeout)
	g.failed(r, record.HTTPFailure(504))
}

// lost is a request whose replica has died or broken off.
func (g *gateway) lost(r *request) {
	r.passage.failed(g.f.s.now)
	g.f.release(r)
	if r.produced > 0 {
		g.f.s.over(r, record.Failed, record.Truncated)
		return
	}
	g.failed(r, record.HTTPFailure(502))
}

// failed goes on after a try that came to nothing: with another one, as far as
// their number and the budget allow, else with the fallback, else not.
func (g *gateway) failed(r *request, failure record.Failure) {
	now, w := g.f.s.now, r.passage
	r.cached = -1
	if w.tries < g.Retry.Attempts {
		if g.budget == nil || g.budget.Retry(now) {
			chance := mix(g.f.s.config.Seed, uint64(r.id)<<8|uint64(w.tries&0xff))
			pause := health.Backoff(g.Retry.Backoff, w.tries, chance)
			// Not at once: the caller may be at work on what else is lost.
			g.f.s.agenda.plan(now+pause, another{r})
			return
		}
		g.count(&g.counts.Unretried)
	}
	if g.provider.take(r) {
		return
	}
	g.f.s.over(r, record.Failed, failure)
}

// another is a request whose next try is due.
type another struct{ r *request }

func (a another) happen(s *sim) {
	if !a.r.ended {
		s.front.gateway.dispatch(a.r)
	}
}

// answered tells the breaker of a try's replica that it answers, once.
func (w *passage) answered(now time.Duration) {
	if w.breaker != nil {
		w.breaker.Answered(now, w.pass)
		w.breaker = nil
	}
}

// failed tells it that it did not.
func (w *passage) failed(now time.Duration) {
	if w.breaker != nil {
		w.breaker.Failed(now, w.pass)
		w.breaker = nil
	}
}
