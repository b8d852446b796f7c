package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/iostreams"
)

// builtinModel is the profile that the bundled engine has weights for: seeded
// synthetic ones.
const builtinModel = "builtin"

// engineFlags are the engine's settings, under vLLM's names where it has them.
type engineFlags struct {
	model, device          string
	served                 []string
	kvCacheMemory, kvDType string
	quantization           string
	memoryUtilization      float64
	seed                   uint64
	sched                  sched.Config
	policy                 string
	prefixCaching          bool
	chunkedPrefill         bool
	blockSize              int
	maxQueue, queueTokens  int
	queueDelay             time.Duration
	workers                int
	stepLog                string
	speculative            speculativeFlags
	text                   textFlags
	modeled                modeledFlags
	dtype                  string       // vLLM's
	bind                   func() error // called before a model is loaded, which takes time; nil: nothing
}

func (f *engineFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", builtinModel, "model to serve: builtin, a synthetic Llama; a folder from Hugging Face; a .gguf file; or, on a modeled device, a profile")
	flags.StringSliceVar(&f.served, "served-model-name", nil, "names on the wire, of which answers have the first (default: the model's own)")
	seedVar(flags, &f.seed, 0, "seed of the built-in weights and of requests without one")
	flags.StringVar(&f.policy, "scheduling-policy", "fcfs", "order of waiting requests: fcfs, or priority, which lets requests say theirs")
	countVar(flags, &f.sched.LongPrefillTokenThreshold, "long-prefill-token-threshold", "largest piece of a prompt in one step")
	flags.BoolVar(&f.chunkedPrefill, "enable-chunked-prefill", true, "split long prompts over several steps")
	addTurnedOff(flags, "no-enable-chunked-prefill", &f.chunkedPrefill)
	flags.IntVar(&f.maxQueue, "max-queue", 1024, "requests waiting before new ones are refused; 0: no limit")
	countVar(flags, &f.queueTokens, "max-queue-tokens", "prompt tokens of waiting requests before new ones are refused (default: no limit)")
	flags.DurationVar(&f.queueDelay, "max-queue-delay", 0, "wait that is expected before new requests are refused; 0: no limit")
	countVar(flags, &f.workers, "workers", "processors to compute with (default: all)")
	flags.StringVar(&f.stepLog, "step-log", "", "file to write a line of JSON to for each step of the engine")
	f.addDevice(cmd, "")
	f.addLimits(cmd, "")
	flags.StringVar(&f.kvDType, "kv-cache-dtype", "auto", "format of the KV cache: auto, float32, float16, bfloat16, int8, fp8 or fp8_e4m3")
	aboveVar(flags, &f.memoryUtilization, 1, "gpu-memory-utilization", "share of memory that weights and KV cache may use, e.g. 0.9 (default: a cache for 64k tokens; modeled: vLLM's)")
	flags.StringVarP(&f.quantization, "quantization", "q", "", "run the layers of a model in F32, F16 or BF16 with weights in eight bits: int8, or fp8, which is kept as float16 (default: as they are stored)")
	f.speculative.add(flags)
	f.text.add(flags)
	f.modeled.add(cmd)
	flags.StringVar(&f.dtype, "dtype", "auto", "vLLM's; weights stay as they are stored")
	flags.Lookup("dtype").Hidden = true
	addNeutral(flags)
}

// addDevice adds what the engine runs on.
func (f *engineFlags) addDevice(cmd *cobra.Command, of string) {
	cmd.Flags().StringVar(&f.device, "device", deviceCPU, of+"device to run on: cpu, or modeled:ACCELERATOR, whose steps last as long as the cost model says")
}

// engineLimitFlags are the flags of addLimits.
var engineLimitFlags = []string{
	"device", "max-num-seqs", "max-num-batched-tokens", "max-model-len", "block-size", "kv-cache-memory", "enable-prefix-caching",
}

// addLimits adds the settings that decide what fits into a batch and into the
// cache.
func (f *engineFlags) addLimits(cmd *cobra.Command, of string) {
	flags := cmd.Flags()
	countVar(flags, &f.sched.MaxNumSeqs, "max-num-seqs", of+"requests running at once (default 64; modeled: vLLM's)")
	countVar(flags, &f.sched.MaxNumBatchedTokens, "max-num-batched-tokens", of+"tokens of one step (default 512; modeled: vLLM's)")
	flags.Var(windowValue{&f.sched.MaxModelLen}, "max-model-len", of+"tokens of prompt and output, e.g. 8k, 8K (8,192) or auto (default: the window)")
	flags.Lookup("max-model-len").DefValue = "0"
	countVar(flags, &f.blockSize, "block-size", of+"tokens per KV block (default 16; modeled: vLLM's)")
	flags.StringVar(&f.kvCacheMemory, "kv-cache-memory", "", of+"KV cache, e.g. 64MiB (default: 64k tokens; modeled: what the accelerator has room for)")
	flags.BoolVar(&f.prefixCaching, "enable-prefix-caching", true, of+"reuse KV blocks of equal prefixes")
	addTurnedOff(flags, "no-enable-prefix-caching", &f.prefixCaching)
}

// args are the flags of addLimits as another process takes them.
func (f *engineFlags) args() []string {
	args := []string{
		"--device=" + f.device,
		"--kv-cache-memory=" + f.kvCacheMemory,
		fmt.Sprintf("--enable-prefix-caching=%v", f.prefixCaching),
	}
	for _, c := range []struct {
		flag  string
		value int
	}{
		{"max-num-seqs", f.sched.MaxNumSeqs}, {"max-num-batched-tokens", f.sched.MaxNumBatchedTokens}, {"max-model-len", f.sched.MaxModelLen},
		{"block-size", f.blockSize},
	} {
		if c.value > 0 {
			args = append(args, fmt.Sprintf("--%s=%d", c.flag, c.value))
		}
	}
	return args
}

func newServe(s *iostreams.IO) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve [MODEL]",
		Short: "Run the engine: an OpenAI-compatible server with a paged KV cache",
		Long: `Run the engine: continuous batching, chunked prefill, paged KV blocks and a
prefix cache behind an OpenAI-compatible API, with vLLM's flags and metrics.

On a modeled device every model is served without its weights: the engine, its
batches and its cache are real and as large as vLLM's would be on the accelerator,
steps last as long as the cost model of size says, and the answers are words
without a meaning, of exactly the length that is asked for.

The first Ctrl-C lets running requests end within --grace, while new ones and
/health are answered 503; the second ends at once. Exit code 130 says that answers
were cut.`,
		Example: `  llmctl serve --addr 127.0.0.1:8000
  llmctl serve ./SmolLM2-135M-Instruct --max-model-len 4096
  llmctl serve smollm2-135m-instruct-q4_1.gguf --served-model-name smollm2
  llmctl serve --device modeled:h100-sxm-80gb --model llama-3.1-8b
  curl -s localhost:8000/v1/completions -d '{"prompt":"hello","max_tokens":32}'`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if cmd.Flags().Changed("model") && f.engine.model != args[0] {
					return usagef("two models, %s and --model %s, expected one", args[0], f.engine.model)
				}
				f.engine.model = args[0]
			}
			if cmd.Flags().Changed("served-model-name") && (len(f.engine.served) == 0 || slices.Contains(f.engine.served, "")) {
				return usagef("--served-model-name is empty, expected names, or no flag for the model's own")
			}
			return f.run(s)
		},
	}
	f.add(cmd)
	cmd.SetFlagErrorFunc(serveFlagError)
	groupFlags(cmd, serveGroups)
	return cmd
}
