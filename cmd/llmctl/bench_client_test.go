package main

import (
	"testing"

	"github.com/llmctl/llmctl/loadgen/search"
	"github.com/llmctl/llmctl/profiles"
)

// TestConnectionsNeeded: the limits of this machine are compared with what this
// machine's part of the largest load needs.
func TestConnectionsNeeded(t *testing.T) {
	tokens := profiles.Distribution{Kind: profiles.Fixed, Mean: 50}
	for _, tt := range []struct {
		name    string
		arrival profiles.Arrival
		change  func(*benchFlags)
		want    int
	}{
		{"concurrency", profiles.Arrival{Process: profiles.Closed, Concurrency: 400}, nil, 400},
		{"shard", profiles.Arrival{Process: profiles.Closed, Concurrency: 400}, func(f *benchFlags) { f.phases.shard = workShare{0, 4} }, 100},
		{"users", profiles.Arrival{Process: profiles.Users, Count: 300}, nil, 300},
		{"rate", profiles.Arrival{Process: profiles.Poisson, RatePerS: 30}, nil, 60}, // of answers that take 2 s
		{"cap", profiles.Arrival{Process: profiles.Poisson, RatePerS: 30}, func(f *benchFlags) { f.maxInFlight = 7 }, 7},
		{"sweep", profiles.Arrival{Process: profiles.Closed, Concurrency: 1}, func(f *benchFlags) { f.curve.sweep = search.Sweep{Loads: []float64{1, 64, 8}} }, 64},
	} {
		b := &bench{flags: &benchFlags{maxInFlight: 1000}}
		b.scenario.Workload = profiles.Workload{Arrival: tt.arrival, Input: tokens, Output: tokens}
		if tt.change != nil {
			tt.change(b.flags)
		}
		if got, err := b.connections(); got != tt.want || err != nil {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
		if b.scenario.Workload.Arrival.Concurrency != tt.arrival.Concurrency {
			t.Errorf("%s: the scenario has changed", tt.name)
		}
	}
}
