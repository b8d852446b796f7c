package sizing

import (
	"context"
	"testing"
)

// searchFor is llama-3.1-8b at 200 requests per second of chat, changed by change.
func searchFor(change func(*SearchRequest)) SearchRequest {
	r := SearchRequest{Request: scenario(func(r *Request) {
		r.Scenario.Accelerator = ""
		r.Scenario.Workload.Arrival = rps(200)
	})}
	if change != nil {
		change(&r)
	}
	return r
}

func BenchmarkExplore(b *testing.B) {
	configurations := 0
	for b.Loop() {
		s, err := Explore(context.Background(), searchFor(nil), nil)
		if err != nil {
			b.Fatal(err)
		}
		configurations += s.Tried
	}
	b.ReportMetric(float64(configurations)/float64(b.N), "configurations")
	b.ReportMetric(float64(configurations)/b.Elapsed().Seconds(), "configurations/s")
}
