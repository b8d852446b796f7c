package simulator

import (
	"errors"
	"fmt"
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
	// or with the Requests-th request after it. Those in flight then have Drain to
	// end; the rest is cut.
	Warmup   time.Duration
	Duration time.Duration
	Requests int
	Drain    time.Duration

	// Observe sees each batch of each replica before it runs, one step at a time;
	// nil: nobody does. The batch is valid until Observe returns.
	Observe func(replica int, b *sched.Batch)
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

// check reports what can not be simulated.
func (c *Config) check() error {
	switch {
	case len(c.Streams) == 0:
		return errors.New("nothing is sent: expected a workload")
	case c.Requests == 0 && c.Duration <= 0:
		return errors.New("the run has no end: expected a duration or a number of requests")
	}
	replicas := 0
	for _, p := range c.Pools {
		if err := p.Kind.Sched.Validate(); err != nil {
			return fmt.Errorf("pool %s: %w", p.Name, err)
		}
		if p.Kind.Blocks < 1 || p.Kind.BlockSize < 1 {
			return fmt.Errorf("pool %s: a KV cache of %d blocks of %d tokens holds nothing", p.Name, p.Kind.Blocks, p.Kind.BlockSize)
		}
		replicas += p.Replicas
	}
	if replicas < 1 {
		return errors.New("the cluster has no replica")
	}
	return nil
}

// Result is what a run tells beside its records.
type Result struct {
	Window record.Window
	Server []record.ServerSample // one page per replica, in order of time
	Steps  int64                 // of all replicas
	Events int64
	End    time.Duration // virtual time at which the last request ended
}
