package handover

import (
	"fmt"
	"strconv"
)

// metricNames are what an engine calls its Prometheus metrics. Histograms are
// named without _bucket.
type metricNames struct {
	waiting, running, kvUsage, preemptions string
	ttft, tpot, e2e                        string
	errors, requests                       string // counters of failed and of all requests; empty when the engine has none
	failed, all                            string // label matchers of the two
}

// metrics are the names for the plan's engine and version.
//
// vLLM renamed gpu_cache_usage_perc to kv_cache_usage_perc in 0.9 and removed the
// old name later (vllm-project/vllm pull requests 18354, 29330); 0.11 added a
// histogram of TPOT per request and renamed the old one, which is of gaps
// (24015, 24110). Its HTTP counters are those of prometheus-fastapi-instrumentator.
// SGLang: python/sglang/srt/metrics/collector.py. llmctl's engine uses vLLM's
// names, and counts no HTTP requests.
func (d Deployment) metrics() (metricNames, error) {
	switch engine := d.engine(); engine {
	case "vllm", "llmctl":
		m := metricNames{
			waiting: "vllm:num_requests_waiting", running: "vllm:num_requests_running", kvUsage: "vllm:kv_cache_usage_perc", preemptions: "vllm:num_preemptions_total",
			ttft: "vllm:time_to_first_token_seconds", tpot: "vllm:request_time_per_output_token_seconds", e2e: "vllm:e2e_request_latency_seconds",
		}
		if engine == "llmctl" {
			return m, nil
		}
		if !d.since(0, 10) {
			m.kvUsage = "vllm:gpu_cache_usage_perc"
		}
		if !d.since(0, 11) {
			m.tpot = "vllm:time_per_output_token_seconds"
		}
		m.errors, m.requests = "http_requests_total", "http_requests_total"
		m.failed, m.all = `handler=~"/v1/.*",status=~"5.*"`, `handler=~"/v1/.*"`
		return m, nil
	case "sglang":
		return metricNames{
			waiting: "sglang:num_queue_reqs", running: "sglang:num_running_reqs", kvUsage: "sglang:token_usage", preemptions: "sglang:num_retracted_requests_total",
			ttft: "sglang:time_to_first_token_seconds", tpot: "sglang:inter_token_latency_seconds", e2e: "sglang:e2e_request_latency_seconds",
			errors: "sglang:num_aborted_requests_total", requests: "sglang:num_requests_total",
		}, nil
	default:
		return metricNames{}, fmt.Errorf("the Prometheus metrics of %s are not known: autoscaler and alerts can be written for vllm, sglang and llmctl", engine)
	}
}

// of selects a metric of the deployment's model.
func (d Deployment) of(metric string) string {
	return fmt.Sprintf("%s{model_name=%s}", metric, strconv.Quote(d.loads()))
}
