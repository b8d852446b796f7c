package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/engine/server"
	"github.com/llmctl/llmctl/internal/buildinfo"
	"github.com/llmctl/llmctl/internal/doctor"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// builtinModel is the profile that the bundled engine has weights for: seeded
// synthetic ones.
const builtinModel = "builtin"

// engineFlags are the engine's settings, under vLLM's names where it has them.
type engineFlags struct {
	model, served, device string
	kvCacheMemory         string
	seed                  uint64
	sched                 sched.Config
	prefixCaching         bool
	chunkedPrefill        bool
	blockSize             int
	maxQueue, workers     int
	modeled               modeledFlags
}

func (f *engineFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", builtinModel, "model to serve; builtin is a synthetic Llama, others need a modeled device")
	flags.StringVar(&f.served, "served-model-name", "", "name on the wire (default: the model's own)")
	seedVar(flags, &f.seed, 0, "seed of the weights and of requests without one")
	countVar(flags, &f.sched.LongPrefillTokenThreshold, "long-prefill-token-threshold", "largest piece of a prompt in one step")
	flags.BoolVar(&f.chunkedPrefill, "enable-chunked-prefill", true, "split long prompts over several steps")
	flags.IntVar(&f.maxQueue, "max-queue", 1024, "requests waiting before new ones are refused; 0: no limit")
	flags.IntVar(&f.workers, "workers", 0, "processors to compute with (default: all)")
	f.addDevice(cmd, "")
	f.addLimits(cmd, "")
	f.modeled.add(cmd)
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
	countVar(flags, &f.sched.MaxModelLen, "max-model-len", of+"tokens of prompt and output (default: the window)")
	countVar(flags, &f.blockSize, "block-size", of+"tokens per KV block (default 16; modeled: vLLM's)")
	flags.StringVar(&f.kvCacheMemory, "kv-cache-memory", "", of+"KV cache, e.g. 64MiB (default: 64k tokens; modeled: what the accelerator has room for)")
	flags.BoolVar(&f.prefixCaching, "enable-prefix-caching", true, of+"reuse KV blocks of equal prefixes")
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

// config checks the flags and returns the engine's configuration.
func (f *engineFlags) config() (engine.Config, error) {
	c := engine.Config{MemoryLimit: doctor.Memory(), Seed: f.seed, BlockSize: f.blockSize, MaxQueue: f.maxQueue, Workers: f.workers, Sched: f.sched}
	accelerator, isModeled := strings.CutPrefix(f.device, deviceModeled)
	if !isModeled && f.device != deviceCPU {
		return c, fmt.Errorf("unknown device %q, expected %s, or %sACCELERATOR such as %sh100-sxm-80gb", f.device, deviceCPU, deviceModeled, deviceModeled)
	}
	if !isModeled && f.model != builtinModel {
		return c, fmt.Errorf("no weights for the model %q, this version serves %s%s; --device %sACCELERATOR serves it without",
			f.model, builtinModel, profiles.DidYouMean(f.model, []string{builtinModel}), deviceModeled)
	}
	if !isModeled && f.modeled != (modeledFlags{}) {
		return c, fmt.Errorf("%s are for a modeled device (--device %sACCELERATOR)", modeledFlagNames, deviceModeled)
	}
	model, err := profiles.LoadModel(f.model)
	if err != nil {
		return c, err
	}
	c.Model = *model
	c.Sched.ReserveFullPrompt = true // vLLM's default
	c.Sched.DisablePrefixCache = !f.prefixCaching
	c.Sched.DisableChunkedPrefill = !f.chunkedPrefill
	if f.maxQueue < 0 || f.workers < 0 {
		return c, errors.New("--max-queue and --workers must not be negative")
	}
	if isModeled {
		return c, f.modelDevice(&c, accelerator)
	}
	if f.kvCacheMemory != "" {
		if c.KVBytes, err = units.ParseBytes(f.kvCacheMemory); err != nil {
			return c, fmt.Errorf("--kv-cache-memory: %w", err)
		}
	}
	return c, nil
}

func newServe(s *iostreams.IO) *cobra.Command {
	var (
		flags        engineFlags
		addr, apiKey string
		grace        time.Duration
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the engine: an OpenAI-compatible server with a paged KV cache",
		Long: `Run the engine: continuous batching, chunked prefill, paged KV blocks and a
prefix cache behind an OpenAI-compatible API, with vLLM's flags and metrics.

On a modeled device every model is served without its weights: the engine, its
batches and its cache are real and as large as vLLM's would be on the accelerator,
steps last as long as the cost model of size says, and the answers are words
without a meaning, of exactly the length that is asked for.`,
		Example: `  llmctl serve --addr 127.0.0.1:8000
  llmctl serve --device modeled:h100-sxm-80gb --model llama-3.1-8b
  curl -s localhost:8000/v1/chat/completions -d '{"model":"builtin","max_tokens":32,"messages":[{"role":"user","content":"hello"}]}'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if grace < 0 {
				return usagef("--grace %s is negative", grace)
			}
			config, err := flags.config()
			if err != nil {
				return usage(err)
			}
			config.OnError = func(err error) { fmt.Fprintf(s.Err, "warning: a step of the engine failed: %v\n", err) }
			e, err := engine.New(config)
			if err != nil {
				return usage(err)
			}
			defer e.Close()
			l, err := listen(addr, flags.handler(e, apiKey))
			if err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "serving %s on %s/v1, metrics on %s/metrics; Ctrl-C ends it\n", flags.name(e), l.url(), l.url())
			return serveUntil(nil, s, grace, func() {}, l)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8000", "address to listen on")
	cmd.Flags().StringVar(&apiKey, "api-key", "", "bearer key that clients must send; better set as LLMCTL_API_KEY")
	cmd.Flags().DurationVar(&grace, "grace", 30*time.Second, "time that running requests have to end after Ctrl-C")
	return cmd
}

func (f *engineFlags) handler(e *engine.Engine, apiKey string) http.Handler {
	h := server.New(e, server.Options{ServedModelNames: []string{f.name(e)}, APIKey: apiKey, Version: buildinfo.Version()})
	return later(h, f.modeled.outside)
}

func (f *engineFlags) name(e *engine.Engine) string {
	if f.served != "" {
		return f.served
	}
	return e.ModelName()
}
