package servermetrics

import (
	"fmt"
	"io"
	"math"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/llmctl/llmctl/reports/record"
)

// names are the metrics that say the same thing, the first one found counts.
// Sources: vLLM v1/metrics/loggers.py (V1 names and, for the gpu_ ones, those
// of V0), which llmctl's own engine exports too; SGLang
// srt/metrics/collector.py; llama.cpp tools/server; TensorRT-LLM's
// trtllm-serve. Counters are listed with and without the suffix _total that
// the Prometheus client libraries add.
type names []string

var (
	running = names{"vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing", "trtllm_num_requests_running"}
	waiting = names{"vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred", "trtllm_num_requests_waiting"}
	kvUsage = names{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage", "llamacpp:kv_cache_usage_ratio",
		"trtllm_kv_cache_utilization"}
	preemptions   = names{"vllm:num_preemptions_total", "vllm:num_preemptions"}
	prefixQueries = names{"vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries",
		"vllm:gpu_prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries"}
	prefixHits = names{"vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits",
		"vllm:gpu_prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits"}
	promptTokens = names{"vllm:prompt_tokens_total", "vllm:prompt_tokens", "sglang:prompt_tokens_total",
		"llamacpp:prompt_tokens_total"}
	generationTokens = names{"vllm:generation_tokens_total", "vllm:generation_tokens", "sglang:generation_tokens_total",
		"llamacpp:tokens_predicted_total"}
)

// Parse reads a page in the Prometheus text format. A metric with several
// series (one per data-parallel rank or model) is their sum, KV usage their
// mean. The sample's time is left to the caller.
func Parse(r io.Reader) (record.ServerSample, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	page, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return Unknown(), fmt.Errorf("parsing a Prometheus page: %w", err)
	}
	return record.ServerSample{
		Running:          sum(page, running),
		Waiting:          sum(page, waiting),
		KVUsage:          mean(page, kvUsage),
		Preemptions:      sum(page, preemptions),
		PrefixQueries:    sum(page, prefixQueries),
		PrefixHits:       sum(page, prefixHits),
		PromptTokens:     sum(page, promptTokens),
		GenerationTokens: sum(page, generationTokens),
	}, nil
}

// Unknown is a sample of a server that exports nothing.
func Unknown() record.ServerSample {
	nan := math.NaN()
	return record.ServerSample{
		Running: nan, Waiting: nan, KVUsage: nan, Preemptions: nan,
		PrefixQueries: nan, PrefixHits: nan, PromptTokens: nan, GenerationTokens: nan,
	}
}

// Empty reports whether a sample knows nothing: the page is not that of an
// inference server.
func Empty(s record.ServerSample) bool {
	for _, v := range []float64{
		s.Running, s.Waiting, s.KVUsage, s.Preemptions, s.PrefixQueries, s.PrefixHits, s.PromptTokens, s.GenerationTokens,
	} {
		if !math.IsNaN(v) {
			return false
		}
	}
	return true
}

func sum(page map[string]*dto.MetricFamily, n names) float64 {
	total, _ := fold(page, n)
	return total
}

func mean(page map[string]*dto.MetricFamily, n names) float64 {
	total, series := fold(page, n)
	return total / float64(max(series, 1))
}

// fold sums the series of the first metric found and counts them.
func fold(page map[string]*dto.MetricFamily, n names) (total float64, series int) {
	for _, name := range n {
		for _, m := range page[name].GetMetric() {
			if v, ok := value(m); ok {
				total += v
				series++
			}
		}
		if series > 0 {
			return total, series
		}
	}
	return math.NaN(), 0
}

func value(m *dto.Metric) (v float64, ok bool) {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue(), true
	case m.Counter != nil:
		return m.Counter.GetValue(), true
	case m.Untyped != nil:
		return m.Untyped.GetValue(), true
	default:
		return 0, false
	}
}
