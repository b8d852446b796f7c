package simulator_test

import (
	"context"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/sizing"
)

// smallCluster is a cluster of replicas of an 8B model under Poisson arrivals, with a
// pool of so many blocks of 16 tokens.
func smallCluster(t *testing.T, replicas, blocks int, rate float64) simulator.Config {
	t.Helper()
	sc := profiles.Scenario{Model: "llama-3.1-8b", Accelerator: "h100-sxm-80gb"}
	sc.Workload = profiles.Workload{
		Arrival: profiles.Arrival{Process: "poisson", RatePerS: rate},
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: 512}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 128},
	}
	served, err := sizing.Serve(sizing.Request{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := workload.New(sc.Workload, workload.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	in := served.Inputs
	return simulator.Config{
		Pools: []simulator.Pool{{Replicas: replicas, Kind: simulator.Kind{
			Facts: served.Facts, Device: served.Device, Constants: served.Constants,
			Sched:  sched.Config{MaxNumSeqs: in.MaxNumSeqs, MaxNumBatchedTokens: in.MaxNumBatchedTokens, MaxModelLen: in.MaxModelLen, ReserveFullPrompt: true},
			Blocks: blocks, BlockSize: in.BlockSize,
		}}},
		Streams: []*workload.Stream{stream},
		Warmup:  2 * time.Second, Duration: 10 * time.Second, Drain: time.Minute,
	}
}

// simulateAll runs it and keeps what each request was.
func simulateAll(t *testing.T, c simulator.Config) (simulator.Result, []record.Record) {
	t.Helper()
	var all []record.Record
	result, err := simulator.Run(context.Background(), c, func(record.Window) {}, func(r *record.Record) { all = append(all, *r) })
	if err != nil {
		t.Fatal(err)
	}
	return result, all
}

func TestTimeIsAccountedFor(t *testing.T) {
	for _, tc := range []struct {
		name     string
		replicas int
		blocks   int
		rate     float64
		gateway  profiles.Gateway
		held     func(record.Spent) time.Duration // that must be most of the time; nil: nothing waits
	}{
		{"light", 2, 20_000, 2, profiles.Gateway{}, nil},
		{"few in flight", 2, 20_000, 40, profiles.Gateway{InFlight: 4}, func(s record.Spent) time.Duration { return s.HeldGateway }},
		{"a small pool", 1, 400, 40, profiles.Gateway{}, func(s record.Spent) time.Duration { return s.HeldBlocks }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := smallCluster(t, tc.replicas, tc.blocks, tc.rate)
			c.Cluster.Gateway = tc.gateway
			result, _ := simulateAll(t, c)
			if len(result.Spent) != tc.replicas {
				t.Fatalf("accounts of %d replicas, want %d", len(result.Spent), tc.replicas)
			}
			for _, s := range result.Spent {
				if s.Alive != result.Window.End-result.Window.Start {
					t.Errorf("alive %v of the window %v", s.Alive, result.Window)
				}
				if s.Busy <= 0 || s.Busy > s.Alive || s.Memory+s.Compute+s.Fixed+s.Collectives != s.Busy {
					t.Errorf("the parts do not make the whole: %+v", s)
				}
				if s.Memory <= 0 || s.Compute <= 0 || s.Fixed <= 0 || s.Collectives != 0 {
					t.Errorf("one accelerator has all terms but collectives: %+v", s)
				}
				waited := s.HeldSlots + s.HeldBlocks + s.HeldBudget
				if tc.held == nil && waited > s.Busy/100 || tc.held != nil && tc.held(s) < s.Alive/2 {
					t.Errorf("held back: %+v", s)
				}
			}
		})
	}
}

// TestWaitingForAStart: who waits while a replica starts does not wait for room, be
// it at the gateway or in an engine.
func TestWaitingForAStart(t *testing.T) {
	for _, tc := range []struct {
		name    string
		gateway profiles.Gateway
		delay   time.Duration
		held    func(record.Spent) time.Duration
	}{
		{"at the gateway", profiles.Gateway{InFlight: 4}, 5 * time.Second, func(s record.Spent) time.Duration { return s.HeldGatewayStart }},
		{"in an engine", profiles.Gateway{}, 5 * time.Second, func(s record.Spent) time.Duration { return s.HeldStart }},
		{"at the gateway, for none", profiles.Gateway{InFlight: 4}, 0, nil},
		{"in an engine, for none", profiles.Gateway{}, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := smallCluster(t, 1, 400, 40)
			c.Cluster.Gateway = tc.gateway
			c.Cluster.Autoscale = profiles.Autoscale{Metric: "kv_usage", Target: 0.1, Min: 1, Max: 3, Interval: time.Second, StartDelay: tc.delay}
			result, _ := simulateAll(t, c)
			s := result.Spent[0]
			switch waited := s.HeldStart + s.HeldGatewayStart; {
			case tc.held == nil && waited != 0:
				t.Errorf("replicas start at once, and %v were waited for it", waited)
			case tc.held != nil && (tc.held(s) < time.Second || tc.held(s) > tc.delay+2*time.Second):
				t.Errorf("replicas that take %v to start kept requests waiting for %v", tc.delay, tc.held(s))
			}
		})
	}
}
