package sizing

import (
	"slices"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

func TestBusiestStep(t *testing.T) {
	steps := func(n int, length time.Duration) profiles.Arrival {
		c := &profiles.Curve{}
		for i := range n {
			c.Steps = append(c.Steps, profiles.Step{RatePerS: 1 + float64(i%12), For: length})
		}
		return profiles.Arrival{Process: profiles.Steps, Curve: c}
	}
	tests := []struct {
		name    string
		arrival profiles.Arrival
		rps     float64
		day     bool
		assumed bool
	}{
		{"a day", steps(24, time.Hour), 12, true, true},
		{"some hours", steps(3, time.Hour), 3, false, true},
		{"minutes", steps(24, time.Minute), 12, false, true},
		{"no steps", profiles.Arrival{Process: profiles.Poisson, RatePerS: 5}, 5, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{Arrival: tt.arrival}}}
			s, err := resolve(r)
			if err != nil {
				t.Fatal(err)
			}
			assumed := slices.ContainsFunc(s.assumptions, func(d Assumption) bool { return d.Name == "load" })
			if s.inputs.RPS != tt.rps || s.profile.Said() != tt.day || assumed != tt.assumed {
				t.Errorf("%g/s, day %v, assumed %v; want %g/s, %v, %v", s.inputs.RPS, s.profile.Said(), assumed, tt.rps, tt.day, tt.assumed)
			}
		})
	}
}
