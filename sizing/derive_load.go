package sizing

import (
	"fmt"
)

// state explains the fixed state of linear attention.
func (d *derivations) state(s *situation, p *Plan) {
	if p.Model.StateBytesPerSequence == 0 {
		return
	}
	layers, sizes := map[int]int{}, []int{}
	for _, layer := range s.model.Layers {
		n := layer.Attention.StateBytes
		if n == 0 {
			continue
		}
		if layers[n] == 0 {
			sizes = append(sizes, n)
		}
		layers[n]++
	}
	text := ""
	for i, n := range sizes {
		if i > 0 {
			text += " + "
		}
		text += fmt.Sprintf("%d × %d B", layers[n], n)
	}
	d.add("state per sequence", "layers of linear attention × bytes of their state", text, float64(p.Model.StateBytesPerSequence), "B",
		"config.json: the linear layers' heads and widths")
}

// quantiles names the percentiles, which come from distributions.
func (d *derivations) quantiles(p *Plan) {
	q := p.Performance
	for _, t := range []struct {
		name, how, source string
		times             Quantiles
	}{
		{"TTFT", "the time where the distribution of own prefill plus wait reaches it", "mixture over the prompts' lengths, exponential tail of the wait", q.TTFT},
		{"TPOT", "the mean and the bad luck of that percentile with the batch and with the prompts of others", "Poisson batch, compound Poisson prompts", q.TPOT},
		{"E2E", "the time where the distribution of TTFT + TPOT × (output tokens − 1) reaches it", "lengths, first token and luck taken as independent", q.E2E},
	} {
		d.note(t.name+", p50", t.how, "found by bisection", t.times.P50, "s", t.source)
		d.note(t.name+", p99", t.how, "found by bisection", t.times.P99, "s", t.source)
	}
}

// throughput explains rates in tokens, and how near the step is to its limit.
func (d *derivations) throughput(p *Plan, r replica) {
	q := p.Performance
	rate := figure(q.RPS) + "/s"
	d.add("prefill rate", "rate × (input tokens − cached tokens)",
		fmt.Sprintf("%s × (%s − %s)", rate, figure(r.mix.input), figure(r.mix.cached)), q.PrefillTokensPS, "tokens/s", "per replica")
	d.add("output rate", "rate × output tokens", fmt.Sprintf("%s × %s", rate, figure(r.mix.output)), q.OutputTokensPS, "tokens/s", "per replica")
	d.add("share of the roofline", "roofline limit ÷ decode step",
		fmt.Sprintf("%s ÷ %s", secondsFigure(q.StepLimit), secondsFigure(q.StepLimit/q.RooflineFraction)), q.RooflineFraction, "",
		"the limit is no forecast; this is how much of it is reached")
	d.note("error of the step model", "mean absolute error where it was not fitted", "measured", q.Error.Relative, "", q.Error.Source)
}

// load explains how the fleet is loaded.
func (d *derivations) load(p *Plan) {
	f, in, q := p.Fleet, p.Inputs, p.Performance
	switch {
	case in.RPS > 0:
		d.note("rate of the fleet", "as asked", "a setting", f.RPS, "requests/s", "--rps")
	case in.Concurrency > 0:
		d.note("rate of the fleet", "replicas × the rate at which each has its share in flight, at most its planned rate", "found by bisection", f.RPS, "requests/s", "Little's law")
	default:
		d.add("rate of the fleet", "largest rate × target utilization", fmt.Sprintf("%s/s × %s", figure(q.MaxRPS), setting(in.TargetUtilization)), f.RPS, "requests/s", "--target-utilization")
	}
	d.add("rate per replica", "rate of the fleet ÷ replicas", fmt.Sprintf("%s/s ÷ %d", figure(f.RPS), f.Replicas), q.RPS, "requests/s", "an even split")
	d.add("utilization", "rate per replica ÷ largest rate", fmt.Sprintf("%s/s ÷ %s/s", figure(q.RPS), figure(q.MaxRPS)), f.Utilization, "", "of the largest rate that meets the objective")
	d.add("accelerators", "replicas × TP × PP", fmt.Sprintf("%d × %d × %d", f.Replicas, in.TensorParallel, in.PipelineParallel), float64(f.Accelerators), "accelerators", "--tp, --pp")
}

// derivedKeys are the derivations whose value is a number of the plan's JSON.
var derivedKeys = map[string]string{
	"parameters":                            "model.parameters",
	"active parameters":                     "model.active_parameters",
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
	"error of the pool":              "memory.kv_cache_error_bytes",
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
	"replicas":                          "plan.replicas",
	"accelerators":                      "plan.accelerators",
	"utilization":                       "plan.utilization",
	"rate of the fleet":                 "plan.rps",
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
