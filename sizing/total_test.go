package sizing

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
)

// inOrder checks the times of a plan: all finite and positive, percentiles in
// order, the first token before the last. A mean may be above its p99: less than one
// percent of the requests may wait for very long.
func inOrder(t interface {
	Helper()
	Errorf(string, ...any)
}, p *Plan) {
	t.Helper()
	if _, err := json.Marshal(p); err != nil {
		t.Errorf("a plan that is not JSON, so that something is not finite: %v", err)
		return
	}
	q := p.Performance
	if q == nil {
		return
	}
	for _, c := range []struct {
		name  string
		times Quantiles
	}{{"TTFT", q.TTFT}, {"TPOT", q.TPOT}, {"E2E", q.E2E}} {
		x := c.times
		for _, v := range []float64{x.Mean, x.P50, x.P99} {
			if !(v > 0) || v > longest {
				t.Errorf("%s is %+v", c.name, x)
				return
			}
		}
		if x.P50 > x.P99 {
			t.Errorf("%s is out of order: %+v", c.name, x)
		}
	}
	if q.TTFT.Mean > q.E2E.Mean*(1+1e-9) {
		t.Errorf("the first token comes after the last: %+v, %+v", q.TTFT, q.E2E)
	}
	if p.Feasible && (!p.Inputs.SLO.Given || p.Inputs.Concurrency == 0) && p.Fleet.Utilization > 1+1e-6 {
		t.Errorf("a feasible plan uses %v of the largest rate", p.Fleet.Utilization)
	}
}

// TestLengthsAtTheEdge: the shortest and the longest requests have a plan, and soon.
func TestLengthsAtTheEdge(t *testing.T) {
	lengths := []float64{1, 2, 5, 10, 100_000, 1_000_000}
	for _, input := range lengths {
		for _, output := range lengths {
			for _, change := range []func(*Request){
				nil,
				func(r *Request) { r.Scenario.Workload.Arrival = rps(1e-9) },
				func(r *Request) { r.Scenario.Workload.Arrival = rps(1e6) },
				func(r *Request) { r.Scenario.Workload.Arrival, r.Count = rps(1), 1 },
				func(r *Request) { r.MaxNumSeqs = 1 },
				func(r *Request) { r.Scenario.Workload.Prefix = profiles.Prefix{Groups: 3, Tokens: 1 << 20} },
				func(r *Request) {
					r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 1}
				},
				func(r *Request) {
					r.Scenario.Workload.Arrival, r.Count = profiles.Arrival{Process: profiles.Closed, Concurrency: 1_000_000}, 1
				},
				func(r *Request) { r.Disaggregate = true },
			} {
				p, err := Compute(scenario(func(r *Request) {
					r.Scenario.Workload = profiles.Workload{Input: fixed(input), Output: fixed(output)}
					if change != nil {
						change(r)
					}
				}))
				if input+output > 131_072 {
					if err == nil || !strings.Contains(err.Error(), "more than the window") {
						t.Errorf("%v in, %v out: %v", input, output, err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				inOrder(t, p)
			}
		}
	}
}

// TestPlansAreTotal draws requests from far beyond what anyone serves.
func TestPlansAreTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := func(name string, low, high float64) float64 {
			return math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, name))
		}
		length := func(name string) profiles.Distribution {
			mean := math.Round(scale(name, 1, 1e6))
			switch rapid.IntRange(0, 2).Draw(t, name+" kind") {
			case 0:
				return fixed(mean)
			case 1:
				return profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 2 * mean}
			}
			return profiles.Distribution{Kind: profiles.Lognormal, Mean: mean, P99: 4 * mean}
		}
		r := scenario(func(r *Request) {
			r.Scenario.Model = rapid.SampledFrom([]string{"llama-3.1-8b", "qwen3-30b-a3b", "llama-3.1-70b", "qwen3-0.6b"}).Draw(t, "model")
			r.Scenario.Workload = profiles.Workload{Input: length("input"), Output: length("output")}
			if rapid.Bool().Draw(t, "shared") {
				r.Scenario.Workload.Prefix = profiles.Prefix{Groups: rapid.IntRange(1, 1000).Draw(t, "groups"), Tokens: int(scale("prefix", 1, 1e6))}
			}
			switch rapid.IntRange(0, 2).Draw(t, "load") {
			case 0:
				r.Scenario.Workload.Arrival = rps(scale("rate", 1e-9, 1e6))
			case 1:
				r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: int(scale("clients", 1, 1e6))}
			}
			if rapid.Bool().Draw(t, "few places") {
				r.MaxNumSeqs = int(scale("places", 1, 1000))
			}
			if rapid.Bool().Draw(t, "given accelerators") {
				r.Count = int(scale("count", 8, 1000))
			}
			if rapid.Bool().Draw(t, "objective") {
				r.Scenario.SLO = []profiles.SLO{{TTFT: time.Duration(scale("ttft", 1e6, 8e13)), E2E: time.Duration(scale("e2e", 1e8, 8e13))}}
			}
			r.Disaggregate = r.Count == 0 && rapid.Bool().Draw(t, "pools")
		})
		p, err := Compute(r)
		if err != nil {
			if strings.Contains(err.Error(), "more than the window") {
				return
			}
			t.Fatal(err)
		}
		inOrder(t, p)
	})
}

// TestInvertIsTotal: neither the guess nor the distribution can keep it from an end.
func TestInvertIsTotal(t *testing.T) {
	for name, below := range map[string]func(float64) float64{
		"never reached": func(float64) float64 { return 0.5 }, "always": func(float64) float64 { return 1 },
		"not a number": func(float64) float64 { return math.NaN() }, "exponential": func(x float64) float64 { return -math.Expm1(-x) },
	} {
		for _, guess := range []float64{0, -1, 1, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)} {
			got := invert(below, 0.99, guess)
			if !(got > 0) || got > longest {
				t.Errorf("%s from %v is %v", name, guess, got)
			}
			if name == "exponential" && math.Abs(got/math.Log(100)-1) > 1e-6 {
				t.Errorf("%s from %v is %v", name, guess, got)
			}
		}
	}
}
