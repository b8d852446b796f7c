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

// BenchmarkRun is 10,000 requests of 512 and 512 tokens, 20 per second, on one
// replica of an 8B model, without a report.
func BenchmarkRun(b *testing.B) {
	sc := profiles.Scenario{Model: "llama-3.1-8b", Accelerator: "h100-sxm-80gb", Engine: "vllm"}
	sc.Workload = profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 20},
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: 512}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 512},
	}
	c := oneReplica(b, sc)
	c.Requests = 10_000
	steps, requests := int64(0), 0
	b.ReportAllocs()
	for b.Loop() {
		stream, err := workload.New(sc.Workload, workload.Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		c.Streams = []*workload.Stream{stream}
		result, err := simulator.Run(context.Background(), c, func(record.Window) {}, func(*record.Record) { requests++ })
		if err != nil {
			b.Fatal(err)
		}
		steps += result.Steps
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
}

// oneReplica is a cluster of one replica of a scenario's kind.
func oneReplica(b *testing.B, sc profiles.Scenario) simulator.Config {
	served, err := sizing.Serve(sizing.Request{Scenario: sc})
	if err != nil {
		b.Fatal(err)
	}
	in := served.Inputs
	return simulator.Config{
		Pools: []simulator.Pool{{Replicas: 1, Kind: simulator.Kind{
			Facts: served.Facts, Device: served.Device, Constants: served.Constants,
			Sched:  sched.Config{MaxNumSeqs: in.MaxNumSeqs, MaxNumBatchedTokens: in.MaxNumBatchedTokens, MaxModelLen: in.MaxModelLen, ReserveFullPrompt: true},
			Blocks: served.Blocks, BlockSize: in.BlockSize,
		}}},
		Drain: time.Hour,
	}
}
