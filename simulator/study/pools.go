package study

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/sizing"
)

// resolve fills in the pools of replicas: those of the cluster, or as many replicas
// of the scenario's own kind as it says. Its errors are bad input, or a
// *CannotServe.
func (s *Study) resolve() error {
	cluster := &s.request.Sizing.Scenario.Cluster
	if len(cluster.Pools) == 0 {
		if err := s.resolveOwn(); err != nil {
			return err
		}
	}
	for i := range cluster.Pools {
		if err := s.resolvePool(i, &cluster.Pools[i]); err != nil {
			return err
		}
	}
	s.resolveLink()
	if err := s.checkChunks(); err != nil {
		return err
	}
	return s.checkRequests()
}

// resolveOwn has all replicas be of the scenario's own kind.
func (s *Study) resolveOwn() error {
	r := s.request.Sizing
	served, err := serve(r, "")
	if err != nil {
		return err
	}
	n, err := s.replicas(served)
	if err != nil {
		return err
	}
	s.add(simulator.Pool{Replicas: n}, served, r.Scenario.Serving)
	return nil
}

// replicas is how many replicas of the scenario's own kind there are: as said, as
// many as the accelerators at hand make, as an autoscaler begins with, else as the
// plan for this load has.
func (s *Study) replicas(served *sizing.Served) (int, error) {
	r := s.request.Sizing
	scale := r.Scenario.Cluster.Autoscale
	switch {
	case r.Scenario.Cluster.Replicas > 0:
		return r.Scenario.Cluster.Replicas, nil
	case r.Count > 0:
		return r.Count / served.Accelerators, nil
	case scale.Metric != "":
		return max(1, scale.Min), nil
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
	s.planned = true
	return plan.Fleet.Replicas, nil
}

// resolvePool adds one pool of the cluster. What it does not say is as in the
// scenario.
func (s *Study) resolvePool(i int, p *profiles.Pool) error {
	name := cmp.Or(p.Name, p.Role, fmt.Sprintf("pool %d", i+1))
	served, err := serve(s.ofPool(p), name)
	if err != nil {
		return err
	}
	n := p.Replicas
	if scale := s.request.Sizing.Scenario.Cluster.Autoscale; n == 0 && i == 0 && scale.Metric != "" {
		n = scale.Min
	}
	s.add(simulator.Pool{
		Name: name, Replicas: max(1, n),
		Kind: simulator.Kind{Role: p.Role, Slowdown: p.Slowdown},
	}, served, p.Serving.Over(s.request.Sizing.Scenario.Serving))
	return nil
}

// ofPool is the request for a replica of a pool. Settings of the pool go before
// all others, those of the command line included: they are of all of the scenario.
func (s *Study) ofPool(p *profiles.Pool) sizing.Request {
	r := s.request.Sizing
	sc := &r.Scenario
	if p.Accelerator != "" && p.Accelerator != sc.Accelerator {
		sc.Accelerator = p.Accelerator
		sc.Price, r.AcceleratorMemory = profiles.Price{}, 0 // of the other one
	}
	sc.Engine = cmp.Or(p.Engine, sc.Engine)
	sc.Parallel = p.Parallel.Over(sc.Parallel)
	sc.Serving = p.Serving.Over(sc.Serving)
	r.WeightDType = cmp.Or(p.Serving.WeightDType, r.WeightDType)
	r.KVDType = cmp.Or(p.Serving.KVDType, r.KVDType)
	r.PrefixCaching = cmp.Or(p.Serving.PrefixCaching, r.PrefixCaching)
	r.GPUMemoryUtilization = cmp.Or(p.Serving.GPUMemoryUtilization, r.GPUMemoryUtilization)
	r.BlockSize = cmp.Or(p.Serving.BlockSize, r.BlockSize)
	r.MaxModelLen = cmp.Or(p.Serving.MaxModelLen, r.MaxModelLen)
	r.MaxNumSeqs = cmp.Or(p.Serving.MaxNumSeqs, r.MaxNumSeqs)
	r.MaxNumBatchedTokens = cmp.Or(p.Serving.MaxNumBatchedTokens, r.MaxNumBatchedTokens)
	r.KVCacheMemory = cmp.Or(p.Serving.KVCacheMemory, r.KVCacheMemory)
	r.Count = 0
	sc.Cluster = profiles.Cluster{}
	return r
}

// serve is one replica of a pool.
func serve(r sizing.Request, pool string) (*sizing.Served, error) {
	prefix := ""
	if pool != "" {
		prefix = fmt.Sprintf("pool %s: ", pool)
	}
	served, err := sizing.Serve(r)
	if err != nil {
		return nil, fmt.Errorf("%s%w", prefix, err)
	}
	if len(served.Reasons) > 0 {
		reasons := slices.Clone(served.Reasons)
		for i := range reasons {
			reasons[i] = prefix + reasons[i]
		}
		return nil, &CannotServe{reasons}
	}
	return served, nil
}

// add appends a pool with what sizing and the settings say of its kind.
func (s *Study) add(p simulator.Pool, v *sizing.Served, serving profiles.Serving) {
	in, k := v.Inputs, &p.Kind
	k.Facts, k.Device, k.Constants = v.Facts, v.Device, v.Constants
	k.Blocks, k.BlockSize, k.Serving = v.Blocks, in.BlockSize, serving
	k.KVBytesPerToken, k.Accelerators, k.USDPerHour = v.KVBytesPerToken, v.Accelerators, v.USDPerHour
	k.Sched = sched.Config{
		MaxNumSeqs: in.MaxNumSeqs * in.DataParallel, MaxNumBatchedTokens: in.MaxNumBatchedTokens * in.DataParallel,
		MaxModelLen: in.MaxModelLen, DisablePrefixCache: !in.PrefixCaching, ReserveFullPrompt: true,
		LongPrefillTokenThreshold: serving.LongPrefillTokenThreshold, DisableChunkedPrefill: serving.ChunkedPrefill == "off",
	}
	if serving.Policy == "priority" {
		k.Sched.Policy = sched.Priority
	}
	if k.Sched.DisableChunkedPrefill && serving.MaxNumBatchedTokens == 0 && s.request.Sizing.MaxNumBatchedTokens == 0 {
		// vLLM's default without chunks: a step takes the longest prompt whole.
		k.Sched.MaxNumBatchedTokens = max(k.Sched.MaxNumBatchedTokens, in.MaxModelLen)
	}
	s.served = append(s.served, v)
	s.pools = append(s.pools, p)
}

// resolveLink fills in the network between pools: the slower of the accelerators'.
func (s *Study) resolveLink() {
	link := &s.request.Sizing.Scenario.Cluster.Link
	if link.BandwidthPerS > 0 || !slices.ContainsFunc(s.pools, func(p simulator.Pool) bool { return p.Kind.Role == "decode" }) {
		return
	}
	for _, p := range s.pools {
		if rate := p.Kind.Device.Network(); link.BandwidthPerS == 0 || rate < link.BandwidthPerS {
			link.BandwidthPerS = rate
		}
	}
}
