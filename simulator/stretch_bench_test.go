package simulator_test

import (
	"context"
	"testing"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
)

// BenchmarkStretch is 256 requests of 64 and 1,500 tokens that begin together: all
// but the first and the last steps are plain decode.
func BenchmarkStretch(b *testing.B) {
	sc := profiles.Scenario{Model: "llama-3.1-8b", Accelerator: "h100-sxm-80gb", Engine: "vllm"}
	sc.Workload = profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Closed, Concurrency: 256},
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: 64}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 1500},
	}
	c := oneReplica(b, sc)
	c.Requests = 256 * 20
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
