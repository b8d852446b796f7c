package study

import (
	"testing"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
)

// limitExperiments are of memory, of what a batch and a link cost, and of what a
// gateway keeps from the replicas.
var limitExperiments = []experiment{
	{file: "kv-layout", seeds: 2, holds: func(t *testing.T, r results) {
		contiguous, paged := "contiguous none", "paged none"
		between(t, "running with blocks", r.median(t, paged, running), r.median(t, contiguous, running), 3, 8)
		between(t, "output tokens/s with blocks", r.median(t, paged, outputRate), r.median(t, contiguous, outputRate), 1.6, 4)
		shared := "groups=32,tokens=161"
		between(t, "running with shared blocks", r.median(t, "paged "+shared, running), r.median(t, paged, running), 1.2, 2)
		between(t, "output tokens/s with shared blocks", r.median(t, "paged "+shared, outputRate), r.median(t, paged, outputRate), 1.05, 2)
		between(t, "output tokens/s of slabs, which share nothing", r.median(t, "contiguous "+shared, outputRate), r.median(t, contiguous, outputRate), 0.99, 1.01)
	}},
	{file: "token-limits", holds: func(t *testing.T, r results) {
		chat := attained("chat")
		for _, limit := range []string{"off", "rpm=90", "rpm=12"} {
			if got := r.median(t, limit, chat); got > 0.1 {
				t.Errorf("%s: chat attains %.3g, want next to nothing", limit, got)
			}
		}
		if got := r.median(t, "rpm=12", failed); got < 0.5 {
			t.Errorf("rpm=12: %.3g of the requests are refused, want most, which are chat's", got)
		}
		if got := r.median(t, "input_tpm=100k", chat); got < 0.95 {
			t.Errorf("input_tpm=100k: chat attains %.3g, want nearly all", got)
		}
	}},
	{file: "outage", seeds: 2, holds: func(t *testing.T, r results) {
		const (
			retry, budget = "attempts=10,backoff=500ms ", "attempts=10,backoff=500ms,budget=0.1 "
			fallback      = "ttft=800ms,tpot=20ms,usd_per_1m_input=0.2,usd_per_1m_output=0.6"
		)
		between(t, "goodput without a budget", r.median(t, retry+"off", goodput), r.median(t, budget+"off", goodput), 0, 0.4)
		between(t, "queue without a budget", r.median(t, retry+"off", queue), r.median(t, budget+"off", queue), 50, 5000)
		// A fifth of the window is the outage, in which the budget lets requests fail;
		// the fallback leaves those whose answers broke off.
		if got := r.median(t, budget+"off", failed); got < 0.18 || got > 0.35 {
			t.Errorf("%.3g fail with a budget, want a little more than the outage's fifth", got)
		}
		if got := r.median(t, budget+fallback, failed); got > 0.08 {
			t.Errorf("%.3g fail with a fallback, want a few in a hundred", got)
		}
		between(t, "$ per hour with a fallback", r.median(t, budget+fallback, perHour), r.median(t, budget+"off", perHour), 1.2, 4)
	}},
	{file: "batch-size", holds: func(t *testing.T, r results) {
		for _, step := range [][2]string{{"16", "64"}, {"64", "256"}} {
			few, many := step[0], step[1]
			between(t, "output tokens/s of "+many, r.median(t, many, outputRate), r.median(t, few, outputRate), 1.3, 3.5)
			between(t, "tpot p99 of "+many, r.median(t, many, tpotP99), r.median(t, few, tpotP99), 1.3, 3.5)
		}
		between(t, "goodput of 256", r.median(t, "256", goodput), r.median(t, "64", goodput), 0, 0.5)
	}},
	{file: "tensor-pipeline", holds: func(t *testing.T, r results) {
		const fast, slow, tensor, pipeline = "a100-sxm-80gb", "a100-pcie-80gb", " 4 1", " 1 4"
		between(t, "output tokens/s of tensor ranks on PCIe", r.median(t, slow+tensor, outputRate), r.median(t, fast+tensor, outputRate), 0.3, 0.6)
		between(t, "output tokens/s of pipeline ranks on PCIe", r.median(t, slow+pipeline, outputRate), r.median(t, fast+pipeline, outputRate), 0.9, 1.05)
		between(t, "tpot of tensor ranks on NVLink", r.median(t, fast+tensor, tpotP50), r.median(t, fast+pipeline, tpotP50), 0.3, 0.6)
	}},
	{
		file: "tensor-pipeline", compare: []profiles.Comparison{
			{Setting: "concurrency", Values: []string{"1"}},
			{Setting: "tp", Values: []string{"1", "4"}}, {Setting: "pp", Values: []string{"1", "4"}},
		},
		holds: func(t *testing.T, r results) {
			// Alone, a request's token goes through all stages one after another.
			between(t, "tpot of four stages", r.median(t, "1 1 4", tpotP50), r.median(t, "1 1 1", tpotP50), 0.95, 1.3)
			between(t, "tpot of four tensor ranks", r.median(t, "1 4 1", tpotP50), r.median(t, "1 1 1", tpotP50), 0.2, 0.6)
		},
	},
	{file: "cancellation", holds: func(t *testing.T, r results) {
		on, off := "3/s propagate_cancel=on", "3/s propagate_cancel=off"
		if told := r.median(t, on, unread); told != 0 {
			t.Errorf("%g tokens for nobody where replicas are told, want none", told)
		}
		const window = 120
		between(t, "unread tokens per second at 3/s", r.median(t, off, unread)/window, r.median(t, off, outputRate), 0.5, 1)
		between(t, "running at 3/s", r.median(t, off, running), r.median(t, on, running), 1.6, 2.6)
		on, off = "8/s propagate_cancel=on", "8/s propagate_cancel=off"
		between(t, "$ per 1M output at 8/s", r.median(t, off, perMillion), r.median(t, on, perMillion), 1.2, 2)
		between(t, "goodput at 8/s", r.median(t, off, goodput), r.median(t, on, goodput), 0, 0.3)
	}},
	{file: "preemption", holds: func(t *testing.T, r results) {
		each := func(variant string) float64 {
			return r.median(t, variant, preemptions) / r.median(t, variant, completed)
		}
		between(t, "preemptions per request of a faster accelerator", each("1 h200-sxm-141gb"), each("1 h100-sxm-80gb"), 0.8, 1.25)
		between(t, "KV usage of a faster accelerator", r.median(t, "1 h200-sxm-141gb", kvUsage), r.median(t, "1 h100-sxm-80gb", kvUsage), 0.97, 1.03)
		if n := r.median(t, "2 h100-sxm-80gb", preemptions); n != 0 {
			t.Errorf("%g preemptions on two replicas, want none", n)
		}
	}},
	{file: "block-size", seeds: 2, holds: func(t *testing.T, r results) {
		between(t, "hit rate of 8", r.median(t, "8", hitRate), r.median(t, "16", hitRate), 1, 1.1)
		between(t, "hit rate of 64", r.median(t, "64", hitRate), r.median(t, "16", hitRate), 0.7, 0.9)
		if got := r.median(t, "256", hitRate); got != 0 {
			t.Errorf("hit rate of 256: %.3g, want none, since no block of a prefix of 250 is whole", got)
		}
		between(t, "KV usage of 256", r.median(t, "256", kvUsage), r.median(t, "16", kvUsage), 1.3, 2.2)
	}},
	{file: "idle-and-late", seeds: 3, holds: func(t *testing.T, r results) {
		if p99 := r.median(t, "24", ttftP99); p99 < 5 || p99 > 14 {
			t.Errorf("ttft p99 with 24 places is %.3g s, want about 9", p99)
		}
		compute, memory := r.median(t, "24", spentOn("compute")), r.median(t, "24", spentOn("memory bandwidth"))
		if compute < 0.15 || compute > 0.35 || memory < 1.5*compute {
			t.Errorf("%.3g of the time goes to compute and %.3g to memory, want less than a third and more", compute, memory)
		}
		// Somebody waits for a place more often than for anything else.
		between(t, "waiting for places", r.median(t, "24", spentOn("max_num_seqs")), r.median(t, "24", spentOn("max_num_batched_tokens")), 1.2, 10)
		between(t, "ttft p99 with 128 places", r.median(t, "128", ttftP99), r.median(t, "24", ttftP99), 0, 0.5)
	}},
}

// Metrics by the names of the tables that the command prints.
var (
	running = gauge(func(s *reports.Server) *reports.Gauge { return s.Running })
	queue   = gauge(func(s *reports.Server) *reports.Gauge { return s.Queue })
	kvUsage = gauge(func(s *reports.Server) *reports.Gauge { return s.KVUsage })
)

// gauge is the mean of a gauge of the replicas over the window.
func gauge(of func(*reports.Server) *reports.Gauge) metric {
	return func(r *reports.Report) *float64 {
		if r.Server == nil || of(r.Server) == nil {
			return nil
		}
		return &of(r.Server).Mean
	}
}

func preemptions(r *reports.Report) *float64 {
	if r.Server == nil {
		return nil
	}
	return r.Server.Preemptions
}

func failed(r *reports.Report) *float64    { return r.Requests.FailedShare }
func completed(r *reports.Report) *float64 { return r.Rates.CompletedRPS }

func goodput(r *reports.Report) *float64 {
	if r.SLO == nil {
		return nil
	}
	return r.SLO.GoodputRPS
}

func perHour(r *reports.Report) *float64 {
	if r.Cost == nil {
		return nil
	}
	return &r.Cost.USDPerHour
}

func perMillion(r *reports.Report) *float64 {
	if r.Cost == nil {
		return nil
	}
	return r.Cost.USDPer1MOutput
}

func unread(r *reports.Report) *float64 {
	if r.Tokens.Unread == nil {
		return nil
	}
	v := float64(*r.Tokens.Unread)
	return &v
}

// spentOn is the share of the time that the report says a resource took, or that
// somebody waited for it.
func spentOn(resource string) metric {
	return func(r *reports.Report) *float64 {
		for i := range r.Bottleneck {
			if r.Bottleneck[i].Resource == resource {
				return &r.Bottleneck[i].Share
			}
		}
		return nil
	}
}
