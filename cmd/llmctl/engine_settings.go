package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

// engineSettings are the flags of how an engine is set up, which all commands that
// compute one share.
var engineSettings = []setting{
	{flag: "weight-dtype", help: "weight format: bf16, fp16, fp8, int8, int4, awq, gptq, … (default: the model's own)",
		apply: func(sc *profiles.Scenario, v string) error { sc.Serving.WeightDType = v; return nil }},
	{flag: "kv-dtype", help: "KV cache format: bf16, fp16, fp32, fp8, int8, nvfp4 (default: as the checkpoint declares, else that of the activations)",
		apply: func(sc *profiles.Scenario, v string) error { sc.Serving.KVDType = v; return nil }},
	serving("prefix-caching", "whether the engine keeps prompts for requests that begin alike: auto, on or off (default auto: as the engine does)", profiles.CachingModes),
	serving("gpu-memory-utilization", "share of memory that the engine may use (default: the engine's)", nil),
	serving("block-size", "tokens per KV block (default: the engine's)", nil),
	serving("max-model-len", "tokens of prompt and output together (default: the model's window)", nil),
	serving("max-num-seqs", "requests running at once (default: the engine's)", nil),
	serving("max-num-batched-tokens", "token budget of one step (default: the engine's)", nil),
	serving("kv-cache-memory", "take this pool per accelerator, e.g. 58GiB, and skip the memory model", nil),
}

// schedulingSettings are the flags of what only a simulation tells apart.
var schedulingSettings = []setting{
	serving("chunked-prefill", "whether a prompt may take several steps: on or off (default on)", profiles.ChunkedModes),
	serving("long-prefill-token-threshold", "largest part of a prompt that one step takes (default: the step's budget)", nil),
	serving("policy", "order of waiting requests: fcfs, or priority with --priorities (default fcfs)", profiles.Policies),
	{flag: "priorities", help: "ranks of classes under --policy priority, the smaller the sooner, e.g. interactive=0,batch=10",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Serving.Priorities, err = profiles.ParsePriorities(v)
			if sc.Serving.Policy == "" {
				sc.Serving.Policy = "priority"
			}
			return err
		}},
	serving("cache-salt", "tenant keeps tenants from each other's cached prompts; none shares them (default none)", profiles.CacheSalts),
	serving("batching", "continuous, or static: a batch starts when the one before it has ended (default continuous)", profiles.BatchingModes),
	serving("kv-layout", "paged, or contiguous: a slab of --max-model-len tokens for each request (default paged)", profiles.KVLayouts),
	{flag: "speculative", help: "speculative decoding, e.g. tokens=4,acceptance=0.7,draft_cost=0.1, or off",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Serving.Speculative, err = profiles.ParseSpeculative(v)
			return err
		}},
	{flag: "offload", help: "keep evicted KV blocks in the host's memory, e.g. memory=64GB,bandwidth=50GB/s, or off",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Serving.Offload, err = profiles.ParseOffload(v)
			return err
		}},
}

// serving is the flag of one plain setting of the engine.
func serving(flag, help string, words []string) setting {
	key := strings.ReplaceAll(flag, "-", "_")
	st := setting{flag: flag, help: help, apply: func(sc *profiles.Scenario, v string) error { return sc.Serving.Set(key, v) }}
	if words != nil {
		st.names = func() []string { return slices.Clone(words) }
	}
	return st
}

// flagsOf are the names of settings.
func flagsOf(settings []setting) (names []string) {
	for _, st := range settings {
		names = append(names, st.flag)
	}
	return names
}

// addEngineSettings registers the flag of what an engine's steps last by; those of
// how it is set up are settings of the scenario.
func addEngineSettings(cmd *cobra.Command, r *sizing.Request) {
	cmd.Flags().StringVar(&r.CalibrationFile, "calibration", "", "a file of llmctl calibrate, whose constants of the step model go before the built-in ones")
}
