package main

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/modeled"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
	"github.com/llmctl/llmctl/sizing/cost"
)

// The devices of the bundled engine.
const (
	deviceCPU     = "cpu"
	deviceModeled = "modeled:" // and the name of an accelerator
)

// modeledFlags say what a modeled device imitates, under the names that size has
// for them.
type modeledFlags struct {
	engine               string
	tensor               int
	weightDType, kvDType string
	timeScale            float64 // modeled seconds for each one that passes
	calibration          string
	outside              time.Duration // what a request takes outside of the engine; not a flag
}

const modeledFlagNames = "--engine, --tp, --weight-dtype, --kv-dtype, --calibration and --time-scale"

func (f *modeledFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.engine, "engine", "", "modeled: engine that is imitated, e.g. vllm@0.19 (default: the newest vLLM)")
	countVar(flags, &f.tensor, "tp", "modeled: tensor-parallel size")
	flags.StringVar(&f.weightDType, "weight-dtype", "", "modeled: weight format (default: the model's own)")
	flags.StringVar(&f.kvDType, "kv-dtype", "", "modeled: KV cache format (default: as the checkpoint declares)")
	positiveVar(flags, &f.timeScale, "time-scale", maxTimeScale, "modeled: seconds of the model for each real one, e.g. 10 to go ten times as fast (default 1)")
	flags.StringVar(&f.calibration, "calibration", "", "modeled: a file of llmctl calibrate, whose constants of the step model go before the built-in ones")
}

// modelDevice gives the engine the limits that the imitated one has on an
// accelerator, and an executor that takes its time.
func (f *engineFlags) modelDevice(c *engine.Config, accelerator string) error {
	r := sizing.Request{
		Scenario: profiles.Scenario{
			Model: f.model, Accelerator: accelerator, Engine: f.modeled.engine, Parallel: profiles.Parallel{Tensor: f.modeled.tensor},
		},
		WeightDType: cmp.Or(f.modeled.weightDType, f.quantization), KVDType: f.modeledKV(), GPUMemoryUtilization: f.memoryUtilization,
		BlockSize: f.blockSize, MaxModelLen: f.sched.MaxModelLen, MaxNumSeqs: f.sched.MaxNumSeqs, MaxNumBatchedTokens: f.sched.MaxNumBatchedTokens,
		CalibrationFile: f.modeled.calibration,
	}
	var err error
	if f.kvCacheMemory != "" {
		if r.KVCacheMemory, err = units.ParseBytes(f.kvCacheMemory); err != nil {
			return fmt.Errorf("--kv-cache-memory: %w", err)
		}
	}
	if !f.prefixCaching {
		r.PrefixCaching = "off"
	}
	if r.Calibration, err = readCalibration(r.CalibrationFile); err != nil {
		return err
	}
	v, err := sizing.Serve(r)
	if err != nil {
		return err
	}
	if len(v.Reasons) > 0 {
		return fmt.Errorf("%s on %s: %s", f.model, accelerator, strings.Join(v.Reasons, "; "))
	}
	in := v.Inputs
	c.Sched.MaxNumSeqs = in.MaxNumSeqs * in.DataParallel
	c.Sched.MaxNumBatchedTokens = in.MaxNumBatchedTokens * in.DataParallel
	c.Sched.MaxModelLen = in.MaxModelLen
	c.Sched.DisablePrefixCache = !in.PrefixCaching
	c.BlockSize, c.Blocks = in.BlockSize, v.Blocks
	clock, scale := modeled.Wall(), cmp.Or(f.modeled.timeScale, 1)
	if scale != 1 {
		clock = modeled.Scaled(clock, scale)
	}
	c.Now = clock.Now
	c.Executor = modeled.New(modeled.Config{
		Facts: v.Facts, Device: v.Device, Constants: v.Constants, Clock: clock, Behind: time.Duration(mostBehind * scale),
	})
	f.modeled.outside = time.Duration(float64(cost.Duration(v.Constants.RequestS)) / scale)
	return nil
}

// mostBehind is how long this machine may be held up, in nanoseconds, without the model
// taking it for idle time.
const mostBehind = float64(100 * time.Millisecond)

// maxTimeScale is far beyond what a machine can keep up with.
const maxTimeScale = 10_000

// modeledKV is the format of the cache by whichever of its two flags says one.
func (f *engineFlags) modeledKV() string {
	if f.modeled.kvDType == "" && f.kvDType != "auto" {
		return f.kvDType
	}
	return f.modeled.kvDType
}

// later hands requests for answers on after what they take outside of the engine:
// in the imitated server, its tokenizer, and on the way to the client.
func later(h http.Handler, outside time.Duration) http.Handler {
	if outside <= 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			wait := time.NewTimer(outside)
			defer wait.Stop()
			select {
			case <-wait.C:
			case <-r.Context().Done():
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}
