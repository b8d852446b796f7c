package loadgen

import (
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// BenchmarkRequests runs whole requests over loopback, client and mock on the
// same cores: 8 in flight, 16 tokens each.
func BenchmarkRequests(b *testing.B) {
	ts := httptest.NewServer(&mock.Server{Tokens: 16})
	defer ts.Close()
	b.ReportAllocs()
	o := Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(b, closed(8), 64, 16), Requests: b.N,
		MetricsInterval: -1, OnRecord: func(r *record.Record) {
			if r.Outcome != record.OK {
				b.Errorf("%s %s", r.Failure, r.Detail)
			}
		}}
	if _, err := Run(b.Context(), o); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(16*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkLongBodies is T15 on the wall clock: 500 streams whose requests are
// of 300 KB. It reports by how much TTFT exceeds the server's delay, client and
// mock on the same cores.
func BenchmarkLongBodies(b *testing.B) {
	const ttft = 500 * ms
	ts := httptest.NewServer(&mock.Server{TTFT: ttft, ITL: 10 * ms, Tokens: 16})
	defer ts.Close()
	var excess []float64
	for b.Loop() {
		result, err := Run(b.Context(), Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(b, constant(100), 60_000, 16), Requests: 500, MetricsInterval: -1})
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range result.Records {
			if r.Outcome != record.OK {
				b.Fatalf("%s %s", r.Failure, r.Detail)
			}
			excess = append(excess, (between(r.Sent, r.First)-ttft).Seconds()*1000)
		}
	}
	slices.Sort(excess)
	b.ReportMetric(stats.Percentile(excess, 50), "excess-p50-ms")
	b.ReportMetric(stats.Percentile(excess, 99), "excess-p99-ms")
}
