package study

import (
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/sizing"
)

// replicas is how many replicas of the scenario's own kind there are: as said, as
// many as the accelerators at hand make, else as the plan for this load has.
func (s *Study) replicas(served *sizing.Served) (int, error) {
	r := s.request.Sizing
	switch {
	case r.Scenario.Cluster.Replicas > 0:
		return r.Scenario.Cluster.Replicas, nil
	case r.Count > 0:
		return max(1, r.Count/served.Accelerators), nil
	case r.Scenario.Workload.Arrival.ClosedLoop():
		return 1, nil
	}
	plan, err := sizing.Compute(r)
	if err != nil {
		return 0, err
	}
	if !plan.Feasible {
		return 0, &CannotServe{plan.Reasons}
	}
	return plan.Fleet.Replicas, nil
}

func (s *Study) add(name string, n int, v *sizing.Served) {
	in := v.Inputs
	s.served = append(s.served, v)
	s.pools = append(s.pools, simulator.Pool{Name: name, Replicas: n, Kind: simulator.Kind{
		Facts: v.Facts, Device: v.Device, Constants: v.Constants,
		Sched: sched.Config{
			MaxNumSeqs: in.MaxNumSeqs * in.DataParallel, MaxNumBatchedTokens: in.MaxNumBatchedTokens * in.DataParallel,
			MaxModelLen: in.MaxModelLen, DisablePrefixCache: !in.PrefixCaching, ReserveFullPrompt: true,
		},
		Blocks: v.Blocks, BlockSize: in.BlockSize, Serving: s.request.Sizing.Scenario.Serving,
		KVBytesPerToken: v.KVBytesPerToken, Accelerators: v.Accelerators, USDPerHour: v.USDPerHour,
	}})
}
