package sizing

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
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

func BenchmarkExplore(b *testing.B) { benchmarkExplore(b, searchFor(nil)) }

// BenchmarkExploreExperts has layouts with data ranks too.
func BenchmarkExploreExperts(b *testing.B) {
	benchmarkExplore(b, searchFor(func(r *SearchRequest) { r.Scenario.Model, r.Scenario.Workload.Arrival = "gpt-oss-120b", rps(50) }))
}

func benchmarkExplore(b *testing.B, r SearchRequest) {
	configurations := 0
	for b.Loop() {
		s, err := Explore(context.Background(), r, nil)
		if err != nil {
			b.Fatal(err)
		}
		configurations += s.Tried
	}
	b.ReportMetric(float64(configurations)/float64(b.N), "configurations")
	b.ReportMetric(float64(configurations)/b.Elapsed().Seconds(), "configurations/s")
}

func explore(t testing.TB, r SearchRequest) *Search {
	t.Helper()
	s, err := Explore(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// few keeps searches of tests small.
func few(accelerators ...string) func(*SearchRequest) {
	return func(r *SearchRequest) { r.Accelerators = accelerators }
}

// TestFrontIsWhatSizeSays plans each option of a front by itself.
func TestFrontIsWhatSizeSays(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		model        string
		accelerators []string
		change       func(*SearchRequest)
	}{
		{"llama-3.1-8b", []string{"h100-sxm-80gb", "l4-24gb", "a100-sxm-80gb"}, nil},
		{"llama-3.1-70b", []string{"h200-sxm-141gb", "b200-180gb"}, nil},
		{"gpt-oss-20b", []string{"h100-sxm-80gb", "mi300x-192gb"}, nil},
		{"deepseek-v2-lite", []string{"h100-sxm-80gb"}, nil},
		{"qwen2.5-7b", []string{"l4-24gb"}, func(r *SearchRequest) {
			r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 300}
		}},
		{"llama-3.1-8b", []string{"t4-16gb", "h20-96gb"}, func(r *SearchRequest) { r.Scenario.Price.USDPerAcceleratorHour = 1.5 }},
	} {
		t.Run(tc.model, func(t *testing.T) {
			r := searchFor(few(tc.accelerators...))
			r.Scenario.Model = tc.model
			if tc.change != nil {
				tc.change(&r)
			}
			s := explore(t, r)
			if len(s.Front) == 0 {
				t.Fatal("no front")
			}
			if slo := s.Inputs.SLO; len(slo.Relaxed) > 0 { // the objective of all of its options
				r.Scenario.SLO = []profiles.SLO{{TTFT: duration(slo.TTFT), TPOT: duration(slo.TPOT), E2E: duration(slo.E2E), Attainment: slo.Attainment}}
			}
			for i, o := range s.Front {
				p := mustCompute(t, r.planFor(o.Configuration))
				near(t, "cost", o.USDPerHour, p.Fleet.USDPerHour)
				near(t, "per 1M", o.USDPer1MOut, p.Fleet.USDPer1MOut)
				near(t, "TTFT", o.TTFT, p.Performance.TTFT.P99)
				near(t, "TPOT", o.TPOT, p.Performance.TPOT.P99)
				near(t, "speed", o.UserTokensPS, 1/p.Performance.TPOT.Mean)
				if o.Replicas != p.Fleet.Replicas || o.Accelerators != p.Fleet.Accelerators || !p.Feasible {
					t.Errorf("%+v, but the plan is %+v", o, p.Fleet)
				}
				in := p.Inputs
				got := Configuration{in.Accelerator, in.TensorParallel, in.PipelineParallel, in.DataParallel, in.ExpertParallel, in.WeightDType, in.KVDType, in.MaxNumSeqs, in.MaxNumBatchedTokens}
				if got != o.Configuration {
					t.Errorf("the plan is for %+v, the option for %+v", got, o.Configuration)
				}
				for j := range s.Front {
					if j != i && s.Front[j].beats(&s.Front[i], 0) {
						t.Errorf("%+v is beaten by %+v", o, s.Front[j])
					}
				}
			}
		})
	}
}

// TestCheapestIsTheCheapest plans every option in full: the coarse evaluation
// must not have hidden a cheaper one, and must be close for all.
func TestCheapestIsTheCheapest(t *testing.T) {
	t.Parallel()
	r := searchFor(few("h100-sxm-80gb", "l4-24gb"))
	r.Scenario.Workload.Arrival = rps(60)
	r.KVDType = "bf16"
	s := explore(t, r)
	for i := range s.Options {
		o := &s.Options[i]
		p := mustCompute(t, r.planFor(o.Configuration))
		if !p.Feasible {
			t.Errorf("%+v serves in the search only: %v", o.Configuration, p.Reasons)
			continue
		}
		if p.Fleet.USDPerHour < s.Cheapest.USDPerHour*(1-1e-9) {
			t.Errorf("%+v costs $%v, the cheapest $%v", o.Configuration, p.Fleet.USDPerHour, s.Cheapest.USDPerHour)
		}
		if math.Abs(o.MaxRPS/p.Performance.MaxRPS-1) > 0.05 {
			t.Errorf("%+v: largest rate %v, in full %v", o.Configuration, o.MaxRPS, p.Performance.MaxRPS)
		}
	}
}

func TestRejectionsSayWhy(t *testing.T) {
	norate := filepath.Join(t.TempDir(), "norate.yaml")
	if err := os.WriteFile(norate, []byte("{key: norate, memory_bytes: 24000000000, bandwidth_gb_per_s: 600}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := searchFor(few("t4-16gb", norate, "h100-sxm-80gb"))
	r.Scenario.Model = "qwen2.5-7b" // 28 heads: TP 8 does not divide them
	r.Scenario.SLO = []profiles.SLO{{TTFT: 250 * time.Millisecond, TPOT: 50 * time.Millisecond}}
	s := explore(t, r)
	codes := map[string]int{}
	n := len(s.Options)
	for _, rejection := range s.Rejections {
		codes[rejection.Code] += rejection.Configurations
		n += rejection.Configurations
		if rejection.Reason == "" || rejection.Accelerator == "" {
			t.Errorf("%+v", rejection)
		}
		if rejection.Accelerator == norate && rejection.Code != "no-rate" {
			t.Errorf("an accelerator without a rate is %s", rejection.Code)
		}
	}
	for _, code := range []string{"no-rate", "parallel", "memory", "slo"} {
		if codes[code] == 0 {
			t.Errorf("nothing is rejected for %s: %v", code, codes)
		}
	}
	if s.Tried != n || s.Tried != 4*20*(3+3+3*2) {
		t.Errorf("%d tried, %d accounted for", s.Tried, n)
	}
}

func TestSaidSettingsStay(t *testing.T) {
	s := explore(t, searchFor(func(r *SearchRequest) {
		r.Accelerators = []string{"h100-sxm-80gb", "h200-sxm-141gb"}
		r.Scenario.Parallel.Tensor, r.WeightDType, r.MaxNumSeqs = 2, "fp8", 100
	}))
	for _, o := range s.Options {
		if o.TensorParallel != 2 || o.WeightDType != "fp8" || o.MaxNumSeqs != 100 {
			t.Errorf("%+v", o.Configuration)
		}
	}
	if s.Tried != 2*2*4 {
		t.Errorf("%d tried, want two accelerators, two caches and four token limits", s.Tried)
	}
}

func TestPipelinesWhereTensorIsNotEnough(t *testing.T) {
	s := explore(t, searchFor(func(r *SearchRequest) {
		r.Scenario.Model, r.Accelerators, r.WeightDType = "llama-3.1-405b", []string{"h100-sxm-80gb"}, "bf16"
		r.Scenario.Workload.Arrival = rps(0.2)
		r.Scenario.SLO = []profiles.SLO{{TTFT: 20 * time.Second, TPOT: time.Second}}
	}))
	if !s.Feasible || s.Cheapest.PipelineParallel < 2 {
		t.Fatalf("cheapest %+v", s.Cheapest)
	}
	for _, o := range s.Options {
		if o.PipelineParallel != s.Cheapest.PipelineParallel {
			t.Errorf("more stages than needed: %+v", o.Configuration)
		}
	}
}

func TestUnpricedHaveNoPrice(t *testing.T) {
	s := explore(t, searchFor(func(r *SearchRequest) {
		few("h800-80gb", "a100-pcie-80gb")(r)
		r.Scenario.SLO = []profiles.SLO{{TTFT: 2 * time.Second, TPOT: time.Second}}
	}))
	if s.Cheapest != nil || len(s.Front) > 0 || !s.Feasible || len(s.Unpriced) != 2 {
		t.Fatalf("cheapest %+v, front %v, unpriced %v", s.Cheapest, s.Front, s.Unpriced)
	}
	for _, o := range s.Options {
		if o.USDPerHour != 0 || o.USDPer1MOut != 0 {
			t.Errorf("%+v has a price", o)
		}
	}
	if s.Unpriced[0].TokensPSPerAcc < s.Unpriced[1].TokensPSPerAcc {
		t.Error("not in the order of tokens per accelerator")
	}
}

func TestQualityIsMarked(t *testing.T) {
	s := explore(t, searchFor(few("h100-sxm-80gb")))
	for _, o := range s.Options {
		want := 0
		if o.WeightDType != "bf16" {
			want++
		}
		if o.KVDType != "bf16" {
			want++
		}
		if len(o.Quality) != want {
			t.Errorf("%s weights and %s cache are marked %v", o.WeightDType, o.KVDType, o.Quality)
		}
	}
	if p := s.Published; p == nil || p.WeightDType != "bf16" || p.KVDType != "bf16" || p.USDPerHour < s.Cheapest.USDPerHour {
		t.Errorf("cheapest as published %+v", p)
	}
}

// TestSearchDoesNotDependOnProcessors compares the JSON of one and of many.
func TestSearchDoesNotDependOnProcessors(t *testing.T) {
	r := searchFor(few("h100-sxm-80gb", "l4-24gb", "h20-96gb"))
	var texts []string
	for _, n := range []int{1, 7} {
		before := runtime.GOMAXPROCS(n)
		text, err := json.Marshal(explore(t, r))
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Error("the result depends on the number of processors")
	}
}

func TestSearchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	groups := 0
	s, err := Explore(ctx, searchFor(nil), func(done, all int) {
		groups = done
		cancel()
	})
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", s, err)
	}
	if groups > 2*runtime.GOMAXPROCS(0) {
		t.Errorf("%d groups were worked on after the end", groups)
	}
}

func TestSearchOfBadInput(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*SearchRequest)
		want   string
	}{
		{"no model", func(r *SearchRequest) { r.Scenario.Model = "" }, "--model is missing"},
		{"unknown accelerator", few("h100-sxm-80gb", "h1000"), `unknown accelerator "h1000"`},
		{"twice the same", few("l4-24gb", "l4-24gb"), "l4-24gb is listed twice"},
		{"a degree that divides nothing", func(r *SearchRequest) { r.Scenario.Parallel.Tensor = 3 }, "--tp 3 does not divide"},
		{"utilization", func(r *SearchRequest) { r.GPUMemoryUtilization = 1.2 }, "--gpu-memory-utilization 1.2"},
		{"format", func(r *SearchRequest) { r.WeightDType = "fp7" }, `unknown weight format "fp7"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Explore(context.Background(), searchFor(tc.change), nil); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestDefaultObjectiveDoesNotEndASearch: what nobody asked for makes nothing
// infeasible, unlike what somebody did.
func TestDefaultObjectiveDoesNotEndASearch(t *testing.T) {
	r := searchFor(func(r *SearchRequest) { r.Accelerators, r.Scenario.Model = []string{"a40-48gb"}, "llama-3.1-70b" })
	s := explore(t, r)
	if !s.Feasible || len(s.Warnings) == 0 || s.Warnings[0].Code != "default-slo" {
		t.Errorf("feasible %v, warnings %v", s.Feasible, s.Warnings)
	}
	r.Scenario.SLO = []profiles.SLO{{TTFT: 500 * time.Millisecond, TPOT: 50 * time.Millisecond}}
	if s := explore(t, r); s.Feasible {
		t.Errorf("an objective that was asked for is left out: %+v", s.Cheapest)
	}
}
