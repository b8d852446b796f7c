package sizing

import (
	"math"
	"slices"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// Served is one replica as a simulation needs it: what its engine holds, its
// limits, and what its steps last by.
type Served struct {
	Inputs    Inputs
	Memory    Memory
	Facts     cost.Facts
	Device    *profiles.Accelerator
	Constants cost.Constants

	// Blocks is what requests can use of the pool, in blocks of Inputs.BlockSize
	// tokens, all data-parallel ranks together: without the engine's null block. A
	// model whose layers hold less than all of a sequence has a pool as large as holds
	// as many of the workload's requests.
	Blocks          int
	KVBytesPerToken float64 // on one accelerator
	Accelerators    int
	USDPerHour      float64 // 0 is unknown

	Assumptions []Assumption
	Warnings    []Warning // of the model, the accelerator and the engine; none of plans
	Reasons     []string  // why it can not serve; the rest is then of no use

	replica  replica
	limits   limits
	sloGiven bool
}

// Serve resolves a request as Compute does, without planning for an objective. An
// error is bad input.
func Serve(r Request) (*Served, error) {
	s, l, err := settle(r)
	if err != nil {
		return nil, err
	}
	memory, m := s.fit(l)
	out := &Served{Inputs: s.inputs, Memory: memory, Device: s.device, Reasons: s.memoryReasons(memory, l, m)}
	if len(out.Reasons) > 0 {
		return out, nil
	}
	replica := s.newReplica(memory, m)
	out.replica, out.limits, out.sloGiven = replica, s.limits, s.sloGiven
	out.Facts, out.Constants = replica.facts, replica.constants
	out.Blocks = s.uniformBlocks(memory, l, m)
	in := s.inputs
	ranks := in.TensorParallel * in.PipelineParallel * in.DataParallel
	out.Accelerators = ranks
	out.KVBytesPerToken = float64(shape.KVBytesPerToken(s.model, s.kv, in.TensorParallel))
	out.USDPerHour = in.USDPerAcceleratorHour * float64(ranks)
	out.Assumptions = s.assumptions
	out.Warnings = slices.DeleteFunc(slices.Clone(s.warnings), func(w Warning) bool { return slices.Contains(ofPlans, w.Code) })
	return out, nil
}

// ofPlans are the codes of warnings about what a plan makes of a load, an objective
// or a cluster. They are of no replica.
var ofPlans = []string{
	"attainment", "bursts", "cancelled", "cluster-not-planned", "default-slo", "disaggregate", "peak-rate", "serving-not-planned", "slo-class",
	"tight-slo", "trace", "users",
}

// uniformBlocks is the pool as blocks that each hold some tokens of all layers: as
// many as hold the same number of the workload's requests.
func (s *situation) uniformBlocks(memory Memory, l layout, m mix) int {
	tokens := m.context()
	each := tokens/float64(s.inputs.BlockSize) + 0.5 // the last block is half full on average
	blocks := float64(memory.KVCacheBlocks-int64(s.engine.NullBlocks)) * each / l.average(tokens)
	return int(min(math.Round(blocks*float64(s.inputs.DataParallel)), math.MaxInt32-1))
}

// ClosedE2E is about how long a request takes from end to end, in seconds, when so
// many clients keep the replica busy, each with one request after another.
func (v *Served) ClosedE2E(clients float64) float64 { return v.replica.closedLoop(clients).e2e() }

// LargestRate is about how many requests per second one replica serves at most,
// whatever they take.
func (v *Served) LargestRate() float64 {
	rate, _ := v.replica.quickRate(limits{quantile: v.limits.quantile})
	return rate
}

// Relaxed are the bounds of a default objective that not even lone requests meet,
// with what a plan takes in their place; none of an objective that was given.
func (v *Served) Relaxed() []RelaxedBound {
	if v.sloGiven {
		return nil
	}
	return v.limits.raise(v.replica)
}
