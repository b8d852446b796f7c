package gateway

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// phase is how far a request has got.
type phase string

const (
	phaseArrived   phase = "arrived"
	phaseAdmission phase = "admission" // it waits for an endpoint, or for its next try
	phaseFirst     phase = "first token"
	phaseStreaming phase = "streaming"
)

// live is a request that is being served, as others may look at it meanwhile.
type live struct {
	id    string
	began time.Time

	mu         sync.Mutex
	phase      phase
	tenant     string
	alias      string
	deployment string

	output atomic.Int64 // tokens, counted by events
}

// LiveRequest is a request that is being served.
type LiveRequest struct {
	ID         string        `json:"id"`
	Tenant     string        `json:"tenant,omitempty"`
	Alias      string        `json:"alias,omitempty"`
	Deployment string        `json:"deployment,omitempty"`
	Phase      string        `json:"phase"`
	Age        time.Duration `json:"-"`
	AgeS       float64       `json:"age_s"`
	Output     int64         `json:"output_tokens"` // so far
}

// lives are the requests that are being served.
type lives struct {
	mu  sync.Mutex
	all map[*live]struct{}
}

func (l *lives) add(r *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*live]struct{}{}
	}
	l.all[r] = struct{}{}
}

func (l *lives) remove(r *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, r)
}

// list returns the oldest n requests of all, and how many there are.
func (l *lives) list(now time.Time, n int) (oldest []LiveRequest, all int) {
	l.mu.Lock()
	requests := make([]*live, 0, len(l.all))
	for r := range l.all {
		requests = append(requests, r)
	}
	l.mu.Unlock()
	slices.SortFunc(requests, func(a, b *live) int {
		return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.id, b.id))
	})
	oldest = []LiveRequest{}
	for _, r := range requests[:min(n, len(requests))] {
		oldest = append(oldest, r.snapshot(now))
	}
	return oldest, len(requests)
}

func (r *live) snapshot(now time.Time) LiveRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	age := max(0, now.Sub(r.began))
	return LiveRequest{
		ID: r.id, Tenant: r.tenant, Alias: r.alias, Deployment: r.deployment, Phase: string(r.phase),
		Age: age, AgeS: age.Seconds(), Output: r.output.Load(),
	}
}

// enter notes that the request has got to a phase.
func (x *exchange) enter(p phase) {
	tenant, alias := x.labels()
	deployment := ""
	if x.try != nil {
		deployment = x.try.target.name
	}
	r := x.live
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase, r.tenant, r.alias, r.deployment = p, tenant, alias, deployment
	if p != phaseStreaming {
		r.output.Store(0)
	}
}
