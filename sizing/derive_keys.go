package sizing

// derivedKeys are the derivations whose value is a number of the plan's JSON.
var derivedKeys = map[string]string{
	"parameters":                            "model.parameters",
	"active parameters":                     "model.active_parameters",
	"parameters of the vision tower":        "model.vision_parameters",
	"KV cache per token":                    "model.kv_bytes_per_token",
	"KV cache per token beyond the windows": "model.kv_bytes_per_token_beyond_window",
	"KV cache of the longest request":       "model.kv_bytes_at_max_model_len",
	"state per sequence":                    "model.state_bytes_per_sequence",

	"memory of one accelerator":      "memory.total_bytes",
	"weights per accelerator":        "memory.weights_bytes",
	"activation peak":                "memory.activation_bytes",
	"non-torch memory":               "memory.non_torch_bytes",
	"CUDA graphs":                    "memory.cuda_graph_bytes",
	"reserve":                        "memory.reserve_bytes",
	"KV pool per accelerator":        "memory.kv_cache_bytes",
	"missing memory per accelerator": "memory.missing_bytes",
	"error of the pool":              "memory.kv_cache_error_bytes",
	"KV pool of the first stage":     "memory.first_stage_kv_cache_bytes",
	"stage that decides":             "memory.pipeline_stage",
	"KV blocks":                      "memory.kv_cache_blocks",
	"KV tokens":                      "memory.kv_cache_tokens",
	"longest requests at once":       "memory.max_concurrency",
	"average requests at once":       "memory.mix_sequences",
	"KV pool, low":                   "memory.kv_cache_bytes_low",
	"KV pool, high":                  "memory.kv_cache_bytes_high",
	"KV tokens, low":                 "memory.kv_cache_tokens_low",
	"KV tokens, high":                "memory.kv_cache_tokens_high",
	"longest requests at once, low":  "memory.max_concurrency_low",
	"longest requests at once, high": "memory.max_concurrency_high",

	"TTFT, mean": "performance.ttft_s.mean", "TTFT, p50": "performance.ttft_s.p50", "TTFT, p99": "performance.ttft_s.p99",
	"TPOT, mean": "performance.tpot_s.mean", "TPOT, p50": "performance.tpot_s.p50", "TPOT, p99": "performance.tpot_s.p99",
	"E2E, mean": "performance.e2e_s.mean", "E2E, p50": "performance.e2e_s.p50", "E2E, p99": "performance.e2e_s.p99",
	"rate per replica":                  "performance.rps",
	"batch":                             "performance.batch",
	"prefill rate":                      "performance.prefill_tokens_per_s",
	"output rate":                       "performance.output_tokens_per_s",
	"largest rate per replica":          "performance.max_rps",
	"share of the roofline":             "performance.roofline_fraction",
	"roofline limit of the decode step": "performance.step_limit_s",
	"error of the step model":           "performance.error.relative",
	"low end of 80%":                    "performance.error.low",
	"high end of 80%":                   "performance.error.high",
	"error of TTFT":                     "performance.error.ttft.relative",
	"low end of 80% of TTFT":            "performance.error.ttft.low",
	"high end of 80% of TTFT":           "performance.error.ttft.high",
	"low end of 80% of E2E":             "performance.error.e2e.low",
	"high end of 80% of E2E":            "performance.error.e2e.high",
	"replicas, low":                     "plan.replicas_low",
	"replicas, high":                    "plan.replicas_high",
	"replicas":                          "plan.replicas",
	"accelerators":                      "plan.accelerators",
	"utilization":                       "plan.utilization",
	"replicas that carry the load":      "plan.needed_replicas",
	"utilization with failures":         "plan.utilization_with_failures",
	"rate of the fleet":                 "plan.rps",
	"cost per month":                    "plan.usd_per_month",
	"cost per request":                  "plan.usd_per_request",
	"cost per hour":                     "plan.usd_per_hour",
	"cost per 1M input tokens":          "plan.usd_per_1m_input_tokens",
	"cost per 1M output tokens":         "plan.usd_per_1m_output_tokens",
	"cost per 1M tokens, in and out":    "plan.usd_per_1m_total_tokens",
}

// name gives each derivation the key of the number that it explains.
func (d derivations) name() {
	for i := range d {
		d[i].Key = derivedKeys[d[i].Name]
	}
}
