package infer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/infer"
	"github.com/llmctl/llmctl/profiles"
)

// vllmBuckets are the bounds that vLLM gives its histograms of tokens: 1, 2 and 5
// times powers of ten up to the longest context.
var vllmBuckets = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}

// histogram prints lengths as a page does.
func histogram(name string, lengths []int) string {
	var b strings.Builder
	sum := 0
	fmt.Fprintf(&b, "# TYPE %s histogram\n", name)
	for _, bound := range vllmBuckets {
		n := 0
		for _, v := range lengths {
			if float64(v) <= bound {
				n++
			}
		}
		fmt.Fprintf(&b, "%s_bucket{le=%q,model_name=\"org/m\"} %d\n", name, fmt.Sprintf("%.1f", bound), n)
	}
	for _, v := range lengths {
		sum += v
	}
	fmt.Fprintf(&b, "%s_bucket{le=\"+Inf\",model_name=\"org/m\"} %d\n%s_sum{model_name=\"org/m\"} %d\n%s_count{model_name=\"org/m\"} %d\n",
		name, len(lengths), name, sum, name, len(lengths))
	return b.String()
}

func drawn(n int, d profiles.Distribution, uniform bool) []int {
	r := rand.New(rand.NewPCG(5, 6))
	mu, sigma := 0.0, 0.0
	if !uniform {
		mu, sigma = d.LogParameters()
	}
	out := make([]int, n)
	for i := range out {
		if uniform {
			out[i] = int(d.Min) + r.IntN(int(d.Max-d.Min)+1)
		} else {
			out[i] = max(1, int(math.Exp(mu+sigma*r.NormFloat64())))
		}
	}
	return out
}

func page(t *testing.T, text string, at time.Time) infer.Page {
	t.Helper()
	p, err := infer.ParsePage(strings.NewReader(text), at)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHistogramsAreInferred(t *testing.T) {
	prompt := profiles.Distribution{Kind: profiles.Lognormal, Mean: 1500, P99: 8000}
	lengths := drawn(20_000, prompt, false)
	answers := drawn(20_000, profiles.Distribution{Min: 1, Max: 4000}, true)
	text := func(n int) string {
		return histogram("vllm:request_prompt_tokens", lengths[:n]) + histogram("vllm:request_generation_tokens", answers[:n]) +
			fmt.Sprintf("# TYPE vllm:request_success_total counter\nvllm:request_success_total{model_name=\"org/m\",finished_reason=\"stop\"} %d\n", n/2) +
			fmt.Sprintf("vllm:request_success_total{model_name=\"org/m\",finished_reason=\"length\"} %d\n", n-n/2) +
			"vllm:prefix_cache_queries_total 1e6\nvllm:prefix_cache_hits_total 4e5\n"
	}
	start := time.Unix(1_800_000_000, 0)
	r, err := infer.FromMetrics(page(t, text(19_950), start), page(t, text(20_000), start.Add(10*time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	w := again(t, r.Scenario).Workload
	if w.Input.Kind != profiles.Lognormal || w.Output.Kind != profiles.Empirical {
		t.Errorf("workload %+v", w)
	}
	near(t, "mean input", w.Input.Mean, sampleMean(lengths), 0.001)
	near(t, "p99 of input", w.Input.P99, 8000, 0.1)
	near(t, "mean output", mean(w.Output), sampleMean(answers), 0.01)
	slices.Sort(answers)
	near(t, "median output", w.Output.Samples.Values[50], float64(answers[len(answers)/2]), 0.25)
	near(t, "rate", w.Arrival.RatePerS, 5, 0.001)
	near(t, "shared tokens", float64(w.Prefix.Tokens), 0.4*sampleMean(lengths), 0.01)
}

func sampleMean(lengths []int) float64 {
	sum := 0.0
	for _, v := range lengths {
		sum += float64(v)
	}
	return sum / float64(len(lengths))
}

func TestPages(t *testing.T) {
	start := time.Unix(1_800_000_100, 0)
	tests := []struct {
		name, text    string
		input, output float64 // means, 0 where not known
		rate          float64
		prefix        int
	}{
		{"SGLang without histograms", "# TYPE sglang:num_requests_total counter\nsglang:num_requests_total{model_name=\"m\"} 10\n" +
			"# TYPE sglang:prompt_tokens_total counter\nsglang:prompt_tokens_total{model_name=\"m\"} 1000\n" +
			"# TYPE sglang:generation_tokens_total counter\nsglang:generation_tokens_total{model_name=\"m\"} 500\n" +
			"# TYPE sglang:cached_tokens_total counter\nsglang:cached_tokens_total{model_name=\"m\"} 250\n" +
			"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.8e9\n", 100, 50, 0.1, 25},
		{"llmctl's gateway", "llmctl_gateway_requests_total{tenant=\"a\",alias=\"x\",status=\"200\",outcome=\"ok\"} 30\n" +
			"llmctl_gateway_requests_total{tenant=\"b\",alias=\"y\",status=\"200\",outcome=\"ok\"} 10\n" +
			"llmctl_gateway_requests_total{tenant=\"b\",alias=\"y\",status=\"401\",outcome=\"unauthorized\"} 99\n" +
			"llmctl_gateway_tokens_total{kind=\"input\"} 4000\nllmctl_gateway_tokens_total{kind=\"output\"} 400\nllmctl_gateway_tokens_total{kind=\"cached\"} 0\n", 100, 10, 0, 0},
		{"requests alone", "vllm:request_success_total 7\n", 0, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := infer.FromMetrics(page(t, tt.text, start))
			if err != nil {
				t.Fatal(err)
			}
			w := again(t, r.Scenario).Workload
			if w.Input.Mean != tt.input || w.Output.Mean != tt.output || w.Arrival.RatePerS != tt.rate || w.Prefix.Tokens != tt.prefix || w.Prefix.None != (tt.prefix == 0) {
				t.Errorf("workload %+v", w)
			}
		})
	}
	for _, text := range []string{"", "go_goroutines 3\n", "vllm:request_success_total 0\n"} {
		if _, err := infer.FromMetrics(page(t, text, start)); err == nil {
			t.Errorf("a scenario of %q", text)
		}
	}
	if _, err := infer.ParsePage(strings.NewReader("<html>"), start); err == nil {
		t.Error("a page of HTML")
	}
}

// A page in a file has no time, and a server that is idle no rate.
func TestRateOfPages(t *testing.T) {
	const text = "vllm:request_success_total 7\nprocess_start_time_seconds 1.8e9\n"
	start := time.Unix(1_800_000_000, 0)
	for name, pages := range map[string][]infer.Page{
		"from a file": {page(t, text, time.Time{})},
		"idle":        {page(t, text, start.Add(time.Second)), page(t, text, start.Add(2*time.Second))},
		"restarted":   {page(t, "vllm:request_success_total 9\n", start), page(t, text, start.Add(time.Second))},
	} {
		r, err := infer.FromMetrics(pages...)
		if err != nil || r.Scenario.Workload.Arrival != (profiles.Arrival{}) || !strings.HasPrefix(r.Basis[0].Text, "not known") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func FuzzPage(f *testing.F) {
	f.Add(histogram("vllm:request_prompt_tokens", []int{1, 50, 7000}) + "vllm:request_success_total 3\n")
	f.Add("# TYPE vllm:request_prompt_tokens histogram\nvllm:request_prompt_tokens_bucket{le=\"1\"} 9\nvllm:request_prompt_tokens_bucket{le=\"NaN\"} 1\nvllm:request_prompt_tokens_sum 1e300\nvllm:request_prompt_tokens_count 3\n")
	f.Add("llmctl_gateway_requests_total{tenant=\"a\",alias=\"\\n\",outcome=\"ok\"} 1e300\nllmctl_gateway_tokens_total{kind=\"input\"} +Inf\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := infer.ParsePage(strings.NewReader(text), time.Unix(1_800_000_000, 0))
		if err != nil {
			return
		}
		r, err := infer.FromMetrics(p)
		if err != nil {
			return
		}
		if err := r.Scenario.Workload.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

// Lengths of one bucket are as good as equal, and no share is written with an
// exponent.
func TestOneBucket(t *testing.T) {
	text := histogram("vllm:request_prompt_tokens", slices.Repeat([]int{60}, 50)) + histogram("vllm:request_generation_tokens", slices.Repeat([]int{3, 300}, 50)) +
		"vllm:prefix_cache_queries_total 1e9\nvllm:prefix_cache_hits_total 7\n"
	r, err := infer.FromMetrics(page(t, text, time.Time{}))
	if err != nil {
		t.Fatal(err)
	}
	if want := (profiles.Distribution{Kind: profiles.Fixed, Mean: 60}); r.Scenario.Workload.Input != want {
		t.Errorf("input %+v, want %+v", r.Scenario.Workload.Input, want)
	}
	for _, b := range r.Basis {
		if strings.Contains(b.Text, "e-") {
			t.Errorf("%s: %s", b.Part, b.Text)
		}
	}
}
