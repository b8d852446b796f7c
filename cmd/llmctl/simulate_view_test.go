package main

import (
	"math"
	"testing"
	"time"

	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/simulator/study"
)

// TestShareOfSimulation: the warm-up is a part of the way, also where requests are
// counted.
func TestShareOfSimulation(t *testing.T) {
	for name, tc := range map[string]struct {
		length study.Length
		sent   int
		warm   int64
		now    float64
		want   float64
	}{
		"by time":            {study.Length{Duration: 90 * time.Second, Warmup: 10 * time.Second}, 5, 0, 25, 0.25},
		"requests, warm-up":  {study.Length{Requests: 900, Warmup: 10 * time.Second}, 50, 50, 5, 0.05},
		"requests, measured": {study.Length{Requests: 900, Warmup: 10 * time.Second}, 325, 100, 32.5, 0.325},
		"nothing sent":       {study.Length{Requests: 900}, 0, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := &liveSimulation{length: tc.length, warm: tc.warm}
			v.live.Sent = tc.sent
			if got := v.share(tc.now); math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("got %g, want %g", got, tc.want)
			}
		})
	}
}

// TestTogether: a view shows what waits, runs and is used.
func TestTogether(t *testing.T) {
	s := together(simulator.Progress{Now: time.Second, Running: 3, Waiting: 4, KVUsage: 0.5})
	if s.At != time.Second || s.Running != 3 || s.Waiting != 4 || s.KVUsage != 0.5 || !math.IsNaN(s.Preemptions) {
		t.Errorf("got %+v", s)
	}
}
