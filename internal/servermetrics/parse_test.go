package servermetrics_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/llmctl/llmctl/internal/servermetrics"
	"github.com/llmctl/llmctl/reports/record"
)

func TestParse(t *testing.T) {
	unknown := servermetrics.Unknown()
	with := func(change func(*record.ServerSample)) record.ServerSample {
		s := unknown
		change(&s)
		return s
	}
	tests := []struct {
		name string
		page string
		want record.ServerSample
	}{
		{"vLLM V1", `
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 7.0
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1000.0
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 400.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 1e+06
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 5000.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.001"} 1
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 2
vllm:time_to_first_token_seconds_sum 3
vllm:time_to_first_token_seconds_count 2
`, record.ServerSample{Running: 3, Waiting: 0, KVUsage: 0.25, Preemptions: 7, PrefixQueries: 1000, PrefixHits: 400, PromptTokens: 1e6, GenerationTokens: 5000}},
		{"vLLM V0 names, untyped", "vllm:gpu_cache_usage_perc 0.5\nvllm:gpu_prefix_cache_queries_total 10\nvllm:gpu_prefix_cache_hits_total 5\n",
			with(func(s *record.ServerSample) { s.KVUsage, s.PrefixQueries, s.PrefixHits = 0.5, 10, 5 })},
		{"several engines", "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\n" +
			"vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.6\n",
			with(func(s *record.ServerSample) { s.Running, s.KVUsage = 7, 0.4 })},
		{"SGLang", "sglang:num_running_reqs 2\nsglang:num_queue_reqs 1\nsglang:token_usage 0.3\nsglang:prompt_tokens_total 9\nsglang:generation_tokens_total 8\n",
			with(func(s *record.ServerSample) {
				s.Running, s.Waiting, s.KVUsage, s.PromptTokens, s.GenerationTokens = 2, 1, 0.3, 9, 8
			})},
		{"llama.cpp", "llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\nllamacpp:prompt_tokens_total 3\nllamacpp:tokens_predicted_total 4\n",
			with(func(s *record.ServerSample) {
				s.Running, s.Waiting, s.PromptTokens, s.GenerationTokens = 1, 2, 3, 4
			})},
		{"of something else", "go_goroutines 7\n", unknown},
		{"empty", "", unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := servermetrics.Parse(strings.NewReader(tt.page))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("sample (-want +got):\n%s", diff)
			}
			if empty := cmp.Equal(tt.want, unknown, cmpopts.EquateNaNs()); servermetrics.Empty(got) != empty {
				t.Errorf("Empty = %v", !empty)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, page := range []string{"<html><body>not found</body></html>", "a{b=\"c} 1\n", "a b c d\n"} {
		got, err := servermetrics.Parse(strings.NewReader(page))
		if err == nil || !math.IsNaN(got.Running) {
			t.Errorf("Parse(%q) = %v, %v", page, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("vllm:num_requests_running{engine=\"0\"} 3\n")
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} 1\n")
	f.Fuzz(func(t *testing.T, page string) {
		got, err := servermetrics.Parse(strings.NewReader(page))
		if err != nil && !servermetrics.Empty(got) {
			t.Errorf("a page that is refused (%v) gives %v", err, got)
		}
	})
}
