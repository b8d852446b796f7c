package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

func TestWritePlan(t *testing.T) {
	load := profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 200}}
	many := profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 200_000}}
	office, err := profiles.LoadLoadProfile("office")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		request sizing.Request
		explain bool
	}{
		{"plan_headline", sizing.Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: load}}, false},
		{"plan_explain", sizing.Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: load}}, true},
		{"plan_explain_mla", sizing.Request{Scenario: profiles.Scenario{Model: "deepseek-v2-lite"}, KVDType: "bf16"}, true},
		{"plan_pools", sizing.Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: load}, Disaggregate: true, Spare: 1}, false},
		{"plan_infeasible", sizing.Request{Scenario: profiles.Scenario{Model: "llama-3.1-405b", Workload: load}}, false},
		{"plan_given_pool", sizing.Request{Scenario: profiles.Scenario{Model: "gemma-3-27b"}, KVCacheMemory: 10 << 30, MaxModelLen: 8192}, false},
		{"plan_near_edge", sizing.Request{Scenario: profiles.Scenario{Model: "kimi-dev-72b", Engine: "vllm@0.21", Parallel: profiles.Parallel{Tensor: 2}}, GPUMemoryUtilization: 0.97}, false},
		{"plan_day", sizing.Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: load}, LoadProfile: office,
			APIPrice: profiles.APIPrice{In: 0.2, Cached: 0.1, Out: 0.8}}, false},
		{"plan_day_many", sizing.Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: many}, LoadProfile: office,
			APIPrice: profiles.APIPrice{In: 0.000004, Cached: 0.000002, Out: 0.000016}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := sizing.Compute(tc.request)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := WritePlan(&got, plan, tc.explain); err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(got.String(), "\n") {
				if n := ansi.StringWidth(line); n > planWidth {
					t.Errorf("line of %d columns: %s", n, line)
				}
			}
			golden(t, tc.name+".golden", got.String())
		})
	}
}

// TestMoney: cents from a cent up, three significant digits below.
func TestMoney(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.1: "0.10", 0.8: "0.80", 0.854: "0.85", 1: "1.00", 12.345: "12.35", 0.012: "0.01", 0.00154: "0.00154", 0.0000123: "0.0000123", 78840.4: "78,840"} {
		if got := money(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
