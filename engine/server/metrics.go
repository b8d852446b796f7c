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
	labelled   []labelled
}

type metric struct {
	desc  *prometheus.Desc
	value func(*engine.Stats) float64
}

// histogram is one of the engine's. bounds are those that are told, of which the
// engine has every one; nil is all.
type histogram struct {
	desc   *prometheus.Desc
	value  func(*engine.Stats) *engine.Histogram
	bounds []float64
}

// labelled is a metric whose values have labels of their own.
type labelled struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	each func(s *engine.Stats, tell func(v float64, labels ...string))
}

// vLLM's buckets of seconds.
var (
	ttftBounds = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itlBounds  = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	spanBounds = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

func newCollector(e *engine.Engine, modelName string) *collector {
	names := prometheus.Labels{"model_name": modelName, "engine": "0"}
	vllm := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("vllm:"+name, help, variable, names)
	}
	own := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("llmctl_engine_"+name, help, variable, names)
	}
	type S = engine.Stats
	type H = engine.Histogram
	return &collector{
		engine: e,
		gauges: []metric{
			{vllm("num_requests_running", "Requests in execution."), func(s *S) float64 { return float64(s.Running) }},
			{vllm("num_requests_waiting", "Requests waiting to be started."), func(s *S) float64 { return float64(s.Waiting) }},
			{vllm("kv_cache_usage_perc", "KV cache usage, 0 to 1."), func(s *S) float64 { return s.Usage }},
			{own("queue_tokens", "Prompt tokens of requests that wait for their first start."), func(s *S) float64 { return float64(s.QueueTokens) }},
		},
		counters: []metric{
			{vllm("num_preemptions_total", "Requests that lost their blocks and were recomputed."), func(s *S) float64 { return float64(s.Preemptions) }},
			{vllm("prefix_cache_queries_total", "Tokens looked up in the prefix cache."), func(s *S) float64 { return float64(s.PrefixQueries) }},
			{vllm("prefix_cache_hits_total", "Tokens found in the prefix cache."), func(s *S) float64 { return float64(s.PrefixHits) }},
			{vllm("external_prefix_cache_queries_total", "Tokens looked up in the host's memory."), func(s *S) float64 { return float64(s.ExternalQueries) }},
			{vllm("external_prefix_cache_hits_total", "Tokens loaded from the host's memory."), func(s *S) float64 { return float64(s.ExternalHits) }},
			{vllm("prompt_tokens_total", "Prompt tokens processed."), func(s *S) float64 { return float64(s.Prompt) }},
			{vllm("prompt_tokens_cached_total", "Prompt tokens that the prefix cache saved."), func(s *S) float64 { return float64(s.Cached) }},
			{vllm("prompt_tokens_recomputed_total", "Prompt tokens that ran again after a preemption."), func(s *S) float64 { return float64(s.Recomputed) }},
			{vllm("generation_tokens_total", "Tokens generated."), func(s *S) float64 { return float64(s.Generated) }},
			{vllm("spec_decode_num_drafts_total", "Steps of a request that verified proposed tokens."), func(s *S) float64 { return float64(s.Speculation.Drafts) }},
			{vllm("spec_decode_num_draft_tokens_total", "Proposed tokens that were verified."), func(s *S) float64 { return float64(s.Speculation.Tokens) }},
			{vllm("spec_decode_num_accepted_tokens_total", "Proposed tokens that were right."), func(s *S) float64 { return float64(s.Speculation.Accepted) }},
			{own("refused_total", "Requests that were refused because of those that wait."), func(s *S) float64 { return float64(s.Refused) }},
		},
		labelled: []labelled{
			{vllm("request_success_total", "Requests that ended, by reason.", "finished_reason"), prometheus.CounterValue, finished},
			{vllm("prompt_tokens_by_source_total", "Prompt tokens by where their K and V came from.", "source"), prometheus.CounterValue, bySource},
			{vllm("spec_decode_num_accepted_tokens_per_pos_total", "Proposed tokens that were right, by place.", "position"), prometheus.CounterValue, byPosition},
			{vllm("cache_config_info", "Configuration of the KV cache.", cacheLabels...), prometheus.GaugeValue,
				func(_ *S, tell func(float64, ...string)) { tell(1, cacheValues(e.CacheConfig())...) }},
			{vllm("engine_sleep_state", "Whether the engine is awake: it always is.", "sleep_state"), prometheus.GaugeValue, sleepState},
			{vllm("lora_requests_info", "LoRA adapters: there are none.", "max_lora", "waiting_lora_adapters", "running_lora_adapters"), prometheus.GaugeValue,
				func(_ *S, tell func(float64, ...string)) { tell(0, "0", "", "") }},
		},
		histograms: []histogram{
			{vllm("time_to_first_token_seconds", "From arrival to the first token."), func(s *S) *H { return &s.TTFT }, ttftBounds},
			{vllm("inter_token_latency_seconds", "Between two tokens of a request."), func(s *S) *H { return &s.InterToken }, itlBounds},
			{vllm("request_time_per_output_token_seconds", "Mean time per output token of a request, the first one aside."), func(s *S) *H { return &s.PerOutputToken }, itlBounds},
			{vllm("e2e_request_latency_seconds", "From arrival to the end."), func(s *S) *H { return &s.E2E }, spanBounds},
			{vllm("request_queue_time_seconds", "Spent waiting for a start."), func(s *S) *H { return &s.Queue }, spanBounds},
			{vllm("request_inference_time_seconds", "From the start to the last token."), func(s *S) *H { return &s.Inference }, spanBounds},
			{vllm("request_prefill_time_seconds", "From the start to the first token."), func(s *S) *H { return &s.Prefill }, spanBounds},
			{vllm("request_decode_time_seconds", "From the first to the last token."), func(s *S) *H { return &s.Decode }, spanBounds},
			{vllm("request_prompt_tokens", "Prompt tokens of a request."), func(s *S) *H { return &s.PromptTokens }, nil},
			{vllm("request_generation_tokens", "Output tokens of a request."), func(s *S) *H { return &s.OutputTokens }, nil},
			{vllm("request_max_num_generation_tokens", "Output tokens of a request's longest answer."), func(s *S) *H { return &s.MaxOutput }, nil},
			{vllm("request_params_max_tokens", "max_tokens of a request."), func(s *S) *H { return &s.MaxTokensAsked }, nil},
			{vllm("request_params_n", "n of a request."), func(s *S) *H { return &s.Answers }, nil},
			{vllm("request_prefill_kv_computed_tokens", "Prompt tokens of a request that were computed."), func(s *S) *H { return &s.PrefillComputed }, nil},
			{vllm("iteration_tokens_total", "Tokens per step."), func(s *S) *H { return &s.StepTokens }, nil},
			{own("time_to_first_token_seconds", "From arrival to the first token, in finer buckets."), func(s *S) *H { return &s.TTFT }, nil},
			{own("inter_token_latency_seconds", "Between two tokens of a request, in finer buckets."), func(s *S) *H { return &s.InterToken }, nil},
			{own("time_per_output_token_seconds", "Mean time per output token of a request, in finer buckets."), func(s *S) *H { return &s.PerOutputToken }, nil},
			{own("queue_seconds", "Spent waiting for a start, in finer buckets."), func(s *S) *H { return &s.Queue }, nil},
			{own("prefill_seconds", "From the start to the first token, in finer buckets."), func(s *S) *H { return &s.Prefill }, nil},
			{own("decode_seconds", "From the first to the last token, in finer buckets."), func(s *S) *H { return &s.Decode }, nil},
			{own("e2e_seconds", "From arrival to the end, in finer buckets."), func(s *S) *H { return &s.E2E }, nil},
		},
	}
}

// cacheLabels are those of vLLM's cache configuration that mean something here, and
// those that have but one value here.
var cacheLabels = []string{
	"block_size", "cache_dtype", "cpu_offload_gb", "enable_prefix_caching", "gpu_memory_utilization", "is_attention_free",
	"num_cpu_blocks", "num_gpu_blocks", "num_gpu_blocks_override", "prefix_caching_hash_algo", "sliding_window",
}

// cacheValues are theirs, as Python writes them.
func cacheValues(c engine.CacheConfig) []string {
	caching, utilization, window := "False", "None", "None"
	if c.PrefixCaching {
		caching = "True"
	}
	if c.MemoryUtilization > 0 {
		utilization = strconv.FormatFloat(c.MemoryUtilization, 'g', -1, 64)
	}
	if c.Window > 0 {
		window = strconv.Itoa(c.Window)
	}
	return []string{
		strconv.Itoa(c.BlockSize), c.DType, "0", caching, utilization, "False",
		"None", strconv.Itoa(c.Blocks), "None", "sha256", window,
	}
}

func finished(s *engine.Stats, tell func(float64, ...string)) {
	for reason, n := range s.Finished {
		tell(float64(n), string(reason))
	}
}

func bySource(s *engine.Stats, tell func(float64, ...string)) {
	tell(float64(s.Prompt-s.Cached), "local_compute")
	tell(float64(s.Cached), "local_cache_hit")
	tell(float64(s.ExternalHits), "external_kv_transfer")
}

func byPosition(s *engine.Stats, tell func(float64, ...string)) {
	for i, n := range s.Speculation.PerPosition {
		tell(float64(n), strconv.Itoa(i))
	}
}

func sleepState(_ *engine.Stats, tell func(float64, ...string)) {
	tell(1, "awake")
	tell(0, "weights_offloaded")
	tell(0, "discard_all")
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
		out <- m.of(&s)
	}
	for _, m := range c.labelled {
		m.each(&s, func(v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
		})
	}
}

// of is the histogram of a moment. What lies between two bounds that are told counts
// under the upper one.
func (m *histogram) of(s *engine.Stats) prometheus.Metric {
	h := m.value(s)
	bounds := m.bounds
	if bounds == nil {
		bounds = h.Bounds
	}
	buckets := make(map[float64]uint64, len(bounds))
	total, next := uint64(0), 0
	for i, bound := range h.Bounds {
		total += h.Counts[i]
		if next < len(bounds) && bound == bounds[next] {
			buckets[bound] = total
			next++
		}
	}
	total += h.Counts[len(h.Bounds)]
	return prometheus.MustNewConstHistogram(m.desc, total, h.Sum, buckets)
}
