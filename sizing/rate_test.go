package sizing

import (
	"math"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestQuickRate compares the quick search with the full one.
func TestQuickRate(t *testing.T) {
	for _, tc := range queueCases {
		e := newEvents(t, scenario(tc.change))
		full, bound := e.situation.limits.maxRate(e.replica)
		quick, why := e.replica.quickRate(e.situation.limits)
		if math.Abs(quick/full-1) > 0.03 || why != bound {
			t.Errorf("%s: %v/s by %s, the full search gives %v/s by %s", tc.name, quick, why, full, bound)
		}
	}
}

func BenchmarkQuickRate(b *testing.B) {
	e := newEvents(b, scenario(nil))
	for b.Loop() {
		e.replica.quickRate(e.situation.limits)
	}
}

func BenchmarkComputeE2E(b *testing.B) {
	slo, err := profiles.ParseSLO("e2e=12s")
	if err != nil {
		b.Fatal(err)
	}
	r := Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{Arrival: rps(200)}, SLO: []profiles.SLO{slo}}}
	for b.Loop() {
		mustCompute(b, r)
	}
}
