package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/engine/server"
	"github.com/llmctl/llmctl/internal/buildinfo"
	"github.com/llmctl/llmctl/internal/doctor"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// servedModel is a model being served.
type servedModel struct {
	engine  *engine.Engine
	options server.Options
	weights int64  // bytes of the model's files; 0 for synthetic ones
	reduced string // what quantization did, to be told; empty for none
	flags   *engineFlags
	closers []func() error
}

// open makes what the flags ask for. Close it. Errors are the user's to mend.
func (f *engineFlags) open(s *iostreams.IO) (*servedModel, error) {
	v := &servedModel{flags: f, options: server.Options{ServedModelNames: f.served, Version: buildinfo.Version()}}
	if err := f.openInto(v, s); err != nil {
		v.close()
		return nil, usage(err)
	}
	return v, nil
}

func (f *engineFlags) openInto(v *servedModel, s *iostreams.IO) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	v.options.Priorities = f.policy == "priority"
	accelerator, isModeled := strings.CutPrefix(f.device, deviceModeled)
	switch {
	case isModeled:
		err = f.modelDevice(&c, accelerator)
		v.options.Unguided = "the words of a modeled device mean nothing"
	case f.model == builtinModel:
		err = f.text.onlyForFiles()
		v.options.Unguided = "the built-in model is synthetic and has words alone; serve a model from files"
	default:
		err = f.openFiles(v, &c)
	}
	if err != nil {
		return err
	}
	if err := f.quantize(v, &c); err != nil {
		return err
	}
	if err := f.speculative.apply(&c, v); err != nil {
		return err
	}
	if f.stepLog != "" {
		if err := v.logSteps(&c, f.stepLog, s.Err); err != nil {
			return err
		}
	}
	c.OnError = func(err error) { fmt.Fprintf(s.Err, "warning: a step of the engine failed: %v\n", err) }
	v.engine, err = engine.New(c)
	return err
}

// close ends the engine, and then what it used.
func (v *servedModel) close() {
	if v.engine != nil {
		v.engine.Close()
	}
	for _, c := range v.closers {
		_ = c() // files that were read, and a log whose writing has been seen to
	}
}

func (v *servedModel) handler() http.Handler {
	return later(server.New(v.engine, v.options), v.flags.modeled.outside)
}

// config checks the flags that do not depend on the model's files.
func (f *engineFlags) config() (engine.Config, error) {
	c := engine.Config{
		MemoryLimit: doctor.Memory(), MemoryUtilization: f.memoryUtilization, KVDType: f.kvDType,
		Seed: f.seed, BlockSize: f.blockSize, Workers: f.workers, Sched: f.sched,
		MaxQueue: f.maxQueue, MaxQueueTokens: f.queueTokens, MaxQueueDelay: f.queueDelay,
	}
	_, isModeled := strings.CutPrefix(f.device, deviceModeled)
	switch {
	case !isModeled && f.device != deviceCPU:
		return c, fmt.Errorf("unknown device %q, expected %s, or %sACCELERATOR such as %sh100-sxm-80gb", f.device, deviceCPU, deviceModeled, deviceModeled)
	case !isModeled && f.modeled != (modeledFlags{}):
		return c, fmt.Errorf("%s are for a modeled device (--device %sACCELERATOR)", modeledFlagNames, deviceModeled)
	case f.maxQueue < 0 || f.workers < 0 || f.queueDelay < 0:
		return c, errors.New("--max-queue, --max-queue-delay and --workers must not be negative")
	}
	c.Sched.ReserveFullPrompt = true // vLLM's default
	c.Sched.DisablePrefixCache = !f.prefixCaching
	c.Sched.DisableChunkedPrefill = !f.chunkedPrefill
	switch f.policy {
	case "fcfs":
	case "priority":
		c.Sched.Policy = sched.Priority
	default:
		return c, fmt.Errorf("--scheduling-policy %q, expected fcfs or priority", f.policy)
	}
	if isModeled || f.model == builtinModel {
		profile, err := profiles.LoadModel(f.model)
		if err != nil {
			return c, err
		}
		c.Model = *profile
	}
	if f.kvCacheMemory != "" && !isModeled {
		var err error
		if c.KVBytes, err = units.ParseBytes(f.kvCacheMemory); err != nil {
			return c, fmt.Errorf("--kv-cache-memory: %w", err)
		}
	}
	return c, nil
}

// openFiles loads a model.
func (f *engineFlags) openFiles(v *servedModel, c *engine.Config) error {
	if _, err := os.Stat(f.model); err != nil {
		return f.noModel()
	}
	m, err := load.Open(f.model, load.Options{MaxModelLen: f.sched.MaxModelLen})
	if err != nil {
		return err
	}
	v.closers = append(v.closers, m.Close)
	if err := f.text.apply(m, &v.options); err != nil {
		return err
	}
	c.Weights, c.Tokenizer, c.Model = m.Weights, v.options.Tokenizer, m.Profile
	for _, path := range m.Files {
		if info, err := os.Stat(path); err == nil {
			v.weights += info.Size()
		}
	}
	if c.KVBytes == 0 && c.MemoryUtilization == 0 && c.MemoryLimit > 0 &&
		v.weights+usualKVTokens*int64(m.Weights.KVBytesPerToken()) > c.MemoryLimit/2 {
		c.MemoryUtilization = modestShare
	}
	return nil
}

const (
	usualKVTokens = 64 << 10 // of the engine's cache when nothing is said
	// modestShare is how much of the memory weights and cache take when the usual cache
	// is more than half of it: other programs run beside this one.
	modestShare = 0.5
)

// noModel says what a name that is no file may have been meant to be.
func (f *engineFlags) noModel() error {
	if _, err := profiles.LoadModel(f.model); err == nil {
		return fmt.Errorf("no weights for the model %q, of which only the sizes are built in: name a folder or a .gguf file, or serve it without weights by --device %sh100-sxm-80gb", f.model, deviceModeled)
	}
	if strings.Count(f.model, "/") == 1 && !filepath.IsAbs(f.model) && !strings.HasPrefix(f.model, ".") && !strings.HasSuffix(f.model, ".gguf") {
		return fmt.Errorf("%q is no folder here, and nothing is downloaded: fetch it first, e.g. with hf download %s --local-dir DIR, and name DIR", f.model, f.model)
	}
	return fmt.Errorf("no model %q%s, expected %s, a folder with config.json and *.safetensors, or a .gguf file",
		f.model, profiles.DidYouMean(f.model, []string{builtinModel}), builtinModel)
}

// logSteps writes a line for each step of the engine.
func (v *servedModel) logSteps(c *engine.Config, path string, errs io.Writer) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--step-log: %w", err)
	}
	v.closers = append(v.closers, file.Close)
	c.StepLog = stepWriter(file, errs)
	return nil
}
