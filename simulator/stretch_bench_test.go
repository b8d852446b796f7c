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

// BenchmarkStretch is 256 requests of 64 and 1,500 tokens that begin together: all
// but the first and the last steps are plain decode.
func BenchmarkStretch(b *testing.B) {
	sc := profiles.Scenario{Model: "llama-3.1-8b", Accelerator: "h100-sxm-80gb", Engine: "vllm"}
	sc.Workload = profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Closed, Concurrency: 256},
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: 64}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 1500},
	}
	served, err := sizing.Serve(sizing.Request{Scenario: sc})
	if err != nil {
		b.Fatal(err)
	}
	in := served.Inputs
	c := simulator.Config{
		Pools: []simulator.Pool{{Replicas: 1, Kind: simulator.Kind{
			Facts: served.Facts, Device: served.Device, Constants: served.Constants,
			Sched:  sched.Config{MaxNumSeqs: in.MaxNumSeqs, MaxNumBatchedTokens: in.MaxNumBatchedTokens, MaxModelLen: in.MaxModelLen, ReserveFullPrompt: true},
			Blocks: served.Blocks, BlockSize: in.BlockSize,
		}}},
		Requests: 256 * 20, Drain: time.Hour,
	}
	steps := int64(0)
	for b.Loop() {
		stream, err := workload.New(sc.Workload, workload.Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		c.Streams = []*workload.Stream{stream}
		result, err := simulator.Run(context.Background(), c, func(record.Window) {}, func(*record.Record) {})
		if err != nil {
			b.Fatal(err)
		}
		steps += result.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}
