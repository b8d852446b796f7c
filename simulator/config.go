package simulator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Config is what is simulated.
type Config struct {
	Pools   []Pool
	Streams []*workload.Stream // that come at the same time
	Cluster profiles.Cluster   // router, gateway, link, autoscaling, failures
	Seed    uint64             // of what happens in the cluster by chance

	// Requests of the first Warmup do not count. Sending ends Duration after it,
	// or with the Requests-th request after it, or with the last session of a
	// trace. Those in flight then have Drain to end; the rest is cut.
	Warmup   time.Duration
	Duration time.Duration
	Requests int
	Drain    time.Duration

	// Watch, if any, is shown the run now and then and says how it goes on.
	Watch func(Progress) Order

	Trace Observer // nil: nobody watches
}

// Pool is a number of equal replicas.
type Pool struct {
	Name     string
	Replicas int
	Kind     Kind
}

// Kind is one kind of replica: an engine as it is set up, and the times of its
// steps.
type Kind struct {
	Role      string // serve, prefill, decode; empty is serve
	Facts     cost.Facts
	Device    *profiles.Accelerator
	Constants cost.Constants
	Sched     sched.Config
	Blocks    int // of the pool, without the null block
	BlockSize int // tokens
	Serving   profiles.Serving
	Slowdown  float64 // factor on the time of steps; 0 is 1

	// KVBytesPerToken is what one accelerator holds of a token's cache.
	KVBytesPerToken float64
	Accelerators    int
	USDPerHour      float64 // of one replica; 0 is unknown
}

// Check reports what can not be simulated.
func (c *Config) Check() error {
	switch {
	case len(c.Streams) == 0:
		return errors.New("nothing is sent: expected a workload")
	case c.Requests == 0 && c.Duration <= 0 && slices.ContainsFunc(c.Streams, endless):
		return errors.New("the run has no end: expected a duration or a number of requests")
	}
	if err := c.checkTimes(); err != nil {
		return err
	}
	replicas := 0
	for _, p := range c.Pools {
		if err := p.Kind.check(); err != nil {
			if p.Name != "" {
				err = fmt.Errorf("pool %s: %w", p.Name, err)
			}
			return err
		}
		replicas += p.Replicas
	}
	if replicas < 1 {
		return errors.New("the cluster has no replica")
	}
	if c.scaled() {
		replicas = max(replicas, replicas-c.Pools[0].Replicas+c.Cluster.Autoscale.Max)
	}
	if replicas > mostReplicas {
		return fmt.Errorf("%d replicas are more than a simulation holds, %d: lower their number, or the load that it was planned for", replicas, mostReplicas)
	}
	return cmp.Or(c.checkRoles(), c.checkScaling(), c.checkFailures(replicas))
}

// mostReplicas is how many replicas a simulation holds: each takes up to a quarter of a
// megabyte, nearly all of it samples of its metrics, and all must not take more than
// about four gigabytes.
const mostReplicas = 16_000

// checkTimes reports a run that goes on beyond the end of virtual time.
func (c *Config) checkTimes() error {
	if c.Warmup < 0 || c.Duration < 0 || c.Drain < 0 {
		return fmt.Errorf("a warm-up of %v, a duration of %v and a drain of %v, expected no time below 0", c.Warmup, c.Duration, c.Drain)
	}
	if end := later(later(c.Warmup, c.Duration), c.Drain); end >= horizon {
		return fmt.Errorf("a warm-up of %v, a duration of %v and a drain of %v go beyond the end of virtual time, %v", c.Warmup, c.Duration, c.Drain, horizon)
	}
	return nil
}

// endless reports whether a stream never ends by itself.
func endless(s *workload.Stream) bool {
	_, finite := s.Len()
	return !finite
}

// Result is what a run tells beside its records.
type Result struct {
	Window record.Window
	Server []record.ServerSample // one page per replica, in order of time
	Spent  []record.Spent        // one per replica
	Steps  int64                 // of all replicas
	Events int64
	End    time.Duration // virtual time at which the last request ended

	// Fleet is how many replicas there were, one entry per change.
	Fleet []FleetChange
	// ReplicaSeconds and AcceleratorSeconds are what was paid for in the window,
	// replicas that start, drain or have crashed included; USDPerHour is the mean
	// over it, of the replicas whose price is known and of what the fallback was paid.
	ReplicaSeconds, AcceleratorSeconds, USDPerHour float64

	Gateway *record.Gateway // nil without one
}
