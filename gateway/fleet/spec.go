package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/gateway/queue"
	"github.com/llmctl/llmctl/gateway/route"
)

// Spec is what a configuration says of a provider's endpoints.
type Spec struct {
	Name string
	Kind string   // the protocol; a provider that changes it is another one
	URLs []string // base URLs, without /v1

	Policy  string  // config.PolicyLeastLoaded and so on
	LoadCap float64 // of prefix affinity

	InFlight  int64   // requests at an endpoint at once; 0: no bound
	ShedQueue int64   // requests that wait in an engine, from which on it takes no more; 0: no bound
	ShedUsage float64 // share of its KV cache in use, likewise; 0: no bound

	Unanswered health.Rules // for connections that fail
	Unreliable health.Rules // for answers that fail

	MaxQueue     int
	QueueTimeout time.Duration
	Classes      map[string]Class // by name; a class that is not listed has the zero value

	Metrics string        // whose they are; config.MetricsNone reads none
	Every   time.Duration // between two readings
}

// Class bounds what waits of a latency class at one provider.
type Class struct {
	Priority     int           // smaller goes first
	MaxQueue     int           // 0: only the provider's bound
	QueueTimeout time.Duration // 0: only the provider's
}

// NewSpec reads a provider's part of a configuration that was checked before.
func NewSpec(p config.Provider, classes []config.Class) (Spec, error) {
	s := Spec{
		Name: p.Name, Kind: p.Protocol(),
		Policy: p.Policy(), LoadCap: route.DefaultLoadCap,
		InFlight: int64(p.InFlight), ShedQueue: int64(p.Shed.Queue), ShedUsage: p.Shed.KVUsage,
		Unanswered: health.Unanswered(), Unreliable: unreliable(p.Breaker),
		MaxQueue:     int(cmp.Or(p.MaxQueue, config.DefaultMaxQueue)),
		QueueTimeout: time.Duration(cmp.Or(p.QueueTimeout, config.Duration(config.DefaultQueueTimeout))),
		Metrics:      cmp.Or(p.Metrics, config.MetricsNone),
		Every:        time.Duration(cmp.Or(p.MetricsEvery, config.Duration(config.DefaultMetricsEvery))),
		Classes:      map[string]Class{},
	}
	s.Unanswered.Open, s.Unanswered.Probes = s.Unreliable.Open, s.Unreliable.Probes
	if p.Router.LoadCap != nil {
		s.LoadCap = *p.Router.LoadCap
	}
	for _, u := range p.URLs() {
		parsed, err := config.ParseEndpoint(u)
		if err != nil {
			return Spec{}, fmt.Errorf("provider %q: %w", p.Name, err)
		}
		s.URLs = append(s.URLs, parsed.String())
	}
	for _, c := range classes {
		s.Classes[c.Name] = Class{Priority: c.Priority, MaxQueue: int(c.MaxQueue), QueueTimeout: time.Duration(c.QueueTimeout)}
	}
	return s, nil
}

// unreliable fills the rules that a configuration leaves out.
func unreliable(b config.Breaker) health.Rules {
	r := health.Unreliable()
	r.Window = cmp.Or(time.Duration(b.Window), r.Window)
	r.MinRequests = cmp.Or(int64(b.MinRequests), r.MinRequests)
	r.FailureRate = cmp.Or(b.FailureRate, r.FailureRate)
	r.Open = cmp.Or(time.Duration(b.Open), r.Open)
	r.Probes = cmp.Or(int(min(b.Probes, math.MaxInt32)), r.Probes)
	return r
}

// bounds are those of the provider's queue. Classes of one priority share the sum
// of their bounds; one without a bound leaves them all without.
func (s *Spec) bounds() queue.Bounds {
	b := queue.Bounds{All: s.MaxQueue, Priority: map[int]int{}}
	free := map[int]bool{}
	for _, c := range s.Classes {
		b.Priority[c.Priority] += c.MaxQueue
		free[c.Priority] = free[c.Priority] || c.MaxQueue == 0
	}
	for priority := range free {
		if free[priority] {
			delete(b.Priority, priority)
		}
	}
	return b
}

// patience is how long a request of the class may wait.
func (s *Spec) patience(class Class) time.Duration {
	if class.QueueTimeout > 0 {
		return min(class.QueueTimeout, s.QueueTimeout)
	}
	return s.QueueTimeout
}

// pages are the addresses at which an endpoint may have its metrics, the likely
// one first: at the usual place, trtllm-serve has a page of another kind.
func (s *Spec) pages(url string) []string {
	pages := []string{url + "/metrics", url + "/prometheus/metrics"}
	if s.Metrics == "trtllm" {
		slices.Reverse(pages)
	}
	return pages
}
