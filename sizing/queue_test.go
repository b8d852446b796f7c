package sizing

import (
	"math"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

func builtin(name string) profiles.Workload {
	w, err := profiles.LoadWorkload(name)
	if err != nil {
		panic(err)
	}
	return *w
}

// loose is an objective that leaves the limit to the hardware.
var loose = []profiles.SLO{{TTFT: 20 * time.Second, TPOT: 2 * time.Second}}

var queueCases = []struct {
	name   string
	change func(*Request)
	least  float64 // share of a repetition's requests, to keep slow cases short
	always bool    // not in the integration tier alone
}{
	{"chat", nil, 1, true},
	{"rag", func(r *Request) { r.Scenario.Workload = builtin("rag") }, 1, false},
	{"agent", func(r *Request) { r.Scenario.Workload = builtin("agent") }, 1, false},
	{"1,024 in, 512 out", func(r *Request) { r.Scenario.Workload = profiles.Workload{Input: fixed(1024), Output: fixed(512)} }, 0.5, false},
	{"16,000 in, 200 out", func(r *Request) { r.Scenario.Workload = profiles.Workload{Input: fixed(16000), Output: fixed(200)} }, 1, true},
	{"1,000 in, 10 out", func(r *Request) { r.Scenario.Workload = profiles.Workload{Input: fixed(1000), Output: fixed(10)} }, 1, false},
	{"chat, 1,024 tokens a step", func(r *Request) { r.MaxNumBatchedTokens = 1024 }, 1, false},
	{"chat, 64 sequences", func(r *Request) { r.Scenario.SLO, r.MaxNumSeqs = loose, 64 }, 1, false},
	{"rag, hardware's limit", func(r *Request) { r.Scenario.Workload, r.Scenario.SLO = builtin("rag"), loose }, 1, false},
	{"70B, TP 4", func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "llama-3.1-70b", 4 }, 1, false},
	{"mixture of experts", func(r *Request) { r.Scenario.Model, r.Scenario.Accelerator = "qwen3-30b-a3b", "h200-sxm-141gb" }, 1, true},
	{"8B on L40S", func(r *Request) { r.Scenario.Accelerator = "l40s-48gb" }, 1, false},
}

// TestClosedFormAgreesWithEvents compares the plan's times with the engine's own
// scheduler in virtual time, at 50, 70 and 85% of the largest rate. Run with -v
// and -tags integration, it prints the table of docs/latency.md, of fewer requests.
func TestClosedFormAgreesWithEvents(t *testing.T) {
	if underRace {
		t.Skip("nothing to race")
	}
	for _, tc := range queueCases {
		if !tc.always && !everyCase {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, scenario(tc.change))
			e.requests = int(5000 * tc.least)
			rate, _ := e.situation.limits.maxRate(e.replica)
			if rate == 0 {
				rate, _ = e.situation.relaxed(e.replica)
			}
			for _, load := range []float64{0.5, 0.7, 0.85} {
				e.rate = load * rate
				seen, st := e.run(t), e.replica.at(e.rate)
				ttft := measured(seen, func(o observed) float64 { return o.ttft })
				tpot := measured(seen, func(o observed) float64 { return o.tpot })
				whole := measured(seen, func(o observed) float64 { return o.e2e })
				for _, c := range []struct {
					name      string
					got, want float64
					most      float64 // relative error
				}{
					{"TTFT mean", st.ttft(), ttft.Mean, 0.2},
					{"TTFT p99", st.ttftQuantile(0.99), ttft.P99, 0.25},
					{"TPOT mean", st.tpot(e.replica), tpot.Mean, 0.12},
					{"TPOT p99", st.tpotQuantile(e.replica, 0.99), tpot.P99, 0.25},
					{"E2E mean", st.e2e(), whole.Mean, 0.12},
					{"E2E p99", st.latency(e.replica).quantile(0.99), whole.P99, 0.25},
				} {
					off := c.got/c.want - 1
					t.Logf("%3.0f%% %6.2f/s %-9s %8.1f ms, events %8.1f ms: %+.0f%%", load*100, e.rate, c.name, c.got*1e3, c.want*1e3, off*100)
					if math.Abs(off) > c.most {
						t.Errorf("at %.0f%% %s is off by %+.0f%%", load*100, c.name, off*100)
					}
				}
			}
		})
	}
}

// TestClosedLoopAgreesWithEvents compares a fixed number of clients with the
// engine's own scheduler. Lengths that vary keep the clients out of step.
func TestClosedLoopAgreesWithEvents(t *testing.T) {
	if underRace {
		t.Skip("nothing to race")
	}
	long := profiles.Workload{
		Input:  profiles.Distribution{Kind: profiles.Uniform, Min: 6500, Max: 8192},
		Output: profiles.Distribution{Kind: profiles.Uniform, Min: 800, Max: 1024},
	}
	// What the token budget of a step bounds: long prompts and short outputs.
	bound := func(input, output float64) func(*Request) {
		return func(r *Request) {
			r.Scenario.Accelerator, r.MaxNumBatchedTokens, r.MaxNumSeqs = "h200-sxm-141gb", 8192, 1024
			r.Scenario.Workload = profiles.Workload{
				Input:  profiles.Distribution{Kind: profiles.Uniform, Min: 0.8 * input, Max: 1.2 * input},
				Output: profiles.Distribution{Kind: profiles.Uniform, Min: 0.5 * output, Max: 1.5 * output},
			}
		}
	}
	for _, tc := range []struct {
		name    string
		change  func(*Request)
		clients []int
		ttft    float64
		always  bool
	}{
		{"4,096 in, 16 out", bound(4096, 16), []int{2, 64}, 0.15, false},
		{"16,384 in, 16 out", bound(16_384, 16), []int{2, 64}, 0.15, false},
		{"2,000 in, 64 out", bound(2000, 64), []int{4, 512}, 0.15, false},
		// Where the budget is just spent, as many clients wait as by chance more
		// than that have come: means know nothing of it.
		{"2,000 in, 64 out, at the knee", bound(2000, 64), []int{256}, 0.5, false},
		{"chat", nil, []int{1, 16, 128}, 0.15, true},
		{"rag", func(r *Request) { r.Scenario.Workload = builtin("rag") }, []int{1, 16, 200}, 0.15, false},
		{"long prompts", func(r *Request) { r.Scenario.Workload = long }, []int{1, 16, 100}, 0.15, true},
	} {
		if !tc.always && !everyCase {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, clients := range tc.clients {
				e := newEvents(t, scenario(tc.change))
				e.clients, e.requests = clients, max(400, 20*clients)
				seen, st := e.run(t), e.replica.closedLoop(float64(clients))
				whole := measured(seen, func(o observed) float64 { return o.e2e }).Mean
				for _, c := range []struct {
					name      string
					got, want float64
					most      float64
				}{
					{"rate", st.rate, float64(clients) / whole, 0.08},
					{"TTFT mean", st.ttft(), measured(seen, func(o observed) float64 { return o.ttft }).Mean, tc.ttft},
					{"TPOT mean", st.tpot(e.replica), measured(seen, func(o observed) float64 { return o.tpot }).Mean, 0.06},
				} {
					off := c.got/c.want - 1
					t.Logf("%3d clients: %s %.4g, events %.4g: %+.0f%%", clients, c.name, c.got, c.want, off*100)
					if math.Abs(off) > c.most {
						t.Errorf("with %d clients %s is off by %+.0f%%", clients, c.name, off*100)
					}
				}
			}
		})
	}
}
