package sizing

import (
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestServedBlocks: requests can use all blocks but those that the engine keeps for
// itself.
func TestServedBlocks(t *testing.T) {
	for engine, null := range map[string]int{"vllm@0.19": 1, "vllm@0.6.4": 0, "sglang": 0, "tensorrt-llm": 0} {
		r := Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Engine: engine}}
		r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Poisson, RatePerS: 1}
		r.Scenario.Workload.Input = profiles.Distribution{Kind: profiles.Fixed, Mean: 1000}
		r.Scenario.Workload.Output = profiles.Distribution{Kind: profiles.Fixed, Mean: 100}
		v, err := Serve(r)
		if err != nil || len(v.Reasons) > 0 {
			t.Fatalf("%s: %v %v", engine, err, v)
		}
		if want := int(v.Memory.KVCacheBlocks) - null; v.Blocks != want {
			t.Errorf("%s: %d blocks, want %d of %d", engine, v.Blocks, want, v.Memory.KVCacheBlocks)
		}
	}
}

// TestServedLoads: more clients have each wait longer, and no rate that a plan finds
// is above the largest.
func TestServedLoads(t *testing.T) {
	r := Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b"}}
	r.Scenario.Workload.Input = profiles.Distribution{Kind: profiles.Fixed, Mean: 1000}
	r.Scenario.Workload.Output = profiles.Distribution{Kind: profiles.Fixed, Mean: 100}
	v, err := Serve(r)
	if err != nil {
		t.Fatal(err)
	}
	if one, many := v.ClosedE2E(1), v.ClosedE2E(64); !(one > 0) || many < 2*one {
		t.Errorf("a request of one client takes %g s, of 64 clients %g s", one, many)
	}
	p, err := Compute(r)
	if err != nil {
		t.Fatal(err)
	}
	if largest := v.LargestRate(); largest < 0.97*p.Performance.MaxRPS {
		t.Errorf("at most %g/s, but %g/s within an objective", largest, p.Performance.MaxRPS)
	}
	if raised := v.Relaxed(); len(raised) > 0 {
		t.Errorf("relaxed: %v", raised)
	}
}
