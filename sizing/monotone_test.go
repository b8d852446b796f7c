package sizing

import (
	"testing"

	"pgregory.net/rapid"
)

// TestMoreMemoryIsNeverWorse draws situations at random.
func TestMoreMemoryIsNeverWorse(t *testing.T) {
	t.Parallel()
	models := []string{"llama-3.1-8b", "gemma-3-27b", "deepseek-v2-lite", "gpt-oss-20b", "qwen3-0.6b", "mistral-7b-v0.1"}
	rapid.Check(t, func(t *rapid.T) {
		r := scenario(func(r *Request) {
			r.Scenario.Model = rapid.SampledFrom(models).Draw(t, "model")
			r.MaxModelLen = rapid.IntRange(1300, 4096).Draw(t, "length")
			r.Scenario.Workload.Arrival = rps(rapid.Float64Range(0.1, 500).Draw(t, "rate"))
			r.KVCacheMemory = rapid.Int64Range(1<<28, 1<<35).Draw(t, "pool")
		})
		small, err := Compute(r)
		if err != nil {
			t.Fatal(err)
		}
		r.KVCacheMemory += rapid.Int64Range(1, 1<<35).Draw(t, "more")
		large, err := Compute(r)
		if err != nil {
			t.Fatal(err)
		}
		if large.Memory.KVCacheBlocks < small.Memory.KVCacheBlocks || large.Memory.MaxConcurrency < small.Memory.MaxConcurrency || large.Memory.MixSequences < small.Memory.MixSequences {
			t.Fatalf("more memory holds less: %+v, %+v", small.Memory, large.Memory)
		}
		if small.Feasible && !large.Feasible {
			t.Fatalf("more memory made it infeasible: %v", large.Reasons)
		}
		if small.Feasible && large.Performance.MaxRPS < small.Performance.MaxRPS*(1-3e-3) { // of more places, a larger share is others'
			t.Fatalf("more memory serves less: %v, %v", small.Performance.MaxRPS, large.Performance.MaxRPS)
		}
		if small.Feasible && large.Fleet.Replicas > small.Fleet.Replicas {
			t.Fatalf("more memory needs more replicas: %d, %d", small.Fleet.Replicas, large.Fleet.Replicas)
		}
	})
}

// TestLatenciesGrowWithLoad checks the shape that the search for the largest
// rate relies on.
func TestLatenciesGrowWithLoad(t *testing.T) {
	for _, model := range []string{"llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-27b"} {
		_, r := replicaOf(t, scenario(func(r *Request) { r.Scenario.Model = model }))
		last := make([]float64, 4)
		for rate := 0.01; r.at(rate).stable; rate *= 1.2 {
			st := r.at(rate)
			now := []float64{st.ttft(), st.ttftQuantile(0.99), st.tpotQuantile(r, 0.99), st.latency(r).quantile(0.99)}
			for i, v := range now {
				if v < last[i]*(1-1e-6) {
					t.Errorf("%s at %v/s: time %d fell from %v to %v", model, rate, i, last[i], v)
				}
			}
			if now[1] < now[0] {
				t.Errorf("%s at %v/s: p99 TTFT %v is below the mean %v", model, rate, now[1], now[0])
			}
			last = now
		}
		if last[0] == 0 {
			t.Errorf("%s was never stable", model)
		}
	}
}
