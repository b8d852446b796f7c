package mock

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MetricsStyles are the engines whose names the page at /metrics can have.
var MetricsStyles = []string{"vllm", "sglang", "tensorrt-llm", "llamacpp"}

// metricNames are how an engine calls what the page tells; an empty name is
// something that it does not export. Sources: vLLM v1/metrics/loggers.py; SGLang
// srt/metrics/collector.py; llama.cpp tools/server/README.md; TensorRT-LLM
// trtllm-serve's Prometheus page.
type metricNames struct {
	running, waiting, kvUsage, preemptions string
	prefixQueries, prefixHits, hitRate     string
	prompt, output, finished               string
	ttft, itl, e2e                         string
	prompts, outputs                       string // histograms of lengths
	lengths                                []int  // their bounds
	labels                                 string // with %s for the model's name
}

var metricStyles = map[string]metricNames{
	"vllm": {
		running: "vllm:num_requests_running", waiting: "vllm:num_requests_waiting", kvUsage: "vllm:kv_cache_usage_perc", preemptions: "vllm:num_preemptions_total",
		prefixQueries: "vllm:prefix_cache_queries_total", prefixHits: "vllm:prefix_cache_hits_total",
		prompt: "vllm:prompt_tokens_total", output: "vllm:generation_tokens_total", finished: "vllm:request_success_total",
		ttft: "vllm:time_to_first_token_seconds", itl: "vllm:inter_token_latency_seconds", e2e: "vllm:e2e_request_latency_seconds",
		prompts: "vllm:request_prompt_tokens", outputs: "vllm:request_generation_tokens",
		lengths: []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000},
		labels:  `engine="0",model_name=%s`,
	},
	"sglang": {
		running: "sglang:num_running_reqs", waiting: "sglang:num_queue_reqs", kvUsage: "sglang:token_usage",
		prefixHits: "sglang:cached_tokens_total", hitRate: "sglang:cache_hit_rate",
		prompt: "sglang:prompt_tokens_total", output: "sglang:generation_tokens_total", finished: "sglang:num_requests_total",
		ttft: "sglang:time_to_first_token_seconds", itl: "sglang:inter_token_latency_seconds", e2e: "sglang:e2e_request_latency_seconds",
		prompts: "sglang:prompt_tokens_histogram", outputs: "sglang:generation_tokens_histogram",
		lengths: []int{
			100, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000, 12_500, 15_000, 17_500, 20_000, 22_500, 25_000, 27_500,
			30_000, 35_000, 40_000, 60_000, 80_000, 100_000, 200_000, 300_000, 400_000, 600_000, 800_000, 1_000_000, 1_100_000,
		},
		labels: `model_name=%s`,
	},
	"tensorrt-llm": {
		running: "trtllm_num_requests_running", waiting: "trtllm_num_requests_waiting", kvUsage: "trtllm_kv_cache_utilization", hitRate: "trtllm_kv_cache_hit_rate",
		finished: "trtllm_request_success_total",
		ttft:     "trtllm_time_to_first_token_seconds", itl: "trtllm_time_per_output_token_seconds", e2e: "trtllm_e2e_request_latency_seconds",
		labels: `model_name=%s`,
	},
	"llamacpp": {
		running: "llamacpp:requests_processing", waiting: "llamacpp:requests_deferred", kvUsage: "llamacpp:kv_cache_usage_ratio",
		prompt: "llamacpp:prompt_tokens_total", output: "llamacpp:tokens_predicted_total",
	},
}

// kvTokens is the size of the cache that the page's usage is a share of: it is
// made up, since no cache is there, and stands for one of 500,000 tokens.
const kvTokens = 500_000

// page is what GET /metrics shows.
func (s *Server) page() string {
	names, ok := metricStyles[s.MetricsStyle]
	if !ok {
		return s.Metrics
	}
	labels := ""
	if names.labels != "" {
		labels = fmt.Sprintf(names.labels, strconv.Quote(s.names()[0]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := pageWriter{labels: labels}
	p.value("gauge", names.running, "Requests that run.", float64(s.running))
	p.value("gauge", names.waiting, "Requests that wait for a place.", float64(s.queued))
	p.value("gauge", names.kvUsage, "Share of a KV cache of 500,000 tokens that running requests fill.", float64(s.kv)/kvTokens)
	p.value("counter", names.preemptions, "Preempted requests.", 0)
	if s.PrefixCache {
		p.value("counter", names.prefixQueries, "Prompt tokens looked up in the prefix cache.", float64(s.tokens.prompt))
		p.value("counter", names.prefixHits, "Prompt tokens found there.", float64(s.tokens.cached))
		p.value("gauge", names.hitRate, "Share of prompt tokens found in the prefix cache.", float64(s.tokens.cached)/float64(max(s.tokens.prompt, 1)))
	}
	p.value("counter", names.prompt, "Prompt tokens.", float64(s.tokens.prompt))
	p.value("counter", names.output, "Output tokens.", float64(s.tokens.output))
	p.value("counter", names.finished, "Answered requests.", float64(s.outcome.finished))
	p.histogram(names.ttft, "Time to the first token.", &s.ttft, latencyBuckets)
	p.histogram(names.itl, "Time between tokens.", &s.itl, latencyBuckets)
	p.histogram(names.e2e, "Time of a whole request.", &s.e2e, latencyBuckets)
	p.lengths(names.prompts, "Prompt tokens of an answered request.", s.lengths.prompt, names.lengths)
	p.lengths(names.outputs, "Output tokens of an answered request.", s.lengths.output, names.lengths)

	p.labels = ""
	p.histogram("llmctl_mock_write_lateness_seconds", "How long after its due time a write was done.", &s.late, latenessBuckets)
	p.value("counter", "llmctl_mock_blocked_writes_total", "Writes that a client's full socket did not take at once.", float64(s.blocked))
	return p.String()
}

var (
	latencyBuckets = []time.Duration{
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond,
		80 * time.Millisecond, 160 * time.Millisecond, 320 * time.Millisecond, 640 * time.Millisecond, 1280 * time.Millisecond,
		2560 * time.Millisecond, 5120 * time.Millisecond, 10240 * time.Millisecond, 20480 * time.Millisecond, 40960 * time.Millisecond,
	}
	latenessBuckets = []time.Duration{
		10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
		time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
	}
)

// pageWriter writes the Prometheus text format.
type pageWriter struct {
	strings.Builder
	labels string
}

func (p *pageWriter) head(kind, name, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// line writes one sample; extra is a further label.
func (p *pageWriter) line(name, extra string, v float64) {
	labels := strings.Join(slices.DeleteFunc([]string{p.labels, extra}, func(s string) bool { return s == "" }), ",")
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(p, "%s%s %s\n", name, labels, strconv.FormatFloat(v, 'g', -1, 64))
}

func (p *pageWriter) value(kind, name, help string, v float64) {
	if name != "" {
		p.head(kind, name, help)
		p.line(name, "", v)
	}
}

func (p *pageWriter) histogram(name, help string, l *Lateness, buckets []time.Duration) {
	p.buckets(name, help, float64(l.N()), l.Sum().Seconds(), func(yield func(bound, upTo float64) bool) {
		for _, b := range buckets {
			if !yield(b.Seconds(), float64(l.atMost(b))) {
				return
			}
		}
	})
}

// lengths writes how many requests had how many tokens.
func (p *pageWriter) lengths(name, help string, requests map[int]int64, bounds []int) {
	var n, sum int64
	for length, count := range requests {
		n += count
		sum += int64(length) * count
	}
	p.buckets(name, help, float64(n), float64(sum), func(yield func(bound, upTo float64) bool) {
		for _, b := range bounds {
			var upTo int64
			for length, count := range requests {
				if length <= b {
					upTo += count
				}
			}
			if !yield(float64(b), float64(upTo)) {
				return
			}
		}
	})
}

func (p *pageWriter) buckets(name, help string, n, sum float64, counts iter.Seq2[float64, float64]) {
	if name == "" {
		return
	}
	p.head("histogram", name, help)
	for bound, upTo := range counts {
		p.line(name+"_bucket", fmt.Sprintf("le=%q", strconv.FormatFloat(bound, 'g', -1, 64)), upTo)
	}
	p.line(name+"_bucket", `le="+Inf"`, n)
	p.line(name+"_sum", "", sum)
	p.line(name+"_count", "", n)
}
