package simulator

import (
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// Observer sees what the replicas do, in order of time. What it is handed belongs
// to the scheduler and is good until it returns. A run that is observed goes step
// by step, and gives the same records as one that is not.
type Observer interface {
	// Queued is a request that has come to a replica, whose scheduler knows it as
	// key until it has left.
	Queued(at time.Duration, replica int, key sched.ID, request int64)
	// Step is a step that begins and will take some time, and the scheduler's
	// gauges and counters once it was composed.
	Step(at, took time.Duration, replica int, b *sched.Batch, st sched.Stats)
	// Left is a request that its replica no longer has: answered, or taken back.
	Left(at time.Duration, replica int, key sched.ID, answered bool)
	// Happened is what befell a replica. One that crashes or leaves has lost what it
	// had.
	Happened(at time.Duration, replica int, what Change)
}

// Change is what can befall a replica.
type Change string

// Changes, in the words of a trace.
const (
	Starts  Change = "starts" // serves after a delay
	Serves  Change = "serves"
	Crashes Change = "crashes"
	Leaves  Change = "leaves"
)

// tell has whoever watches know of a change.
func (s *sim) tell(p *replica, what Change) {
	if t := s.config.Trace; t != nil {
		t.Happened(s.now, p.index, what)
	}
}
