package simulator

import (
	"cmp"
	"time"

	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/queue"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// gateway is what a cluster's gateway does with a request, in this order: the
// limits of its tenant, a wait for a replica with room, tries at replicas, the
// fallback.
type gateway struct {
	profiles.Gateway
	f        *front
	limiter  limit.Limiter
	scopes   map[string]*limit.Scope // of tenants
	queue    *queue.Queue[*request]
	breakers []*health.Breaker // of replicas, by index
	budget   *health.Budget    // nil: retries have no bound but their number
	provider *provider         // nil: there is no fallback
	counts   record.Gateway
}

// newGateway returns nil when the cluster has no gateway.
func newGateway(f *front) *gateway {
	c := f.s.config.Cluster.Gateway
	if c == (profiles.Gateway{}) {
		return nil
	}
	g := &gateway{
		Gateway: c, f: f, scopes: map[string]*limit.Scope{},
		queue: queue.New[*request](queue.Bounds{All: c.MaxQueue}),
	}
	if c.Retry.Budget > 0 {
		g.budget = health.NewBudget(c.Retry.Budget)
	}
	if c.Fallback.TTFT > 0 {
		g.counts.Fallback = &record.Provided{}
		g.provider = &provider{Fallback: c.Fallback, s: f.s, counts: g.counts.Fallback}
	}
	return g
}

// passage is a request's way through the gateway.
type passage struct {
	reservation *limit.Reservation      // nil: no limits
	ticket      *queue.Ticket[*request] // while it waits for a replica
	tries       int                     // that were begun

	// Of the present try:
	breaker  *health.Breaker // that has not heard of the outcome; nil when it has
	pass     health.Pass
	deadline time.Duration // for the first token
	provided *stay         // at the fallback; nil elsewhere
}

// admit is a request that comes in.
func (g *gateway) admit(r *request) {
	r.passage = &passage{}
	if !g.reserve(r) {
		g.count(&g.counts.Limited)
		g.f.refuse(r, record.HTTPFailure(429))
		return
	}
	if g.budget != nil {
		g.budget.Request(g.f.s.now)
	}
	g.dispatch(r)
}

// count counts what happens in the window.
func (g *gateway) count(n *int64) {
	if s := g.f.s; s.now >= s.config.Warmup && !s.known {
		*n++
	}
}

// reserve takes what the request may use from its tenant's limits.
func (g *gateway) reserve(r *request) bool {
	if g.Limits == (profiles.Limits{}) {
		return true
	}
	scope := g.scopes[r.session.Tenant]
	if scope == nil {
		scope = g.limiter.NewScope(cmp.Or(r.session.Tenant, "the tenant"), limit.Limits(g.Limits))
		g.scopes[r.session.Tenant] = scope
	}
	ask := limit.Ask{Tokens: limit.Tokens{Input: int64(r.prompt), Output: int64(r.output)}}
	reservation, err := g.limiter.Reserve(g.f.s.now, ask, scope)
	r.passage.reservation = reservation
	if err != nil {
		r.why = err.Error()
	}
	return err == nil
}

// over is a request that has ended. It settles its reservation by the rules of
// the live gateway: a request that failed before its first token costs nothing but
// a request, unless its user left while a replica was at work on it.
func (g *gateway) over(r *request, outcome record.Outcome) {
	p := r.passage
	switch {
	case outcome == record.OK || r.produced > 0:
		p.answered(g.f.s.now)
	case p.breaker != nil:
		p.breaker.Left(p.pass)
	}
	if p.reservation == nil {
		return
	}
	left := outcome == record.Cancelled || outcome == record.Cut
	if r.produced > 0 || left && (r.key != 0 || p.provided != nil) {
		p.reservation.Settle(g.f.s.now, limit.Use{Tokens: limit.Tokens{Input: int64(r.prompt), Output: int64(r.produced)}})
	} else {
		p.reservation.Abandon(g.f.s.now)
	}
}

// withdraw takes a request out of the queue or from the fallback.
func (g *gateway) withdraw(r *request) {
	p := r.passage
	if p.ticket != nil {
		g.queue.Remove(p.ticket)
		g.f.s.noteQueue()
		p.ticket = nil
	}
	if p.provided != nil {
		g.provider.leave(r)
	}
}

// settleGateway writes into the result what the gateway did, and what its fallback
// cost. Where the replicas have no price, the sum has none.
func (s *sim) settleGateway() {
	g := s.front.gateway
	if g == nil {
		return
	}
	r := &s.result
	r.Gateway = &g.counts
	if g.provider == nil {
		return
	}
	g.provider.bill()
	if length := float64(r.Window.End-r.Window.Start) / 1e9; r.USDPerHour > 0 && length > 0 {
		r.USDPerHour += g.counts.Fallback.USD * 3600 / length
	}
}
