package sizing

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
)

func fixed(n float64) profiles.Distribution {
	return profiles.Distribution{Kind: profiles.Fixed, Mean: n}
}

// TestE2EHoldsWhatTPOTPromises: a request of n tokens takes n − 1 TPOTs after
// its first token, so that the percentiles of the two can not contradict each
// other.
func TestE2EHoldsWhatTPOTPromises(t *testing.T) {
	long := profiles.Distribution{Kind: profiles.Lognormal, Mean: 256, P99: 1000}
	wide := profiles.Distribution{Kind: profiles.Lognormal, Mean: 200, P99: 2500}
	for _, tc := range []struct {
		name   string
		output profiles.Distribution
		p99    float64 // tokens
		rate   float64
	}{
		{"256 tokens", fixed(256), 256, 200}, {"256 tokens, idle", fixed(256), 256, 0.001}, {"2 tokens", fixed(2), 2, 20},
		{"4,000 tokens", fixed(4000), 4000, 1}, {"lognormal", long, 1000, 200}, {"lognormal, idle", long, 1000, 0.001},
		{"wide lognormal", wide, 2500, 50}, {"uniform", profiles.Distribution{Kind: profiles.Uniform, Min: 100, Max: 200}, 199, 50},
		{"normal", profiles.Distribution{Kind: profiles.Normal, Mean: 300, StdDev: 50}, 300 + 50*mathext.NormalQuantile(0.99), 50},
	} {
		for _, model := range []string{"llama-3.1-8b", "qwen3-30b-a3b"} {
			t.Run(tc.name+" "+model, func(t *testing.T) {
				p := mustCompute(t, scenario(func(r *Request) {
					r.Scenario.Model, r.Scenario.Accelerator = model, "h200-sxm-141gb"
					r.Scenario.Workload = profiles.Workload{Input: fixed(1500), Output: tc.output, Arrival: rps(tc.rate)}
				}))
				if !p.Feasible {
					t.Fatal(p.Reasons)
				}
				q := p.Performance
				least := tc.p99 * q.TPOT.P50
				if tc.output.Kind == profiles.Fixed {
					least = (tc.p99 - 1) * q.TPOT.P99
				}
				if q.E2E.P99 < least {
					t.Errorf("E2E p99 %v, want at least %v of %.0f tokens at %+v", q.E2E.P99, least, tc.p99, q.TPOT)
				}
				if most := 1.5 * (q.TTFT.P99 + tc.p99*q.TPOT.P99); q.E2E.P99 > most {
					t.Errorf("E2E p99 %v is above %v", q.E2E.P99, most)
				}
				if q.E2E.P50 > q.E2E.P99 || q.E2E.P50 < q.TTFT.P50 {
					t.Errorf("percentiles out of order: %+v", q.E2E)
				}
			})
		}
	}
}

// TestE2EGrows in the percentile and in the load.
func TestE2EGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.SampledFrom([]profiles.Distribution{
			fixed(100), {Kind: profiles.Lognormal, Mean: 256, P99: 1000}, {Kind: profiles.Uniform, Min: 1, Max: 500},
		}).Draw(t, "output")
		_, r := replicaOf(t, scenario(func(r *Request) { r.Scenario.Workload.Output = output }))
		rate := rapid.Float64Range(0.001, 8).Draw(t, "rate")
		p := rapid.Float64Range(0.5, 0.999).Draw(t, "percentile")
		now, busier := r.at(rate), r.at(rate*rapid.Float64Range(1, 1.5).Draw(t, "growth"))
		if !now.stable || !busier.stable {
			t.Fatalf("not stable at %v/s", rate)
		}
		e2e := now.latency(r)
		low, high := e2e.quantile(p), e2e.quantile(p+(1-p)/2)
		if high < low {
			t.Fatalf("the higher percentile is lower: %v, %v", low, high)
		}
		if got := busier.latency(r).quantile(p); got < low*(1-1e-6) {
			t.Fatalf("more load made requests faster: %v, %v", low, got)
		}
		if got := e2e.below(low); math.Abs(got-p) > 0.05 && output.Kind != profiles.Fixed {
			t.Fatalf("%v of the requests are below the percentile %v", got, p)
		}
	})
}

// TestPointsKnowTheTail compares the points with what is known of the
// distributions in closed form.
func TestPointsKnowTheTail(t *testing.T) {
	for _, d := range []profiles.Distribution{
		fixed(256), {Kind: profiles.Uniform, Min: 100, Max: 300}, {Kind: profiles.Normal, Mean: 500, StdDev: 50},
		{Kind: profiles.Lognormal, Mean: 1500, P99: 8000}, {Kind: profiles.Lognormal, Mean: 256, P99: 1000},
	} {
		t.Run(fmt.Sprint(d), func(t *testing.T) {
			l := newLengths(d, math.MaxInt32)
			weight, mean, square := 0.0, 0.0, 0.0
			for _, p := range l.points() {
				weight, mean, square = weight+p.weight, mean+p.weight*p.value, square+p.weight*p.value*p.value
			}
			want := d.Mean * d.Mean
			switch d.Kind {
			case profiles.Uniform:
				want = (d.Min*d.Min + d.Min*d.Max + d.Max*d.Max) / 3
			case profiles.Normal:
				want += d.StdDev * d.StdDev
			case profiles.Lognormal:
				want *= math.Exp(l.sigma * l.sigma)
			}
			if math.Abs(weight-1) > 1e-9 || math.Abs(mean/l.mean()-1) > 1e-9 || math.Abs(square/want-1) > 0.02 {
				t.Errorf("weight %v, mean %v of %v, square %v of %v", weight, mean, l.mean(), square, want)
			}
			for _, p := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
				if got := l.below(l.quantile(p)); d.Kind != profiles.Fixed && math.Abs(got-p) > 1e-9 {
					t.Errorf("%v of the lengths are below the percentile %v", got, p)
				}
			}
		})
	}
	cut := newLengths(fixed(5000), 4096)
	if cut.below(4095) != 0 || cut.below(4096) != 1 || cut.below(0.5) != 0 {
		t.Error("lengths are not cut at the limit")
	}
}

// TestE2EObjectiveIsKept plans against a bound on whole requests.
func TestE2EObjectiveIsKept(t *testing.T) {
	slo, err := profiles.ParseSLO("e2e=12s")
	if err != nil {
		t.Fatal(err)
	}
	p := mustCompute(t, scenario(func(r *Request) {
		r.Scenario.SLO, r.TargetUtilization = []profiles.SLO{slo}, 1
	}))
	if q := p.Performance; q.Bound != "E2E objective" || math.Abs(q.E2E.P99/12-1) > 0.01 {
		t.Errorf("%s, E2E %+v", q.Bound, q.E2E)
	}
}
