package study

import (
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing"
)

// TestLeast: the bound is above one where the load is far beyond one replica, and one
// where the closed form can not tell how much of it gets to replicas.
func TestLeast(t *testing.T) {
	const rate = 2000
	for _, tt := range []struct {
		name   string
		change func(*profiles.Scenario)
		known  bool
	}{
		{"a steady load", func(*profiles.Scenario) {}, true},
		{"one in bursts", func(sc *profiles.Scenario) {
			sc.Workload.Arrival = profiles.Arrival{Process: profiles.Gamma, RatePerS: rate, CV: 2}
		}, true},
		{"a rate that changes", func(sc *profiles.Scenario) {
			sc.Workload.Arrival = profiles.Arrival{Process: profiles.Ramp, FromPerS: 1, ToPerS: rate, Over: time.Minute}
		}, false},
		{"a gateway that sheds", func(sc *profiles.Scenario) { sc.Cluster.Gateway.MaxQueue = 1 }, false},
		{"replicas that come and go", func(sc *profiles.Scenario) { sc.Cluster.Autoscale.Metric = "queue" }, false},
		{"more tokens a step", func(sc *profiles.Scenario) { sc.Serving.Speculative = profiles.Speculative{Tokens: 4, Acceptance: 0.7} }, false},
		{"no such model", func(sc *profiles.Scenario) { sc.Model = "none" }, false},
		{"memory that does not hold it", func(sc *profiles.Scenario) { sc.Model, sc.Accelerator = "llama-3.1-70b", "l4-24gb" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := small(func(r *Request) { r.Sizing.Scenario.Workload.Arrival.RatePerS = rate })
			tt.change(&r.Sizing.Scenario)
			if n := Least(r.Sizing, rate); n < 1 || n > 1 != tt.known {
				t.Errorf("least %d", n)
			}
		})
	}
}

// TestLeastIsNotTooMany: in simulation, fewer replicas than the bound fall behind.
func TestLeastIsNotTooMany(t *testing.T) {
	for _, tt := range []struct {
		name          string
		input, output float64
		rate          float64
	}{
		{"prompts", 1000, 2, 150},
		{"outputs", 20, 200, 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change := func(replicas int) func(*Request) {
				return func(r *Request) {
					sc := &r.Sizing.Scenario
					sc.Workload.Arrival.RatePerS, sc.Cluster.Replicas = tt.rate, replicas
					sc.Workload.Input.Mean, sc.Workload.Output.Mean = tt.input, tt.output
					r.Length = Length{Duration: 40 * time.Second, Warmup: 0, Drain: time.Hour}
					r.EndSaturated = false
				}
			}
			least := Least(small(change(1)).Sizing, tt.rate)
			if least < 2 {
				t.Fatalf("least %d, so that fewer can not be simulated", least)
			}
			r, err := newStudy(t, change(least-1)).Run(t.Context(), 1)
			if err != nil {
				t.Fatalf("%v", err)
			}
			if share := reports.NewTrial(sizing.Option{}, least-1, []*reports.Report{r}).Completed; share > overrun {
				t.Errorf("%d replicas complete %.2f of the load, and %d are said to be needed", least-1, share, least)
			}
		})
	}
}
