package sizing

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// TestPoolsAgreeWithEvents: a prefill pool is an engine whose requests end with
// their first token, a decode pool one whose prompts take no time.
func TestPoolsAgreeWithEvents(t *testing.T) {
	if underRace {
		t.Skip("nothing to race")
	}
	for _, tc := range []struct {
		name   string
		change func(*Request)
		always bool
	}{
		{"chat", nil, true},
		{"rag", func(r *Request) { r.Scenario.Workload = builtin("rag") }, false},
		{"70B, TP 4", func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "llama-3.1-70b", 4 }, true},
	} {
		if !tc.always && !everyCase {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, scenario(tc.change))
			e.requests = 6000
			q := e.replica.split(1e18) // in no time
			objective := limits{ttft: 2, quantile: 0.99}
			prefillMax, _ := objective.maxRate(q.prefill)
			q.serve(q.prefill.at(prefillMax / 2))
			decodeMax, _ := limits{tpot: 0.05, quantile: 0.99}.maxRate(q.decode)
			whole := e.situation.workload
			for _, load := range []float64{0.5, 0.85} {
				first := e
				first.situation.workload = whole
				first.situation.workload.Output = fixed(1)
				first.rate = load * prefillMax
				seen := measured(first.run(t), func(o observed) float64 { return o.ttft })
				st := q.prefill.at(first.rate)
				compare(t, "TTFT mean", load, st.ttft(), seen.Mean, 0.15)
				compare(t, "TTFT p99", load, st.ttftQuantile(0.99), seen.P99, 0.25)

				rest := e
				rest.situation.workload = whole
				rest.free, rest.rate = true, load*decodeMax
				seen = measured(rest.run(t), func(o observed) float64 { return o.tpot })
				st = q.decode.at(rest.rate)
				compare(t, "TPOT mean", load, st.tpot(q.decode), seen.Mean, 0.1)
				compare(t, "TPOT p99", load, st.tpotQuantile(q.decode, 0.99), seen.P99, 0.2)
			}
		})
	}
}

func compare(t *testing.T, name string, load, got, want, most float64) {
	t.Helper()
	off := got/want - 1
	t.Logf("%3.0f%% %s %.4g s, events %.4g s: %+.0f%%", load*100, name, got, want, off*100)
	if math.Abs(off) > most {
		t.Errorf("at %.0f%% %s is off by %+.0f%%", load*100, name, off*100)
	}
}

func TestPools(t *testing.T) {
	separate := func(change func(*Request)) *Plan {
		return mustCompute(t, scenario(func(r *Request) {
			r.Disaggregate = true
			r.Scenario.Workload = builtin("rag")
			r.Scenario.Workload.Arrival = rps(100)
			if change != nil {
				change(r)
			}
		}))
	}
	p := separate(nil)
	out := p.Pools
	if out == nil || out.Prefill.Replicas < 1 || out.Decode.Replicas < 1 || out.Accelerators != out.Prefill.Accelerators+out.Decode.Accelerators {
		t.Fatalf("%+v %v", out, p.Warnings)
	}
	if out.TPOT.P99 > p.Inputs.SLO.TPOT || out.TTFT.P99 > p.Inputs.SLO.TTFT {
		t.Errorf("the objective %+v does not hold: TPOT %+v, TTFT %+v", p.Inputs.SLO, out.TPOT, out.TTFT)
	}
	// 6,000 tokens of 131,072 B at 50 GB/s.
	if want := 6000 * 131072 / 50e9; math.Abs(out.TransferS/want-1) > 0.01 {
		t.Errorf("sending takes %v s, want %v", out.TransferS, want)
	}
	if got := separate(func(r *Request) { r.Scenario.Parallel.Tensor = 2 }).Pools.TransferS; math.Abs(got/out.TransferS-0.5) > 0.01 {
		t.Errorf("two ranks send in %v s, one in %v", got, out.TransferS)
	}
	slow := separate(func(r *Request) { r.TransferBandwidth = 8e9 }).Pools
	if slow.TTFT.Mean-slow.TransferS < 0 || slow.Prefill.MaxRPS >= out.Prefill.MaxRPS || slow.Decode.Bound != "transfer of caches" {
		t.Errorf("over a slow link: %+v", slow)
	}
	if spare := separate(func(r *Request) { r.Spare = 1 }).Pools; spare.Prefill.Replicas != out.Prefill.Replicas+1 || spare.Decode.Replicas != out.Decode.Replicas+1 {
		t.Errorf("one spare in each pool: %+v", spare)
	}
	little := separate(func(r *Request) { r.Scenario.Workload.Arrival = rps(0.5) })
	if !hasWarning(little, "disaggregate") || little.Pools.Accelerators != 2 {
		t.Errorf("two pools for half a request a second: %+v %v", little.Pools, little.Warnings)
	}
	if none := mustCompute(t, scenario(nil)); none.Pools != nil {
		t.Error("pools that nobody asked for")
	}
}

func TestTightObjective(t *testing.T) {
	e := newEvents(t, scenario(nil))
	alone := e.situation.newReplica(e.memory, e.replica.mix).at(idleRate).ttftQuantile(0.99)
	for times, want := range map[float64]bool{1.05: true, 2: false} {
		p := mustCompute(t, scenario(func(r *Request) {
			r.Scenario.SLO = []profiles.SLO{{TTFT: time.Duration(times * alone * float64(time.Second))}}
		}))
		if !p.Feasible || hasWarning(p, "tight-slo") != want {
			t.Errorf("%v times what a lone request takes: feasible %v, warnings %v", times, p.Feasible, p.Warnings)
		}
	}
}

func TestReplicasAtHand(t *testing.T) {
	plan := func(change func(*Request)) *Plan { return mustCompute(t, scenario(change)) }
	one := plan(nil)
	most := one.Performance.MaxRPS
	for _, tc := range []struct {
		name   string
		change func(*Request)
		want   func(p *Plan) bool
	}{
		{"all of eight", func(r *Request) { r.Count = 8 }, func(p *Plan) bool {
			return p.Feasible && p.Fleet.Replicas == 8 && math.Abs(p.Fleet.RPS/(8*most)-1) < 1e-9 && p.Fleet.Utilization == 1
		}},
		{"pairs of seven", func(r *Request) { r.Count, r.Scenario.Parallel.Tensor = 7, 2 }, func(p *Plan) bool {
			return p.Fleet.Replicas == 3 && p.Fleet.Accelerators == 6 && hasWarning(p, "count")
		}},
		{"a load that they carry", func(r *Request) { r.Count, r.Scenario.Workload.Arrival = 4, rps(10) }, func(p *Plan) bool {
			return p.Feasible && p.Fleet.Replicas == 4 && p.Performance.RPS == 2.5
		}},
		{"beyond the default objective", func(r *Request) { r.Count, r.Scenario.Workload.Arrival = 1, rps(most*1.1) }, func(p *Plan) bool {
			return p.Feasible && p.Performance.TTFT.P99 > p.Inputs.SLO.TTFT && hasWarning(p, "default-slo")
		}},
		{"beyond an objective that was said", func(r *Request) {
			r.Count, r.Scenario.Workload.Arrival, r.Scenario.SLO = 1, rps(most*1.1), []profiles.SLO{profiles.DefaultSLO("chat")}
		}, func(p *Plan) bool {
			return !p.Feasible && p.Performance != nil && strings.Contains(p.Reasons[0], "TTFT p99 is")
		}},
		{"beyond what they can do", func(r *Request) { r.Count, r.Scenario.Workload.Arrival = 1, rps(1000) }, func(p *Plan) bool {
			return !p.Feasible && p.Performance == nil && strings.Contains(p.Reasons[0], "one replica can not carry 1,000 requests/s")
		}},
		{"clients beyond what they can hold", func(r *Request) {
			r.Count, r.Scenario.Workload.Arrival = 1, profiles.Arrival{Process: profiles.Closed, Concurrency: 5000}
		}, func(p *Plan) bool {
			return p.Feasible && math.Abs(p.Performance.RPS*p.Performance.E2E.Mean/5000-1) < 1e-3 && p.Performance.TTFT.Mean > 10
		}},
		{"one may fail", func(r *Request) { r.Spare, r.Scenario.Workload.Arrival = 1, rps(50) }, func(p *Plan) bool {
			f := p.Fleet
			return f.Replicas == f.Needed+1 && f.Spare == 1 && f.UtilizationWithFailures <= 0.8 && f.Utilization < f.UtilizationWithFailures &&
				f.Needed == plan(func(r *Request) { r.Scenario.Workload.Arrival = rps(50) }).Fleet.Replicas
		}},
		{"one of four may fail", func(r *Request) { r.Spare, r.Count = 1, 4 }, func(p *Plan) bool {
			return math.Abs(p.Fleet.RPS/(3*most)-1) < 1e-9 && math.Abs(p.Fleet.UtilizationWithFailures-1) < 1e-9
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if p := plan(tc.change); !tc.want(p) {
				t.Errorf("%v %+v %+v %+v", p.Feasible, p.Fleet, p.Performance, p.Reasons)
			}
		})
	}
}
