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
	{"long and mostly shared", func(r *Request) {
		r.Scenario.Workload = profiles.Workload{
			Name:  "agent",
			Input: profiles.Distribution{Kind: profiles.Lognormal, Mean: 8000, P99: 32_000}, Output: profiles.Distribution{Kind: profiles.Lognormal, Mean: 400, P99: 2000},
			Prefix: profiles.Prefix{Groups: 32, Tokens: 5000},
		}
	}, 1, false},
	{"1,024 in, 512 out", func(r *Request) { r.Scenario.Workload = profiles.Workload{Input: fixed(1024), Output: fixed(512)} }, 0.5, false},
	{"16,000 in, 200 out", func(r *Request) { r.Scenario.Workload = profiles.Workload{Input: fixed(16000), Output: fixed(200)} }, 1, true},
	{"500 in, 200 out", func(r *Request) { r.Scenario.Workload = profiles.Workload{Input: fixed(500), Output: fixed(200)} }, 0.6, false},
	{"1,000 in, 10 out", func(r *Request) { r.Scenario.Workload = profiles.Workload{Input: fixed(1000), Output: fixed(10)} }, 1, false},
	{"chat, 1,024 tokens a step", func(r *Request) { r.MaxNumBatchedTokens = 1024 }, 1, false},
	{"chat, 64 sequences", func(r *Request) { r.Scenario.SLO, r.MaxNumSeqs = loose, 64 }, 1, false},
	{"rag, hardware's limit", func(r *Request) { r.Scenario.Workload, r.Scenario.SLO = builtin("rag"), loose }, 1, false},
	{"70B, TP 4", func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "llama-3.1-70b", 4 }, 1, false},
	{"mixture of experts", func(r *Request) { r.Scenario.Model, r.Scenario.Accelerator = "qwen3-30b-a3b", "h200-sxm-141gb" }, 1, true},
	{"8B on L40S", func(r *Request) { r.Scenario.Accelerator = "l40s-48gb" }, 1, false},
}

// TestClosedFormAgreesWithEvents compares the plan's times with the engine's own
// scheduler in virtual time, at 10 to 85% of the largest rate. Run with -v
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
			loads := []float64{0.5, 0.7, 0.85}
			if tc.name == "chat" || tc.name == "500 in, 200 out" {
				loads = append([]float64{0.1, 0.25}, loads...)
			}
			for _, load := range loads {
				e.rate = load * rate
				seen, st := e.run(t), e.replica.at(e.rate)
				ttft := measured(seen, func(o observed) float64 { return o.ttft })
				tpot := measured(seen, func(o observed) float64 { return o.tpot })
				whole := measured(seen, func(o observed) float64 { return o.e2e })
				tail := 0.25
				if st.prompts.slots.waits > 0.01 { // of rare and long waits, which few requests have
					tail = 0.4
				}
				for _, c := range []struct {
					name      string
					got, want float64
					most      float64 // relative error
				}{
					{"TTFT mean", st.ttft(), ttft.Mean, 0.2},
					{"TTFT p99", st.ttftQuantile(0.99), ttft.P99, tail},
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

// TestWaitForAPlaceAgreesWithEvents compares the wait where places are few with the
// engine's own scheduler, at shares of the rate that a closed loop reaches.
func TestWaitForAPlaceAgreesWithEvents(t *testing.T) {
	few := func(places int, input, output float64) func(*Request) {
		return func(r *Request) {
			r.Scenario.SLO, r.MaxNumSeqs = loose, places
			r.Scenario.Workload = profiles.Workload{Input: fixed(input), Output: fixed(output)}
		}
	}
	for _, tc := range []struct {
		name     string
		change   func(*Request)
		requests int
		most     float64 // relative error of the mean and of the p99
	}{
		{"one place", few(1, 1000, 256), 4000, 0.5},
		{"one place, long prompts", few(1, 16_000, 10), 4000, 0.4},
		{"4 places", few(4, 1000, 256), 4000, 0.45},
		{"16 places", few(16, 1000, 256), 6000, 0.3},
		{"chat, 16 places", func(r *Request) { r.Scenario.SLO, r.MaxNumSeqs = loose, 16 }, 6000, 0.5},
		{"chat, cache of 5 requests", func(r *Request) {
			r.Scenario.SLO, r.Scenario.Model, r.Scenario.Parallel.Tensor = loose, "llama-3.1-70b", 2
		}, 3000, 0.5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, scenario(tc.change))
			e.requests = tc.requests
			most := e.replica.closedLoop(e.replica.capacity).rate
			for _, load := range []float64{0.5, 0.7, 0.85} {
				e.rate = load * most
				seen, st := measured(e.run(t), func(o observed) float64 { return o.ttft }), e.replica.at(e.rate)
				for _, c := range []struct {
					name      string
					got, want float64
				}{{"mean", st.ttft(), seen.Mean}, {"p99", st.ttftQuantile(0.99), seen.P99}} {
					off := c.got/c.want - 1
					t.Logf("%3.0f%% %6.2f/s TTFT %-4s %8.2f s, events %8.2f s: %+.0f%%", load*100, e.rate, c.name, c.got, c.want, off*100)
					if math.Abs(off) > tc.most {
						t.Errorf("at %.0f%% the %s of TTFT is off by %+.0f%%", load*100, c.name, off*100)
					}
				}
			}
		})
	}
}

// TestLooserObjectivesCarryMore: with few places the objective decides how much,
// up to what a closed loop reaches.
func TestLooserObjectivesCarryMore(t *testing.T) {
	for _, places := range []int{1, 16} {
		var last float64
		for _, bound := range []time.Duration{500 * time.Millisecond, 5 * time.Second, time.Minute, time.Hour} {
			p := mustCompute(t, scenario(func(r *Request) {
				r.MaxNumSeqs, r.Scenario.SLO = places, []profiles.SLO{{TTFT: bound}}
			}))
			closed := mustCompute(t, scenario(func(r *Request) {
				r.MaxNumSeqs, r.Scenario.SLO, r.Count = places, []profiles.SLO{{E2E: 23 * time.Hour}}, 1
				r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: places}
			}))
			rate := p.Performance.MaxRPS
			if rate <= last || rate > closed.Performance.RPS*(1+1e-6) {
				t.Errorf("%d places, TTFT %v: %v/s after %v/s, closed loop %v/s", places, bound, rate, last, closed.Performance.RPS)
			}
			if p.Performance.Bound != boundBySequences {
				t.Errorf("%d places, TTFT %v: stopped by %s", places, bound, p.Performance.Bound)
			}
			last = rate
		}
	}
}

// TestLowLoadMeetsARunningStep: at a tenth of the load the p99 has all of a running
// step, not half of it.
func TestLowLoadMeetsARunningStep(t *testing.T) {
	e := newEvents(t, scenario(func(r *Request) {
		r.Scenario.Workload = profiles.Workload{Input: fixed(500), Output: fixed(200)}
	}))
	st := e.replica.at(2)
	own, step := st.prompts.own[0].value, st.decode.Seconds
	if p50, p99 := st.ttftQuantile(0.5), st.ttftQuantile(0.99); p99 < own+0.95*step || p50 > own+0.8*step || st.ttft() > p99 {
		t.Errorf("own %v, step %v: TTFT p50 %v, p99 %v, mean %v", own, step, p50, p99, st.ttft())
	}
}
