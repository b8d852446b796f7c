package fleet

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

// Options are a fleet's dependencies.
type Options struct {
	Now    func() time.Duration // the clock of breakers, cool-downs and metrics, monotonic
	Client *http.Client         // for metrics
}

// Fleet is the pools of all providers. It reads metrics in goroutines of its own,
// which Close ends.
type Fleet struct {
	now    func() time.Duration
	client *http.Client

	mu       sync.Mutex
	pools    map[string]*Pool // by name and kind
	closed   bool
	scrapers sync.WaitGroup
}

// New returns a fleet without pools.
func New(o Options) *Fleet {
	client := *o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Fleet{now: o.Now, client: &client, pools: map[string]*Pool{}}
}

// Configure brings the fleet to what the specifications say, and returns their
// pools in the same order. A provider keeps its pool and its endpoints their state
// when name, kind and URL stay. A pool that is no longer named serves those who
// have it until they are done, and leaves nothing behind.
func (f *Fleet) Configure(specs []Spec) []*Pool {
	f.mu.Lock()
	defer f.mu.Unlock()
	pools := make([]*Pool, len(specs))
	named := make(map[string]*Pool, len(specs))
	for i, s := range specs {
		key := s.Name + "\x00" + s.Kind
		p := f.pools[key]
		if p == nil {
			p = newPool(s, f.now)
		}
		delete(f.pools, key)
		named[key], pools[i] = p, p
		f.apply(p, s)
	}
	for _, p := range f.pools {
		p.mu.Lock()
		p.silence(p.endpoints)
		p.mu.Unlock()
	}
	f.pools = named
	return pools
}

// apply configures one pool and the reading of its metrics.
func (f *Fleet) apply(p *Pool, s Spec) {
	p.mu.Lock()
	reread := p.spec.Metrics != s.Metrics || p.spec.Every != s.Every
	p.mu.Unlock()
	added, removed := p.configure(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silence(removed)
	if reread {
		p.silence(p.endpoints)
		added = p.endpoints
	}
	if s.Metrics == config.MetricsNone || f.closed {
		return
	}
	for _, e := range added {
		ctx, cancel := context.WithCancel(context.Background())
		e.stop = cancel
		f.scrapers.Go(func() { f.scrape(ctx, p, e, s.pages(e.URL), s.Every) })
	}
}

// silence ends the reading of endpoints' metrics, and forgets what they said. Who
// waits profits at once.
func (p *Pool) silence(endpoints []*Endpoint) {
	for _, e := range endpoints {
		if e.stop != nil {
			e.stop()
			e.stop = nil
		}
		e.said, e.room = said{at: never}, 0
	}
	p.pump(p.now())
}

// Close ends the reading of metrics and waits for it. Leases stay good, and those
// who wait go on waiting.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.closed = true
	for _, p := range f.pools {
		p.mu.Lock()
		p.silence(p.endpoints)
		p.mu.Unlock()
	}
	f.mu.Unlock()
	f.scrapers.Wait()
}
