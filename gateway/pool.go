package gateway

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/gateway/route"
)

// pool is a provider's endpoints and how they fare. It outlives configurations.
type pool struct {
	mu         sync.Mutex // makes a pick and its count one step
	turn       uint64
	endpoints  []*endpoint
	candidates []route.Endpoint // scratch for a pick
}

type endpoint struct {
	base     string // URL without /v1
	host     string // for logs and metrics
	inFlight atomic.Int64
	breaker  *health.Breaker // guarded by the pool's mu
}

// set replaces the endpoints; those that stay keep what is known of them. The
// URLs were checked before.
func (p *pool) set(urls []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.endpoints
	p.endpoints = nil
	for _, text := range urls {
		u, err := config.ParseEndpoint(text)
		if err != nil {
			panic("an endpoint that was not checked") // a fault of the program
		}
		i := slices.IndexFunc(old, func(e *endpoint) bool { return e.base == u.String() })
		if i >= 0 {
			p.endpoints = append(p.endpoints, old[i])
			continue
		}
		p.endpoints = append(p.endpoints, &endpoint{base: u.String(), host: u.Host, breaker: health.NewBreaker(health.Unanswered())})
	}
	p.candidates = make([]route.Endpoint, len(p.endpoints))
}

// list returns the endpoints of now.
func (p *pool) list() []*endpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.endpoints)
}

// acquire picks the fit endpoint with the fewest requests in flight and counts
// one more; the caller takes it off again, and tells judge how it went. Endpoints
// that this request tried before are left out; with none left the answer is nil.
func (p *pool) acquire(now time.Duration, tried []*endpoint) (*endpoint, health.Pass) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, e := range p.endpoints {
		p.candidates[i] = route.Endpoint{
			Load: e.inFlight.Load(), Resting: !e.breaker.Fit(now), Tried: slices.Contains(tried, e),
		}
	}
	i := route.LeastLoaded(p.candidates, p.turn)
	if i < 0 {
		return nil, health.Pass{}
	}
	p.turn++
	e := p.endpoints[i]
	e.inFlight.Add(1)
	return e, e.breaker.Tried(now)
}

// judge notes how a request fared at its endpoint. No failure of the endpoint's is
// one of which the client or the gateway itself was the reason.
func (p *pool) judge(e *endpoint, pass health.Pass, answered, failed bool, now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case answered:
		e.breaker.Answered(now, pass)
	case failed:
		e.breaker.Failed(now, pass)
	default:
		e.breaker.Left(pass)
	}
}

func (e *endpoint) release() { e.inFlight.Add(-1) }
