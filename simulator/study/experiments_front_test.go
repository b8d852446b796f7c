package study

import (
	"testing"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
)

// frontExperiments are of what stands before engines, and of how many there are.
var frontExperiments = []experiment{
	{file: "hot-spot", holds: func(t *testing.T, r results) {
		spread, hot, capped := "least_loaded", "prefix_affinity:load_cap=none", "prefix_affinity"
		between(t, "ttft p50 of a hot spot", r.median(t, hot, ttftP50), r.median(t, spread, ttftP50), 50, 10_000)
		between(t, "output tokens/s of a hot spot", r.median(t, hot, outputRate), r.median(t, spread, outputRate), 0.25, 0.75)
		between(t, "ttft p99 with the cap", r.median(t, capped, ttftP99), r.median(t, spread, ttftP99), 0.8, 1.25)
		between(t, "hit rate with the cap", r.median(t, capped, hitRate), r.median(t, hot, hitRate), 0.99, 1.01)
	}},
	{file: "prefix-affinity", holds: func(t *testing.T, r results) {
		between(t, "hit rate of affinity", r.median(t, "prefix_affinity", hitRate), r.median(t, "round_robin", hitRate), 1.7, 3)
		between(t, "ttft p50 of affinity", r.median(t, "prefix_affinity", ttftP50), r.median(t, "round_robin", ttftP50), 0.05, 0.6)
		// Load alone knows nothing of caches either.
		between(t, "hit rate of least loaded", r.median(t, "least_loaded", hitRate), r.median(t, "round_robin", hitRate), 0.85, 1.15)
	}},
	{file: "timestamp", seeds: 3, holds: func(t *testing.T, r results) {
		if hits := r.median(t, "none", hitRate); hits != 0 {
			t.Errorf("unique prompts hit the cache: %g", hits)
		}
		if hits := r.median(t, "groups=1,tokens=2000", hitRate); hits < 0.9 || hits > 0.92 { // 2,000 of 2,200
			t.Errorf("shared prompts hit %g", hits)
		}
		between(t, "ttft p50 with a timestamp", r.median(t, "none", ttftP50), r.median(t, "groups=1,tokens=2000", ttftP50), 2.5, 10)
		between(t, "tpot p50 with a timestamp", r.median(t, "none", tpotP50), r.median(t, "groups=1,tokens=2000", tpotP50), 3, 15)
	}},
	{file: "batch-jobs", seeds: 3, holds: func(t *testing.T, r results) {
		fcfs, ranked := r.median(t, "fcfs", attained("chat")), r.median(t, "priority", attained("chat"))
		if fcfs > 0.75 || ranked < 0.97 {
			t.Errorf("chat attains %.3g in order of arrival and %.3g before the job", fcfs, ranked)
		}
		between(t, "output tokens/s with priorities", r.median(t, "priority", outputRate), r.median(t, "fcfs", outputRate), 0.98, 1.02)
	}},
	{file: "autoscale", seeds: 2, holds: func(t *testing.T, r results) {
		kv, queue := "kv_usage:target=0.03,max=8,start_delay=15s", "queue_depth:target=20,max=8,start_delay=15s"
		busy, never := "utilization:target=0.8,max=8,start_delay=15s", "utilization:target=0.95,max=8,start_delay=15s"
		between(t, "$ of utilization", r.median(t, busy, usdPerHour), r.median(t, kv, usdPerHour), 1.5, 4)
		if r.median(t, never, attained("")) > 0.3 || r.median(t, queue, attained("")) < 0.7 || r.median(t, kv, attained("")) < 0.9 {
			t.Errorf("attainment: %.3g of a utilization that is never above its target, %.3g of the queue, %.3g of KV usage",
				r.median(t, never, attained("")), r.median(t, queue, attained("")), r.median(t, kv, attained("")))
		}
		between(t, "$ of utilization that is never above its target", r.median(t, never, usdPerHour), 4.5, 0.99, 1.01)
	}},
	{file: "disaggregation", holds: func(t *testing.T, r results) {
		together, apart := "h100-sxm-80gb=4", "prefill=2,decode=2"
		between(t, "icl p99 apart", r.median(t, apart, iclP99), r.median(t, together, iclP99), 0.01, 0.2)
		between(t, "tpot p99 apart", r.median(t, apart, tpotP99), r.median(t, together, tpotP99), 0.2, 0.8)
		between(t, "output tokens/s apart", r.median(t, apart, outputRate), r.median(t, together, outputRate), 0.98, 1.02)
	}},
	{
		file: "disaggregation", compare: []profiles.Comparison{
			{Setting: "concurrency", Values: []string{"400"}},
			{Setting: "pools", Values: []string{"h100-sxm-80gb=4", "prefill=3,decode=1", "prefill=2,decode=2"}},
		},
		holds: func(t *testing.T, r results) {
			for _, pools := range []string{"prefill=3,decode=1", "prefill=2,decode=2"} {
				between(t, "output tokens/s of "+pools, r.median(t, "400 "+pools, outputRate), r.median(t, "400 h100-sxm-80gb=4", outputRate), 0.5, 1)
			}
		},
	},
}

func usdPerHour(r *reports.Report) *float64 { return &r.Cost.USDPerHour }
