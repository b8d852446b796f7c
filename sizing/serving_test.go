package sizing

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// served is a request whose scenario says how its engine is set up.
func served(change func(*Request)) Request {
	return scenario(func(r *Request) {
		r.Scenario.Workload.Arrival = rps(20)
		r.Scenario.Serving = profiles.Serving{
			MaxNumSeqs: 64, MaxNumBatchedTokens: 4096, MaxModelLen: 16_384, BlockSize: 32, GPUMemoryUtilization: 0.8, KVDType: "fp8", WeightDType: "fp8", PrefixCaching: "off",
		}
		if change != nil {
			change(r)
		}
	})
}

// TestScenarioServing: what a scenario says is as if the request said it, what the
// request says goes before.
func TestScenarioServing(t *testing.T) {
	p := mustCompute(t, served(nil))
	in := p.Inputs
	if in.MaxNumSeqs != 64 || in.MaxNumBatchedTokens != 4096 || in.MaxModelLen != 16_384 || in.BlockSize != 32 || in.GPUMemoryUtilization != 0.8 || in.KVDType != "fp8" || in.WeightDType != "fp8" || in.PrefixCaching {
		t.Errorf("%+v", in)
	}
	for _, a := range p.Assumptions {
		if slices.Contains([]string{"--max-num-seqs", "--max-num-batched-tokens", "--max-model-len", "--block-size", "--gpu-memory-utilization", "--kv-dtype", "--weight-dtype", "--prefix-caching"}, a.Flag) {
			t.Errorf("%s is said and listed as a default", a.Flag)
		}
	}
	p = mustCompute(t, served(func(r *Request) { r.MaxNumSeqs, r.KVDType = 32, "bf16" }))
	if p.Inputs.MaxNumSeqs != 32 || p.Inputs.KVDType != "bf16" || p.Inputs.BlockSize != 32 {
		t.Errorf("%+v", p.Inputs)
	}
	pool := mustCompute(t, served(func(r *Request) { r.Scenario.Serving.KVCacheMemory = 8 << 30 }))
	if !pool.Memory.Given || pool.Memory.KVCacheBytes != 8<<30 {
		t.Errorf("%+v", pool.Memory)
	}
	s, err := Serve(served(nil))
	if err != nil || s.Inputs.MaxNumSeqs != 64 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestScenarioArgs: the command line of a request says what its scenario does.
func TestScenarioArgs(t *testing.T) {
	r := served(func(r *Request) { r.Scenario.Cluster.Replicas, r.Scenario.Parallel.Tensor = 3, 2 })
	text := strings.Join(r.Args(), " ")
	for _, want := range []string{"--max-num-seqs 64", "--max-model-len 16384", "--kv-dtype fp8", "--prefix-caching off", "--gpu-memory-utilization 0.8", "--count 6"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
}

// TestScenarioReplicas: replicas are as many accelerators at hand, at the usual
// utilization.
func TestScenarioReplicas(t *testing.T) {
	p := mustCompute(t, served(func(r *Request) { r.Scenario.Cluster.Replicas, r.Scenario.Parallel.Tensor = 3, 2 }))
	if p.Fleet.Replicas != 3 || p.Fleet.Accelerators != 6 {
		t.Errorf("%+v", p.Fleet)
	}
	p = mustCompute(t, served(func(r *Request) { r.Scenario.Cluster.Replicas, r.Count = 3, 1 }))
	if p.Fleet.Replicas != 1 {
		t.Errorf("the request's accelerators do not go before: %+v", p.Fleet)
	}
	p = mustCompute(t, served(func(r *Request) { r.Scenario.Cluster.Replicas, r.Scenario.Workload.Arrival = 2, profiles.Arrival{} }))
	if p.Inputs.TargetUtilization != DefaultTargetUtilization {
		t.Errorf("replicas without a load are planned at %v", p.Inputs.TargetUtilization)
	}
}

// TestSearchKeepsServing: a search tries nothing else where the scenario says
// something, and finds the number of replicas itself.
func TestSearchKeepsServing(t *testing.T) {
	found, err := Explore(context.Background(), SearchRequest{
		Request: served(func(r *Request) {
			r.Scenario.Serving.PrefixCaching = ""
			r.Scenario.Cluster.Replicas = 1000
		}), Accelerators: []string{"h100-sxm-80gb"},
	}, nil)
	if err != nil || len(found.Options) == 0 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, o := range found.Options {
		if o.MaxNumSeqs != 64 || o.MaxNumBatchedTokens != 4096 || o.KVDType != "fp8" || o.WeightDType != "fp8" || o.Replicas == 1000 {
			t.Errorf("%+v", o.Configuration)
		}
	}
}

// TestScalingIsFinite: clients on given accelerators, at a rate at which arrivals that
// do not wait would queue without an end.
func TestScalingIsFinite(t *testing.T) {
	p := mustCompute(t, scenario(func(r *Request) {
		r.Scenario.Model, r.Count = "qwen3-30b-a3b", 7
		r.Scenario.Workload = profiles.Workload{Input: fixed(3), Output: profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 2}}
		r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 90}
		r.Scenario.SLO = []profiles.SLO{{TTFT: 80 * time.Second, E2E: 355 * time.Millisecond}}
	}))
	if p.Scaling == nil || !(p.Scaling.Running > 0 && p.Scaling.Running <= 90) {
		t.Errorf("%+v", p.Scaling)
	}
}
