package sizing

import (
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// settled is the request with what the scenario says of its engine and of the number
// of its replicas, where the request says nothing itself.
func (r Request) settled() Request {
	s := r.Scenario.Serving
	r.WeightDType = said(r.WeightDType, s.WeightDType)
	r.KVDType = said(r.KVDType, s.KVDType)
	r.PrefixCaching = said(r.PrefixCaching, s.PrefixCaching)
	r.GPUMemoryUtilization = said(r.GPUMemoryUtilization, s.GPUMemoryUtilization)
	r.BlockSize = said(r.BlockSize, s.BlockSize)
	r.MaxModelLen = said(r.MaxModelLen, s.MaxModelLen)
	r.MaxNumSeqs = said(r.MaxNumSeqs, s.MaxNumSeqs)
	r.MaxNumBatchedTokens = said(r.MaxNumBatchedTokens, s.MaxNumBatchedTokens)
	r.KVCacheMemory = said(r.KVCacheMemory, s.KVCacheMemory)
	if p := r.Scenario.Parallel; r.Count == 0 && p.Validate() == nil {
		r.Count = r.Scenario.Cluster.Replicas * max(1, p.Tensor) * max(1, p.Pipeline) * max(1, p.Data)
	}
	return r
}

// said is the first of two settings that was said, or zero.
func said[T comparable](own, scenario T) T {
	var zero T
	if own != zero {
		return own
	}
	return scenario
}

// warnOfServing names what a closed form leaves out of how the scenario is served.
func (s *situation) warnOfServing(sc profiles.Scenario) {
	if left := leftOut(sc.Serving); len(left) > 0 {
		s.warn("serving-not-planned", "the plan leaves out %s: llmctl simulate runs the engine's scheduler with it", strings.Join(left, ", "))
	}
	var parts []string
	for _, part := range []struct {
		name string
		said bool
	}{
		{"pools", len(sc.Cluster.Pools) > 0},
		{"the gateway", sc.Cluster.Gateway != profiles.Gateway{}},
		{"autoscaling", sc.Cluster.Autoscale != profiles.Autoscale{}},
		{"failures", len(sc.Cluster.Failures) > 0},
		{"the further workloads", len(sc.Also) > 0},
	} {
		if part.said {
			parts = append(parts, part.name)
		}
	}
	if len(parts) > 0 {
		s.warn("cluster-not-planned", "the plan is for one workload and equal replicas, and leaves out %s: llmctl simulate has them in", strings.Join(parts, ", "))
	}
}

// leftOut words the settings of an engine that a plan does not know. Those that say
// what the engine does by itself are none.
func leftOut(s profiles.Serving) []string {
	for _, f := range []struct {
		setting *string
		usual   string
	}{
		{&s.ChunkedPrefill, "on"}, {&s.Policy, "fcfs"}, {&s.CacheSalt, "none"}, {&s.Batching, "continuous"}, {&s.KVLayout, "paged"},
	} {
		if *f.setting == f.usual {
			*f.setting = ""
		}
	}
	return profiles.Serving{
		ChunkedPrefill: s.ChunkedPrefill, LongPrefillTokenThreshold: s.LongPrefillTokenThreshold, Policy: s.Policy, CacheSalt: s.CacheSalt,
		Batching: s.Batching, KVLayout: s.KVLayout, Speculative: s.Speculative, Offload: s.Offload,
	}.Settings()
}
