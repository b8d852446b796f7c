package fleet

import (
	"slices"
	"sync"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/gateway/queue"
	"github.com/llmctl/llmctl/gateway/route"
)

// Pool is a provider's endpoints and the requests that wait for one of them. It
// is safe for concurrent use.
type Pool struct {
	name string
	now  func() time.Duration

	mu         sync.Mutex // makes a pick and its count one step
	spec       Spec
	endpoints  []*Endpoint
	queue      *queue.Queue[*waiter]
	turn       uint64
	candidates []route.Endpoint // reused, for a pick
	wait       mean             // of those that got a place after waiting
}

func newPool(s Spec, now func() time.Duration) *Pool {
	return &Pool{name: s.Name, now: now, queue: queue.New[*waiter](queue.Bounds{})}
}

// ByPrefix tells whether picks go by the beginnings of prompts.
func (p *Pool) ByPrefix() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spec.Policy == config.PolicyPrefixAffinity
}

// configure brings the pool to what a specification says. Endpoints that stay keep
// their state; it returns those that are new and those that go. Who waits leaves where
// bounds are lower.
func (p *Pool) configure(s Spec) (added, removed []*Endpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.spec
	p.spec = s
	var kept []*Endpoint
	for _, u := range s.URLs {
		i := slices.IndexFunc(p.endpoints, func(e *Endpoint) bool { return e.URL == u })
		if i < 0 {
			e := newEndpoint(u, &s)
			added = append(added, e)
			kept = append(kept, e)
			continue
		}
		e := p.endpoints[i]
		if s.Unanswered != old.Unanswered {
			e.dead = health.NewBreaker(s.Unanswered)
		}
		if s.Unreliable != old.Unreliable {
			e.shaky = health.NewBreaker(s.Unreliable)
		}
		kept = append(kept, e)
	}
	for _, e := range p.endpoints {
		if !slices.Contains(kept, e) {
			removed = append(removed, e)
		}
	}
	for _, e := range kept {
		e.every = s.Every
	}
	p.endpoints, p.candidates = kept, make([]route.Endpoint, len(kept))
	for _, shed := range p.queue.Bound(s.bounds()) {
		p.drop(shed.Value, QueueFull, p.now())
	}
	return added, removed
}

// verdict is what the pool can do for a request at a moment.
type verdict uint8

const (
	placed    verdict = iota // an endpoint takes it
	later                    // one may take it soon
	busy                     // one may, but the request does not wait
	unhealthy                // all that are left to it are to be left alone
	exhausted                // it has tried all of them
)

// choose picks the endpoint that takes a request; early tells that it is not fit,
// but that no other one is.
func (p *Pool) choose(w *Want, now time.Duration) (e *Endpoint, early bool, v verdict) {
	allowed, fit, open, judged := 0, 0, 0, false
	for i, e := range p.endpoints {
		c := &p.candidates[i]
		*c = route.Endpoint{Tried: true}
		if w.excludes(e) {
			continue
		}
		allowed++
		judged = judged || e.judged(now)
		if !e.fit(w.Model, now) {
			continue
		}
		fit++
		if p.weigh(c, e, w, now) {
			open++
		}
	}
	switch {
	case open > 0:
		return p.pick(), false, placed
	case fit > 0:
		return nil, false, later
	case allowed == 0:
		return nil, false, exhausted
	}
	for i, e := range p.endpoints {
		if !w.excludes(e) && e.tryable(w.Model, now) && p.weigh(&p.candidates[i], e, w, now) {
			open++
		}
	}
	switch {
	case open > 0:
		return p.pick(), true, placed
	case judged:
		return nil, false, later
	}
	return nil, false, unhealthy
}

// weigh fills in what a pick goes by, and reports whether the endpoint has room.
func (p *Pool) weigh(c *route.Endpoint, e *Endpoint, w *Want, now time.Duration) bool {
	v := e.view(now)
	if e.full(v, &p.spec) {
		return false
	}
	*c = route.Endpoint{Load: v.load, Waiting: v.waiting, Usage: v.usage, Resting: slices.Contains(w.Avoid, e)}
	if p.spec.Policy == config.PolicyPrefixAffinity {
		c.Match = e.index.Match(0, w.Prompt)
	}
	return true
}

// pick applies the policy to the candidates, of which there are some.
func (p *Pool) pick() *Endpoint {
	turn := p.turn
	p.turn++
	switch p.spec.Policy {
	case config.PolicyPrefixAffinity:
		return p.endpoints[route.PrefixAffinity(p.candidates, p.spec.LoadCap, turn)]
	case config.PolicyRoundRobin:
		return p.endpoints[route.RoundRobin(p.candidates, turn)]
	}
	return p.endpoints[route.LeastLoaded(p.candidates, turn)]
}

// place gives a request a place at an endpoint, if one takes it.
func (p *Pool) place(w *Want, now time.Duration) (*Lease, verdict) {
	e, early, v := p.choose(w, now)
	if v != placed {
		return nil, v
	}
	l := &Lease{pool: p, endpoint: e, model: w.Model, tokens: w.Tokens, early: early}
	e.inFlight++
	e.tokens += w.Tokens
	if early {
		e.trials++
	}
	l.dead, l.shaky = e.dead, e.shaky
	l.deadPass, l.shakyPass = e.dead.Tried(now), e.shaky.Tried(now)
	if p.spec.Policy == config.PolicyPrefixAffinity && len(w.Prompt) > 0 {
		e.index.Insert(0, w.Prompt) // at once, so that requests which come together go together
	}
	return l, placed
}

// stirred tells whether anything can happen to those who wait: an endpoint takes
// one more, or nothing is left to wait for.
func (p *Pool) stirred(now time.Duration) bool {
	for _, e := range p.endpoints {
		if e.well(now) && !e.full(e.view(now), &p.spec) {
			return true
		}
	}
	return !p.hopeful(now)
}

// hopeful tells whether an endpoint is fit, or may soon be found to be.
func (p *Pool) hopeful(now time.Duration) bool {
	return slices.ContainsFunc(p.endpoints, func(e *Endpoint) bool { return e.well(now) || e.judged(now) })
}

// despair refuses all who wait, when the last endpoint that they could hope for
// did not answer: each of them would only find out the same.
func (p *Pool) despair(now time.Duration) {
	if p.hopeful(now) {
		return
	}
	for w, ok := p.queue.Pop(); ok; w, ok = p.queue.Pop() {
		p.drop(w, Unhealthy, now)
	}
}

// pump gives places to those who wait, in the order of the queue, and refuses
// those who wait in vain. It wakes nobody else.
func (p *Pool) pump(now time.Duration) {
	for p.queue.Len() > 0 && p.stirred(now) {
		var lease *Lease
		var v verdict
		w, ok := p.queue.PopFunc(func(w *waiter) bool {
			lease, v = p.place(&w.want, now)
			return v != later
		})
		switch {
		case !ok:
			return
		case lease != nil:
			lease.Waited = now - w.since
			p.wait.add(lease.Waited, now)
			w.grant(lease)
		default:
			p.drop(w, reasonOf(v), now)
		}
	}
}
