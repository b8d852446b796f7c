package servermetrics_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/llmctl/llmctl/internal/servermetrics"
	"github.com/llmctl/llmctl/reports/record"
)

func with(change func(*record.ServerSample)) record.ServerSample {
	s := record.UnknownSample()
	change(&s)
	return s
}

// seconds is a histogram of n values, all of them below its one bound.
func seconds(bound, n, sum float64) *record.Histogram {
	return &record.Histogram{Bounds: []float64{bound, math.Inf(1)}, Counts: []float64{n, n}, Sum: sum}
}

// The pages in testdata are in the form of each engine's own; see names.go for
// the sources.
func TestParsePages(t *testing.T) {
	tests := []struct {
		name, page, model string
		want              record.ServerSample
	}{
		{"vLLM V1, two engines", "vllm_v1.txt", "m", with(func(s *record.ServerSample) {
			s.Running, s.Waiting, s.KVUsage, s.Preemptions = 7, 1, 0.4, 7
			s.PrefixQueries, s.PrefixHits, s.PromptTokens, s.GenerationTokens = 1000, 400, 1e6, 5000
			s.DraftTokens, s.AcceptedTokens, s.Drafts = 300, 200, 100
			s.Finished = map[string]float64{"stop": 10, "length": 4, "abort": 0}
			s.TTFT = &record.Histogram{Bounds: []float64{0.01, 0.1, math.Inf(1)}, Counts: []float64{2, 10, 12}, Sum: 1.5}
			s.TPOT, s.ITL, s.Queue, s.E2E = seconds(0.025, 14, 0.2), seconds(0.025, 900, 9), seconds(0.3, 14, 0.5), seconds(10, 14, 20)
		})},
		{"vLLM V0", "vllm_v0.txt", "m", with(func(s *record.ServerSample) {
			s.Running, s.Waiting, s.KVUsage, s.Preemptions, s.PromptTokens, s.GenerationTokens = 2, 0, 0.5, 0, 100, 50
			s.AcceptanceRate = 0.75
			s.DraftTokens, s.AcceptedTokens = 40, 30
			s.Finished = map[string]float64{"stop": 3}
			s.ITL = seconds(0.01, 47, 0.3)
		})},
		{"SGLang, all tensor ranks of two data ranks", "sglang.txt", "m", with(func(s *record.ServerSample) {
			s.Running, s.Waiting, s.KVUsage, s.Preemptions = 5, 1, 0.3, 2
			s.PrefixQueries, s.PrefixHits, s.PromptTokens, s.GenerationTokens = 90, 30, 90, 80
			s.AcceptanceRate, s.AcceptanceLength = 0.6, 2.8
			s.Finished = map[string]float64{"all": 9}
			s.TTFT, s.ITL, s.Queue, s.E2E = seconds(0.1, 9, 0.4), seconds(0.002, 80, 0.1), seconds(0.1, 9, 0.01), seconds(1, 9, 3)
		})},
		{"TensorRT-LLM", "trtllm.txt", "", with(func(s *record.ServerSample) {
			s.Running, s.Waiting, s.KVUsage = 5, 3, 0.6
			s.PrefixQueries, s.PrefixHits, s.PromptTokens, s.GenerationTokens = 900, 90, 900, 300
			s.DraftTokens, s.AcceptedTokens, s.AcceptanceLength = 30, 15, 1.5
			s.Finished = map[string]float64{"stop": 2, "length": 1}
			s.TTFT, s.TPOT = seconds(0.1, 3, 0.2), seconds(0.01, 3, 0.02)
		})},
		{"Triton", "triton.txt", "", with(func(s *record.ServerSample) {
			s.Running, s.Waiting, s.KVUsage = 4, 2, 0.25
		})},
		{"llama.cpp", "llamacpp.txt", "", with(func(s *record.ServerSample) {
			s.Running, s.Waiting, s.PromptTokens, s.GenerationTokens = 1, 2, 3, 4
			s.DraftTokens, s.AcceptedTokens, s.Drafts = 0, 0, 0
		})},
		{"TGI", "tgi.txt", "", with(func(s *record.ServerSample) {
			s.Running, s.Waiting, s.PromptTokens, s.GenerationTokens = 4, 7, 512, 8123
			s.Finished = map[string]float64{"all": 44}
			s.Queue, s.TPOT = seconds(0.1, 44, 0.3), seconds(0.05, 44, 0.9)
		})},
		{"llmctl's gateway", "gateway.txt", "", with(func(s *record.ServerSample) {
			s.Running, s.PrefixQueries, s.PrefixHits, s.PromptTokens, s.GenerationTokens = 3, 200, 20, 200, 70
			s.Finished = map[string]float64{"ok": 12, "rate_limited": 3}
			s.TTFT = seconds(0.1, 12, 0.5)
		})},
		{"trtllm-serve's JSON", "trtllm.json", "", with(func(s *record.ServerSample) { s.Running, s.Waiting, s.KVUsage = 5, 3, 0.6 })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join("testdata", tt.page))
			if err != nil {
				t.Fatal(err)
			}
			got, err := servermetrics.Parse(strings.NewReader(string(page)), tt.model)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("sample (-want +got):\n%s", diff)
			}
			if got.Empty() {
				t.Error("the sample is empty")
			}
			// Ray and other relays write the names their own way.
			relayed := strings.NewReplacer("vllm:", "ray_vllm_", "sglang:", "sglang_", "llamacpp:", "llamacpp_").Replace(string(page))
			again, err := servermetrics.Parse(strings.NewReader(relayed), tt.model)
			if diff := cmp.Diff(got, again, cmpopts.EquateNaNs()); err != nil || diff != "" {
				t.Errorf("relayed: %v (-direct +relayed):\n%s", err, diff)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const two = "vllm:num_requests_running{model_name=\"a\"} 3\nvllm:num_requests_running{model_name=\"b\"} 4\n" +
		"vllm:kv_cache_usage_perc{model_name=\"a\"} 0.2\nvllm:kv_cache_usage_perc{model_name=\"b\"} 0.6\n"
	running := func(v float64) record.ServerSample {
		return with(func(s *record.ServerSample) { s.Running = v })
	}
	tests := []struct {
		name, page, model string
		want              record.ServerSample
	}{
		{"one of two models", two, "a", with(func(s *record.ServerSample) { s.Running, s.KVUsage = 3, 0.2 })},
		{"a model that the page does not know", two, "alias", with(func(s *record.ServerSample) { s.Running, s.KVUsage = 7, 0.4 })},
		{"a metric without a series of the model", two + "vllm:num_preemptions_total{model_name=\"b\"} 9\n", "a",
			with(func(s *record.ServerSample) { s.Running, s.KVUsage = 3, 0.2 })},
		{"a series without a model", "vllm:num_requests_running{model_name=\"a\"} 3\nvllm:num_requests_waiting 2\n", "a",
			with(func(s *record.ServerSample) { s.Running, s.Waiting = 3, 2 })},
		{"behind a router", "vllm:num_requests_running{server=\"http://a\"} 3\nvllm:num_requests_running{server=\"http://b\"} 4\n", "", running(7)},
		{"new name beside the old", "vllm:kv_cache_usage_perc 0.5\nvllm:gpu_cache_usage_perc 0.5\n", "", with(func(s *record.ServerSample) { s.KVUsage = 0.5 })},
		{"not a number", "vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\n", "", record.UnknownSample()},
		{"no speculation", "sglang:spec_accept_rate 0\nsglang:spec_accept_length 0\nsglang:num_running_reqs 1\n", "", running(1)},
		{"buckets that differ", "# TYPE vllm:time_to_first_token_seconds histogram\n" +
			"vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"1\"} 1\nvllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"+Inf\"} 1\n" +
			"vllm:time_to_first_token_seconds_sum{engine=\"0\"} 1\nvllm:time_to_first_token_seconds_count{engine=\"0\"} 1\n" +
			"vllm:time_to_first_token_seconds_bucket{engine=\"1\",le=\"2\"} 1\nvllm:time_to_first_token_seconds_bucket{engine=\"1\",le=\"+Inf\"} 1\n" +
			"vllm:time_to_first_token_seconds_sum{engine=\"1\"} 1\nvllm:time_to_first_token_seconds_count{engine=\"1\"} 1\n", "", record.UnknownSample()},
		{"a broken line of something else", "go_goroutines seven\nother{a=\"b} 1\nvllm:num_requests_running 3", "", running(3)},
		{"a comment without an end", "#\n# TYPE\n# EOF\n  vllm:num_requests_running 3\n\n", "", running(3)},
		{"of something else", "go_goroutines 7\n", "", record.UnknownSample()},
		{"empty", "", "", record.UnknownSample()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := servermetrics.Parse(strings.NewReader(tt.page), tt.model)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("sample (-want +got):\n%s", diff)
			}
			if empty := cmp.Equal(tt.want, record.UnknownSample(), cmpopts.EquateNaNs()); got.Empty() != empty {
				t.Errorf("Empty = %v", !empty)
			}
		})
	}
}

func TestReasonsAreBounded(t *testing.T) {
	var page strings.Builder
	for i := range 1000 {
		page.WriteString("vllm:request_success_total{finished_reason=\"" + strings.Repeat("x", i+1) + "\"} 1\n")
	}
	got, err := servermetrics.Parse(strings.NewReader(page.String()), "")
	total := 0.0
	for _, n := range got.Finished {
		total += n
	}
	if err != nil || len(got.Finished) > 33 || total != 1000 {
		t.Errorf("%v: %d reasons of %v requests", err, len(got.Finished), total)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, page := range []string{"<html><body>not found</body></html>", "vllm:num_requests_running{b=\"c} 1\n", "vllm:num_requests_running b c d\n", "{}", `{"detail":"Not Found"}`, `[{"numActiveRequests":"many"}]`} {
		got, err := servermetrics.Parse(strings.NewReader(page), "")
		if err == nil || !got.Empty() {
			t.Errorf("Parse(%q) = %v, %v", page, got, err)
		}
	}
	if _, err := servermetrics.Parse(strings.NewReader(" [ ]"), ""); !errors.Is(err, servermetrics.ErrNothingNew) {
		t.Errorf("an idle trtllm-serve gives %v", err)
	}
}

func FuzzParse(f *testing.F) {
	pages, err := filepath.Glob("testdata/*.*")
	if err != nil || len(pages) == 0 {
		f.Fatalf("%v, %d pages", err, len(pages))
	}
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(page), "m")
	}
	f.Add("# TYPE vllm:time_to_first_token_seconds histogram\nvllm:time_to_first_token_seconds_bucket{le=\"1\"} 1\n", "")
	f.Fuzz(func(t *testing.T, page, model string) {
		got, err := servermetrics.Parse(strings.NewReader(page), model)
		if err != nil && !got.Empty() {
			t.Errorf("a page that is refused (%v) gives %v", err, got)
		}
		if _, err := got.MarshalJSON(); err != nil {
			t.Errorf("a sample that can not be saved: %v", err)
		}
		again, _ := servermetrics.Parse(strings.NewReader(page), model)
		if diff := cmp.Diff(got, again, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("read again (-first +second):\n%s", diff)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	page, err := os.ReadFile("testdata/vllm_v1.txt")
	if err != nil {
		b.Fatal(err)
	}
	other := "# TYPE http_request_duration_seconds histogram\n" + strings.Repeat("http_request_duration_seconds_bucket{handler=\"/v1/chat/completions\",le=\"0.5\",method=\"POST\"} 17\n", 400)
	text := string(page) + other // a page has more lines of others than of the engine
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := servermetrics.Parse(strings.NewReader(text), "m"); err != nil {
			b.Fatal(err)
		}
	}
}
