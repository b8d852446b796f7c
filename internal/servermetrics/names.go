package servermetrics

import "strings"

// The names by which each engine exports one quantity. The sources:
//
//	vllm:      vLLM: vllm/engine/metrics.py (V0), vllm/v1/metrics/loggers.py and
//	           vllm/v1/spec_decode/metrics.py (V1); llmctl's engine uses them too
//	sglang:    SGLang: python/sglang/srt/metrics/collector.py, later
//	           srt/observability/metrics_collector.py
//	trtllm_    TensorRT-LLM: tensorrt_llm/metrics/collector.py, at /prometheus/metrics
//	           of trtllm-serve
//	nv_        Triton with the TensorRT-LLM backend: README of tensorrtllm_backend
//	llamacpp:  llama.cpp: tools/server/README.md
//	tgi_       TGI: docs/source/reference/metrics.md
//	llmctl_gateway_   llmctl's gateway
//
// A name may choose among the series of a metric by a label: name{label=value}.
// The first name of a list that a page has is the one that counts. What relays
// do to names is undone before (see plain), so each stands here once, as its
// engine writes it without the suffix _total.

// numberNames are the names of each of record.Numbers, by its key.
var numberNames = map[string][]string{
	"running": {
		"vllm:num_requests_running", "sglang:num_running_reqs", "trtllm_num_requests_running",
		"llamacpp:requests_processing", "tgi_batch_current_size",
		"nv_trt_llm_request_metrics{request_type=scheduled}", "llmctl_gateway_in_flight"},
	"waiting": {
		"vllm:num_requests_waiting", "sglang:num_queue_reqs", "trtllm_num_requests_waiting",
		"llamacpp:requests_deferred", "tgi_queue_size",
		"nv_trt_llm_request_metrics{request_type=waiting}", "nv_inference_pending_request_count"},
	"kv_usage": {
		"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage",
		"trtllm_kv_cache_utilization", "llamacpp:kv_cache_usage_ratio",
		"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=fraction}"},
	"preemptions": {
		"vllm:num_preemptions", "sglang:num_retracted_requests"},
	"prefix_queries": {
		"vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries", "sglang:prompt_tokens",
		"trtllm_prompt_tokens", "llmctl_gateway_tokens{kind=input}"},
	"prefix_hits": {
		"vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits", "sglang:cached_tokens",
		"trtllm_prompt_cached_tokens", "llmctl_gateway_tokens{kind=cached}"},
	"prompt_tokens": {
		"vllm:prompt_tokens", "sglang:prompt_tokens", "trtllm_prompt_tokens",
		"llamacpp:prompt_tokens", "tgi_request_input_length", "llmctl_gateway_tokens{kind=input}"},
	"generation_tokens": {
		"vllm:generation_tokens", "sglang:generation_tokens", "trtllm_generation_tokens",
		"llamacpp:tokens_predicted", "tgi_request_generated_tokens", "llmctl_gateway_tokens{kind=output}"},
	"draft_tokens": {
		"vllm:spec_decode_num_draft_tokens", "trtllm_spec_decode_num_draft_tokens",
		"llamacpp:spec_decode_num_draft_tokens"},
	"accepted_tokens": {
		"vllm:spec_decode_num_accepted_tokens", "trtllm_spec_decode_num_accepted_tokens",
		"llamacpp:spec_decode_num_accepted_tokens"},
	"drafts": {
		"vllm:spec_decode_num_drafts", "llamacpp:spec_decode_num_drafts"},
	"steps":       {"vllm:iteration_tokens"}, // a histogram: of it the number of values
	"step_tokens": {"vllm:iteration_tokens"},
	"acceptance_rate": {
		"sglang:spec_accept_rate", "vllm:spec_decode_draft_acceptance_rate"},
	"acceptance_length": {
		"sglang:spec_accept_length", "trtllm_spec_decode_acceptance_length"},
}

// timingNames are the names of each of record.Timings, by its key.
//
// vllm:time_per_output_token_seconds is a gap between tokens in spite of its
// name: it is observed once per token, and later versions call it that.
var timingNames = map[string][]string{
	"ttft_s": {
		"vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds",
		"trtllm_time_to_first_token_seconds", "llmctl_gateway_ttft_seconds"},
	"tpot_s": {
		"vllm:request_time_per_output_token_seconds", "trtllm_time_per_output_token_seconds",
		"tgi_request_mean_time_per_token_duration", "llmctl_gateway_tpot_seconds"},
	"itl_s": {
		"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds",
		"sglang:inter_token_latency_seconds"},
	"queue_s": {
		"vllm:request_queue_time_seconds", "sglang:queue_time_seconds",
		"trtllm_request_queue_time_seconds", "tgi_request_queue_duration"},
	"e2e_s": {
		"vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds",
		"trtllm_e2e_request_latency_seconds", "tgi_request_duration", "llmctl_gateway_e2e_seconds"},
}

// finished are counters of requests that ended, with the label that says why.
var finished = []struct{ name, label string }{
	{"vllm:request_success", "finished_reason"},
	{"trtllm_request_success", "finished_reason"},
	{"tgi_request_success", ""},
	{"sglang:num_requests", ""},
	{"llmctl_gateway_requests", "outcome"},
}

// kvBlocks are gauges whose ratio is the use of the KV cache, for pages that do
// not say it themselves.
var kvBlocks = []struct{ used, all string }{
	{"trtllm_kv_cache_used_blocks", "trtllm_kv_cache_max_blocks"},
	{"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=used}", "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=max}"},
}

// plain is a metric's name as the table and a page are compared by: relays and
// client libraries write _ for the colon (Ray also sets ray_ before it), and
// counters have the suffix _total or not.
func plain(name string) string {
	name = strings.ReplaceAll(name, ":", "_")
	return strings.TrimSuffix(strings.TrimPrefix(name, "ray_"), "_total")
}
