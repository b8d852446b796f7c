package main

import (
	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/sizing"
)

// addEngineSettings registers the flags of how an engine is set up and of what its
// steps last by, which all commands that compute one share.
func addEngineSettings(cmd *cobra.Command, r *sizing.Request) {
	flags := cmd.Flags()
	flags.StringVar(&r.WeightDType, "weight-dtype", "", "weight format: bf16, fp16, fp8, int8, int4, awq, gptq, … (default: the model's own)")
	flags.StringVar(&r.KVDType, "kv-dtype", "", "KV cache format: bf16, fp16, fp32, fp8, int8, nvfp4 (default: as the checkpoint declares, else that of the activations)")
	flags.StringVar(&r.PrefixCaching, "prefix-caching", "", "whether the engine keeps prompts for requests that begin alike: auto, on or off (default auto: as the engine does)")
	flags.Float64Var(&r.GPUMemoryUtilization, "gpu-memory-utilization", 0, "share of memory that the engine may use (default: the engine's)")
	countVar(flags, &r.BlockSize, "block-size", "tokens per KV block (default: the engine's)")
	countVar(flags, &r.MaxModelLen, "max-model-len", "tokens of prompt and output together (default: the model's window)")
	countVar(flags, &r.MaxNumSeqs, "max-num-seqs", "requests running at once (default: the engine's)")
	countVar(flags, &r.MaxNumBatchedTokens, "max-num-batched-tokens", "token budget of one step (default: the engine's)")
	flags.StringVar(&r.CalibrationFile, "calibration", "", "a file of llmctl calibrate, whose constants of the step model go before the built-in ones")
}
