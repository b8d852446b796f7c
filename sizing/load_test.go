package sizing

import (
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestBatchIsFoundAtEveryRate: no rate below one that a replica carries is
// beyond it. With few experts per token, a leap can miss the batch.
func TestBatchIsFoundAtEveryRate(t *testing.T) {
	for _, model := range []string{"deepseek-v2-lite", "qwen3-30b-a3b", "llama-3.1-8b"} {
		e := newEvents(t, scenario(func(r *Request) {
			r.Scenario.Model, r.WeightDType, r.MaxNumBatchedTokens = model, "fp8", 2048
			r.Scenario.Parallel = profiles.Parallel{Tensor: 2}
		}))
		most, _ := e.situation.limits.maxRate(e.replica)
		last := 0.0
		for i := range 400 {
			rate := most * float64(i+1) / 400
			st := e.replica.at(rate)
			if !st.stable || st.batch < last {
				t.Errorf("%s at %.3f of %.3f requests/s: stable %v, batch %.1f after %.1f", model, rate, most, st.stable, st.batch, last)
			}
			last = st.batch
		}
	}
}
