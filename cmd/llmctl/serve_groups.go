package main

// serveGroups are the headings of serve's help.
var serveGroups = []flagGroup{
	{"Model", []string{
		"model", "served-model-name", "tokenizer", "chat-template", "generation-config", "enable-auto-tool-choice", "tool-call-parser",
		"reasoning-parser", "allow-special-tokens", "seed",
	}},
	{"Server", []string{"addr", "host", "port", "api-key", "grace", "keep-alive"}},
	{"Memory", []string{
		"max-model-len", "gpu-memory-utilization", "kv-cache-memory", "kv-cache-dtype", "quantization", "block-size", "enable-prefix-caching", "no-enable-prefix-caching",
	}},
	{"Scheduling", []string{
		"max-num-seqs", "max-num-batched-tokens", "enable-chunked-prefill", "no-enable-chunked-prefill", "long-prefill-token-threshold",
		"scheduling-policy", "max-queue", "max-queue-tokens", "max-queue-delay", "workers",
	}},
	{"Speculative decoding", []string{"speculative-model", "num-speculative-tokens", "speculative-config"}},
	{"Modeled device", []string{"device", "engine", "tp", "weight-dtype", "kv-dtype", "time-scale", "calibration"}},
	{"Output", []string{"step-log", "disable-log-stats", "quiet"}},
}
