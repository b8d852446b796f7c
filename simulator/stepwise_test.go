package simulator

import (
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// stepwise watches a run so that it goes step by step, for tests that go from event
// to event.
type stepwise struct{}

func (stepwise) Queued(time.Duration, int, sched.ID, int64)                        {}
func (stepwise) Step(time.Duration, time.Duration, int, *sched.Batch, sched.Stats) {}
func (stepwise) Left(time.Duration, int, sched.ID, bool)                           {}
func (stepwise) Happened(time.Duration, int, Change)                               {}
