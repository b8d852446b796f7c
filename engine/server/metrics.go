package server

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/llmctl/llmctl/engine"
)

// metricsHandler serves the engine's statistics under vLLM's names
// (vllm/v1/metrics/loggers.py), with its labels model_name and engine, beside
// those of the Go process.
func metricsHandler(e *engine.Engine, modelName string) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newCollector(e, modelName),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// collector turns a snapshot of the engine into metrics at each scrape, so that
// the loop knows nothing of Prometheus and all values are of one moment.
type collector struct {
	engine     *engine.Engine
	gauges     []metric
	counters   []metric
	histograms []histogram
	finished   *prometheus.Desc
	cache      *prometheus.Desc
}

type metric struct {
	desc  *prometheus.Desc
	value func(*engine.Stats) float64
}

type histogram struct {
	desc  *prometheus.Desc
	value func(*engine.Stats) *engine.Histogram
}

func newCollector(e *engine.Engine, modelName string) *collector {
	labels := prometheus.Labels{"model_name": modelName, "engine": "0"}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("vllm:"+name, help, variable, labels)
	}
	type S = engine.Stats
	type H = engine.Histogram
	return &collector{
		engine:   e,
		finished: desc("request_success_total", "Requests that ended, by reason.", "finished_reason"),
		cache:    desc("cache_config_info", "Configuration of the KV cache.", "block_size", "num_gpu_blocks"),
		gauges: []metric{
			{desc("num_requests_running", "Requests in execution."), func(s *S) float64 { return float64(s.Running) }},
			{desc("num_requests_waiting", "Requests waiting to be started."), func(s *S) float64 { return float64(s.Waiting) }},
			{desc("kv_cache_usage_perc", "KV cache usage, 0 to 1."), func(s *S) float64 { return s.Usage }},
		},
		counters: []metric{
			{desc("num_preemptions_total", "Requests that lost their blocks and were recomputed."), func(s *S) float64 { return float64(s.Preemptions) }},
			{desc("prefix_cache_queries_total", "Tokens looked up in the prefix cache."), func(s *S) float64 { return float64(s.PrefixQueries) }},
			{desc("prefix_cache_hits_total", "Tokens found in the prefix cache."), func(s *S) float64 { return float64(s.PrefixHits) }},
			{desc("prompt_tokens_total", "Prompt tokens processed."), func(s *S) float64 { return float64(s.Prompt) }},
			{desc("prompt_tokens_cached_total", "Prompt tokens that the prefix cache saved."), func(s *S) float64 { return float64(s.Cached) }},
			{desc("generation_tokens_total", "Tokens generated."), func(s *S) float64 { return float64(s.Generated) }},
		},
		histograms: []histogram{
			{desc("time_to_first_token_seconds", "From arrival to the first token."), func(s *S) *H { return &s.TTFT }},
			{desc("inter_token_latency_seconds", "Between two tokens of a request."), func(s *S) *H { return &s.InterToken }},
			{desc("request_time_per_output_token_seconds", "Mean time per output token of a request, the first one aside."), func(s *S) *H { return &s.PerOutputToken }},
			{desc("e2e_request_latency_seconds", "From arrival to the end."), func(s *S) *H { return &s.E2E }},
			{desc("request_queue_time_seconds", "Spent waiting for a start."), func(s *S) *H { return &s.Queue }},
			{desc("request_inference_time_seconds", "From the start to the last token."), func(s *S) *H { return &s.Inference }},
			{desc("request_prefill_time_seconds", "From the start to the first token."), func(s *S) *H { return &s.Prefill }},
			{desc("request_decode_time_seconds", "From the first to the last token."), func(s *S) *H { return &s.Decode }},
			{desc("request_prompt_tokens", "Prompt tokens of a request."), func(s *S) *H { return &s.PromptTokens }},
			{desc("request_generation_tokens", "Output tokens of a request."), func(s *S) *H { return &s.OutputTokens }},
			{desc("request_params_max_tokens", "max_tokens of a request."), func(s *S) *H { return &s.MaxTokensAsked }},
			{desc("iteration_tokens_total", "Tokens per step."), func(s *S) *H { return &s.StepTokens }},
		},
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, out) }

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.engine.Stats()
	for _, m := range c.gauges {
		out <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, m.value(&s))
	}
	for _, m := range c.counters {
		out <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, m.value(&s))
	}
	for _, m := range c.histograms {
		out <- constHistogram(m.desc, m.value(&s))
	}
	for reason, n := range s.Finished {
		out <- prometheus.MustNewConstMetric(c.finished, prometheus.CounterValue, float64(n), string(reason))
	}
	out <- prometheus.MustNewConstMetric(c.cache, prometheus.GaugeValue, 1, strconv.Itoa(s.BlockSize), strconv.Itoa(s.Blocks))
}

func constHistogram(desc *prometheus.Desc, h *engine.Histogram) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Bounds))
	total := uint64(0)
	for i, bound := range h.Bounds {
		total += h.Counts[i]
		buckets[bound] = total
	}
	total += h.Counts[len(h.Bounds)]
	return prometheus.MustNewConstHistogram(desc, total, h.Sum, buckets)
}
