package sizing

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
)

// sized70B breaks the default TTFT of chat with a lone request.
func sized70B(change func(*Request)) Request {
	return scenario(func(r *Request) {
		r.Scenario.Model, r.Scenario.Parallel.Tensor, r.Scenario.Workload.Arrival = "llama-3.1-70b", 4, rps(20)
		if change != nil {
			change(r)
		}
	})
}

// replicasOf is how many replicas a plan has, infinitely many when there is none.
func replicasOf(t *testing.T, r Request) float64 {
	t.Helper()
	p := mustCompute(t, r)
	if !p.Feasible {
		return math.Inf(1)
	}
	return float64(p.Fleet.Replicas)
}

// TestStricterIsNotCheaper walks bounds from loose to strict; the default takes
// its place by the bound that is planned for.
func TestStricterIsNotCheaper(t *testing.T) {
	for name, r := range map[string]Request{
		"70B":      sized70B(nil),
		"70B, A40": sized70B(func(r *Request) { r.Scenario.Accelerator = "a40-48gb" }),
		"8B, L4":   scenario(func(r *Request) { r.Scenario.Accelerator, r.Scenario.Workload.Arrival = "l4-24gb", rps(20) }),
		"8B, H100": scenario(func(r *Request) { r.Scenario.Workload.Arrival = rps(200) }),
		"in flight": sized70B(func(r *Request) {
			r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 300}
		}),
		"long and fixed": scenario(func(r *Request) { r.Scenario.Workload.Arrival, r.Scenario.Workload.Input = rps(5), fixed(16_000) }),
		"RAG, 70B":       sized70B(func(r *Request) { r.Scenario.Workload.Name = "rag" }),
	} {
		t.Run(name, func(t *testing.T) {
			r.Scenario.SLO = nil
			p := mustCompute(t, r)
			standard := p.Inputs.SLO
			ttfts := []float64{16, 8, 4, 2, 1.5, 1, 0.8, 0.65, 0.5, 0.25, standard.TTFT}
			slices.SortFunc(ttfts, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
			last := 0.0
			for _, ttft := range ttfts {
				r.Scenario.SLO = []profiles.SLO{{TTFT: duration(ttft), TPOT: duration(standard.TPOT)}}
				n := replicasOf(t, r)
				if n < last {
					t.Errorf("TTFT of %v s takes %v replicas, a looser one %v", ttft, n, last)
				}
				if last = n; ttft == standard.TTFT && n != float64(p.Fleet.Replicas) {
					t.Errorf("the objective that the default plan names takes %v replicas, the plan %d", n, p.Fleet.Replicas)
				}
			}
		})
	}
}

// TestStricterIsNotCheaperAnywhere tries pairs of objectives.
func TestStricterIsNotCheaperAnywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := sized70B(func(r *Request) {
			r.Scenario.Model = rapid.SampledFrom([]string{"llama-3.1-8b", "llama-3.1-70b"}).Draw(rt, "model")
			r.Scenario.Accelerator = rapid.SampledFrom([]string{"h100-sxm-80gb", "a40-48gb"}).Draw(rt, "accelerator")
		})
		ttft, tpot := rapid.Float64Range(0.1, 5).Draw(rt, "ttft"), rapid.Float64Range(0.01, 0.2).Draw(rt, "tpot")
		loose := profiles.SLO{TTFT: duration(ttft), TPOT: duration(tpot)}
		strict := profiles.SLO{TTFT: duration(ttft * rapid.Float64Range(0.3, 1).Draw(rt, "x")), TPOT: duration(tpot * rapid.Float64Range(0.3, 1).Draw(rt, "y"))}
		count := func(slo profiles.SLO) float64 {
			r.Scenario.SLO = []profiles.SLO{slo}
			s, err := resolve(r)
			if err != nil {
				rt.Fatal(err)
			}
			l, err := s.newLayout()
			if err != nil {
				rt.Fatal(err)
			}
			m := s.plannedMemory(l)
			s.fitLength(&m, l)
			m.fill(s, l)
			x := s.warmMix(m, l)
			m.MixSequences = mixSequences(m, l, x)
			replica := s.newReplica(m, x)
			rate, _ := s.limits.maxRate(replica)
			if rate == 0 {
				return math.Inf(1)
			}
			return float64(planLoad(replica, s.inputs, rate).replicas)
		}
		if a, b := count(loose), count(strict); b < a {
			rt.Errorf("%v takes %v replicas, the stricter %v takes %v", loose, a, strict, b)
		}
	})
}

// TestRelaxedBounds: what takes the place of a default bound is beyond a lone
// request, said in round numbers, and held by the plan.
func TestRelaxedBounds(t *testing.T) {
	p := mustCompute(t, sized70B(nil))
	slo := p.Inputs.SLO
	if len(slo.Relaxed) != 1 || slo.Relaxed[0].Name != "TTFT" || slo.Relaxed[0].Default != 0.5 || slo.Relaxed[0].Planned != slo.TTFT || slo.TPOT != 0.05 || slo.Given {
		t.Fatalf("objective %+v", slo)
	}
	if b := slo.Relaxed[0]; b.Lone <= 0.5 || b.Planned < b.Lone || b.Planned > 2*b.Lone {
		t.Errorf("relaxed %+v", b)
	}
	if p.Performance.TTFT.P99 > slo.TTFT || p.Performance.MaxRPS <= 0 {
		t.Errorf("TTFT p99 %v, planned for %v", p.Performance.TTFT.P99, slo.TTFT)
	}
	for _, a := range p.Assumptions {
		if a.Name == "SLO" && a.Value != describeSLO(slo) {
			t.Errorf("the assumption is %s", a.Value)
		}
	}
	pools := mustCompute(t, sized70B(func(r *Request) { r.Disaggregate = true }))
	if pools.Pools == nil || pools.Pools.TTFT.P99 > slo.TTFT || pools.Pools.Prefill.Bound != "TTFT objective" {
		t.Errorf("pools %+v", pools.Pools)
	}
	if p := mustCompute(t, scenario(nil)); p.Inputs.SLO.Relaxed != nil || p.Inputs.SLO.TTFT != 0.5 {
		t.Errorf("a default that holds was changed: %+v", p.Inputs.SLO)
	}
}

// TestSearchRelaxesForAll: one objective for all configurations, so that the
// slowest is not the cheapest for having the loosest.
func TestSearchRelaxesForAll(t *testing.T) {
	r := searchFor(func(r *SearchRequest) {
		r.Accelerators, r.Scenario.Model, r.Scenario.Parallel.Tensor = []string{"h100-sxm-80gb", "a100-sxm-80gb"}, "llama-3.1-70b", 4
		r.WeightDType, r.Scenario.Workload.Arrival = "bf16", rps(20)
	})
	s := explore(t, r)
	if !s.Feasible || len(s.Inputs.SLO.Relaxed) != 1 || s.Inputs.SLO.Given {
		t.Fatalf("feasible %v, objective %+v", s.Feasible, s.Inputs.SLO)
	}
	for _, o := range s.Front {
		if o.TTFT > s.Inputs.SLO.TTFT || o.TPOT > s.Inputs.SLO.TPOT {
			t.Errorf("%+v is beyond %+v", o.Configuration, s.Inputs.SLO)
		}
	}
	r.Scenario.SLO = []profiles.SLO{{TTFT: duration(s.Inputs.SLO.TTFT) * 2, TPOT: 50 * time.Millisecond}}
	looser, err := Explore(context.Background(), r, nil)
	if err != nil || looser.Cheapest.USDPerHour > s.Cheapest.USDPerHour {
		t.Errorf("twice the TTFT costs $%v, not at most $%v (%v)", looser.Cheapest.USDPerHour, s.Cheapest.USDPerHour, err)
	}
}

func TestRoundUp(t *testing.T) {
	for v, want := range map[float64]float64{0.8301: 0.84, 0.83: 0.83, 1.05: 1.1, 12.01: 13, 123: 130, 0.0101: 0.011, 1: 1} {
		if got := roundUp(v); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}
