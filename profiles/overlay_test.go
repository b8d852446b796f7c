package profiles

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScenarioOver(t *testing.T) {
	base := Scenario{
		Model: "a", Accelerator: "x", Parallel: Parallel{Tensor: 2},
		Workload: Workload{
			Name: "chat", Arrival: Arrival{Process: Poisson, RatePerS: 4},
			Input: Distribution{Kind: Fixed, Mean: 100}, Output: Distribution{Kind: Fixed, Mean: 10},
			Prefix: Prefix{Groups: 2, Tokens: 50},
		},
		SLO: []SLO{{TTFT: 1}},
	}
	cases := []struct {
		name string
		top  Scenario
		want func(*Scenario)
	}{
		{"nothing said", Scenario{}, func(*Scenario) {}},
		{"model and slo", Scenario{Model: "b", SLO: []SLO{{TPOT: 2}}}, func(s *Scenario) { s.Model, s.SLO = "b", []SLO{{TPOT: 2}} }},
		{"own prompts share nothing", Scenario{Workload: Workload{Input: Distribution{Kind: Fixed, Mean: 7}}}, func(s *Scenario) {
			s.Workload.Input, s.Workload.Prefix = Distribution{Kind: Fixed, Mean: 7}, Prefix{}
		}},
		{"own prompts and prefix", Scenario{Workload: Workload{Input: Distribution{Kind: Fixed, Mean: 7}, Prefix: Prefix{Groups: 1, Tokens: 3}}}, func(s *Scenario) {
			s.Workload.Input, s.Workload.Prefix = Distribution{Kind: Fixed, Mean: 7}, Prefix{Groups: 1, Tokens: 3}
		}},
		{"prefix said to be none", Scenario{Workload: Workload{Prefix: Prefix{None: true}}}, func(s *Scenario) { s.Workload.Prefix = Prefix{None: true} }},
		{"one degree", Scenario{Parallel: Parallel{Pipeline: 3}}, func(s *Scenario) { s.Parallel.Pipeline = 3 }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := base
			c.want(&want)
			if diff := cmp.Diff(want, c.top.Over(base)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
