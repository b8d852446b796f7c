package sizing

import (
	"math"
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
		if !small.Feasible {
			return
		}
		// A request's own place is not free to others: of more places, others fill a
		// larger share, and their prompts come between its tokens more often. By this
		// much, and by no more, a larger pool may serve less.
		least := small.Performance.MaxRPS * min(1, others(small)/others(large)) * (1 - 1e-6)
		if large.Performance.MaxRPS < least {
			t.Fatalf("more memory serves less: %v, %v", small.Performance.MaxRPS, large.Performance.MaxRPS)
		}
		if most := math.Ceil(r.Scenario.Workload.Arrival.RatePerS / (least * small.Inputs.TargetUtilization)); float64(large.Fleet.Replicas) > most {
			t.Fatalf("more memory needs more replicas: %d, %d", small.Fleet.Replicas, large.Fleet.Replicas)
		}
	})
}

// others is the share of a replica's places that a request leaves to others.
func others(p *Plan) float64 {
	return max(0, 1-1/min(p.Memory.MixSequences, float64(p.Inputs.MaxNumSeqs)))
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
