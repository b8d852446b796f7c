package fleet

import (
	"cmp"
	"slices"
	"time"
)

// State is an endpoint's health, in words.
type State string

// States of an endpoint.
const (
	Up      State = "up"
	Cooling State = "cooling" // it asked to be left alone, for a model at least
	Resting State = "resting" // it fails, and is left alone
	Probing State = "probing" // a request is trying it
)

// EndpointStatus is a picture of one endpoint. What its metrics do not say, or said
// too long ago, is nil.
type EndpointStatus struct {
	URL      string
	State    State
	InFlight int64
	Tokens   int64
	Full     bool
	Running  *float64
	Waiting  *float64
	KVUsage  *float64
	Age      *time.Duration // of what its metrics say
	Blocks   int            // of prompts that it should hold
}

// PoolStatus is a picture of a provider.
type PoolStatus struct {
	Provider  string
	Endpoints []EndpointStatus
	Waiting   map[string]int // by class; only those of which some wait
}

// Status returns a picture of all providers, by name.
func (f *Fleet) Status() []PoolStatus {
	f.mu.Lock()
	pools := make([]*Pool, 0, len(f.pools))
	for _, p := range f.pools {
		pools = append(pools, p)
	}
	f.mu.Unlock()
	slices.SortFunc(pools, func(a, b *Pool) int { return cmp.Compare(a.name, b.name) })
	status := make([]PoolStatus, len(pools))
	for i, p := range pools {
		status[i] = p.Status()
	}
	return status
}

// Status returns a picture of the pool.
func (p *Pool) Status() PoolStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	s := PoolStatus{Provider: p.name, Waiting: map[string]int{}}
	for w := range p.queue.All() {
		s.Waiting[w.want.Class]++
	}
	for _, e := range p.endpoints {
		s.Endpoints = append(s.Endpoints, e.status(now, &p.spec))
	}
	return s
}

func (e *Endpoint) status(now time.Duration, s *Spec) EndpointStatus {
	out := EndpointStatus{
		URL: e.URL, State: e.state(now), InFlight: e.inFlight, Tokens: e.tokens,
		Full: e.full(e.view(now), s), Blocks: e.index.Len(0),
	}
	if e.said.at != never && now-e.said.at <= stale*e.every {
		out.Age = new(now - e.said.at)
		out.Running, out.Waiting, out.KVUsage = known(e.said.running), known(e.said.waiting), known(e.said.usage)
	}
	return out
}

func (e *Endpoint) state(now time.Duration) State {
	switch {
	case e.well(now) && e.cools(now):
		return Cooling
	case e.well(now):
		return Up
	case e.judged(now):
		return Probing
	}
	return Resting
}

// cools tells whether the endpoint asked to be left alone, for any model.
func (e *Endpoint) cools(now time.Duration) bool {
	for model := range e.cool {
		if !e.cool.over(model, now) {
			return true
		}
	}
	return false
}

// known returns a number, or nil where there is none.
func known(v float64) *float64 {
	if v != v {
		return nil
	}
	return &v
}
