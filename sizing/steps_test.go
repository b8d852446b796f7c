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

// A plan of lengths that were measured has their mean and their quantiles.
func TestMeasuredLengths(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(i + 1)
	}
	l := newLengths(profiles.Distribution{Kind: profiles.Empirical, Samples: &profiles.Samples{Values: values}}, 1000)
	if _, constant := l.constant(); constant || l.mean() != 50.5 || l.quantile(0.5) != 50 || l.below(25.5) != 0.25 || l.below(100) != 1 {
		t.Errorf("mean %g, median %g, share up to 25 %g", l.mean(), l.quantile(0.5), l.below(25.5))
	}
	equal := newLengths(profiles.Distribution{Kind: profiles.Empirical, Samples: &profiles.Samples{Values: []float64{7, 7}}}, 1000)
	if n, constant := equal.constant(); !constant || n != 7 {
		t.Errorf("equal lengths are %g, constant %v", n, constant)
	}
}
