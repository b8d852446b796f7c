package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// TimeModel is what the times of a request rest on: what a step moves and
// computes, on which device, with which constants, and how many sequences run
// at once. Load's lengths are means in tokens; its Concurrency is that of the
// request, 0 when it has none.
type TimeModel struct {
	Inputs    Inputs
	Facts     cost.Facts
	Device    *profiles.Accelerator
	Constants cost.Constants
	Load      cost.ClosedLoad
}

// NewTimeModel resolves a request as Compute does, without planning for an
// objective. An error is bad input, or says that the model does not fit.
func NewTimeModel(r Request) (TimeModel, error) {
	s, l, err := settle(r)
	if err != nil {
		return TimeModel{}, err
	}
	memory, m := s.fit(l)
	if memory.KVCacheBlocks <= 0 || memory.MixSequences < 1 {
		return TimeModel{}, fmt.Errorf("%s does not fit %s: not one request of %.0f tokens finds room", s.model.Name, s.device.Name, m.input+m.output)
	}
	replica := s.newReplica(memory, m)
	return TimeModel{
		Inputs: s.inputs, Facts: replica.facts, Device: s.device, Constants: replica.constants,
		Load: replica.closedLoad(float64(s.inputs.Concurrency)),
	}, nil
}

// ClosedLoop is the steady state of one replica under its closed load.
func (t TimeModel) ClosedLoop() cost.Loop {
	return cost.ClosedLoop(t.Facts, t.Device, t.Constants, t.Load)
}
