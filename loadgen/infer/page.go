package infer

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Page is what a server's metrics page said at one time.
type Page struct {
	At       time.Time // when it was fetched; zero when that is not known
	families map[string]*dto.MetricFamily
}

// ParsePage reads a page in the Prometheus text format.
func ParsePage(r io.Reader, at time.Time) (Page, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return Page{}, fmt.Errorf("parsing a Prometheus page: %w", err)
	}
	return Page{At: at, families: families}, nil
}

// names are metrics that say the same thing; the first one found counts.
// Sources: vLLM vllm/v1/metrics/loggers.py, which llmctl's engine exports too;
// SGLang srt/metrics/collector.py (histograms of tokens with
// --collect-tokens-histogram); the metrics of llmctl's gateway.
type names []string

var (
	promptHistograms = names{"vllm:request_prompt_tokens", "sglang:prompt_tokens_histogram"}
	answerHistograms = names{"vllm:request_generation_tokens", "sglang:generation_tokens_histogram"}
	requestCounters  = names{"vllm:request_success_total", "vllm:request_success", "sglang:num_requests_total", "sglang:num_requests"}
	promptCounters   = names{"vllm:prompt_tokens_total", "vllm:prompt_tokens", "sglang:prompt_tokens_total", "sglang:prompt_tokens"}
	answerCounters   = names{"vllm:generation_tokens_total", "vllm:generation_tokens", "sglang:generation_tokens_total", "sglang:generation_tokens"}
	// What was looked up in the prefix cache, and what was found there.
	queryCounters = names{"vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries_total",
		"vllm:gpu_prefix_cache_queries", "sglang:prompt_tokens_total", "sglang:prompt_tokens"}
	hitCounters = names{"vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits_total",
		"vllm:gpu_prefix_cache_hits", "sglang:cached_tokens_total", "sglang:cached_tokens"}
)

const (
	gatewayRequests = "llmctl_gateway_requests_total"
	gatewayTokens   = "llmctl_gateway_tokens_total"
	processStart    = "process_start_time_seconds" // of Prometheus' client libraries
)

// sum adds the counters of the first metric found; NaN when there is none.
func (p Page) sum(n names) float64 {
	for _, name := range n {
		if total := p.where(name, "", ""); !math.IsNaN(total) {
			return total
		}
	}
	return math.NaN()
}

// where adds the series of a metric whose label has a value; all of them without
// a label.
func (p Page) where(name, label, value string) float64 {
	total, found := 0.0, false
	for _, m := range p.families[name].GetMetric() {
		if label != "" && labelOf(m, label) != value {
			continue
		}
		switch {
		case m.Counter != nil:
			total += m.Counter.GetValue()
		case m.Untyped != nil:
			total += m.Untyped.GetValue()
		case m.Gauge != nil:
			total += m.Gauge.GetValue()
		default:
			continue
		}
		found = true
	}
	if !found || math.IsNaN(total) || math.IsInf(total, 0) || total < 0 {
		return math.NaN()
	}
	return total
}

// by adds the series of a metric by the value of a label.
func (p Page) by(name, label string) map[string]int {
	counts := map[string]int{}
	for _, m := range p.families[name].GetMetric() {
		value := labelOf(m, label)
		n := m.GetCounter().GetValue()
		if m.Histogram != nil {
			n = float64(m.Histogram.GetSampleCount())
		}
		if value != "" && n >= 1 && n < 1e15 {
			counts[value] += int(n)
		}
	}
	return counts
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// histogram adds the series of the first metric found; ok is false when there is
// none with a sample.
func (p Page) histogram(n names) (name string, h histogram, ok bool) {
	for _, name := range n {
		upTo := map[float64]float64{}
		h := histogram{}
		for _, m := range p.families[name].GetMetric() {
			series := m.GetHistogram()
			h.count += float64(series.GetSampleCount())
			h.sum += series.GetSampleSum()
			for _, b := range series.GetBucket() {
				upTo[b.GetUpperBound()] += float64(b.GetCumulativeCount())
			}
		}
		for _, bound := range slices.Sorted(maps.Keys(upTo)) {
			if bound > 0 && !math.IsInf(bound, 0) {
				h.bounds = append(h.bounds, bound)
				h.upTo = append(h.upTo, upTo[bound])
			}
		}
		if h.sound() {
			return name, h, true
		}
	}
	return "", histogram{}, false
}

// histogram is lengths by buckets.
type histogram struct {
	bounds     []float64 // ascending, finite
	upTo       []float64 // samples up to each bound
	count, sum float64
}

// sound reports a histogram that can be one: counts that never fall, and a mean
// of at least one.
func (h histogram) sound() bool {
	if !(h.count >= 1) || !(h.sum >= h.count) || math.IsInf(h.sum, 0) {
		return false
	}
	last := 0.0
	for _, n := range h.upTo {
		if n < last || n > h.count {
			return false
		}
		last = n
	}
	return true
}

func (h histogram) mean() float64 { return h.sum / h.count }
