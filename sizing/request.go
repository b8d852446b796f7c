package sizing

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// DefaultAccelerator is planned for when nothing is said.
const DefaultAccelerator = "h100-sxm-80gb"

// DefaultTargetUtilization is the share of a replica's largest rate that it is
// loaded with, so that peaks inside of the mean find room.
const DefaultTargetUtilization = 0.8

// Request is what to plan for: a scenario, and settings of the engine that go
// before the scenario's own. Zero fields take those, and else defaults, each of
// which is listed in Plan.Assumptions with the flag that changes it. An SLO in the
// scenario counts as given by the user; without one the workload's default holds,
// which does not make a plan infeasible: a bound that even a lone request breaks is
// raised.
type Request struct {
	Scenario profiles.Scenario

	WeightDType          string  // bf16, fp8, int4, …; the model's own when empty
	KVDType              string  // bf16, fp16, fp32, fp8; as the checkpoint declares, else that of the activations, when empty
	PrefixCaching        string  // on, off; as the engine does by default when empty or auto
	GPUMemoryUtilization float64 // 0..1
	BlockSize            int     // tokens
	MaxModelLen          int     // tokens
	MaxNumSeqs           int
	MaxNumBatchedTokens  int
	KVCacheMemory        int64        // bytes per accelerator: skips the memory model
	AcceleratorMemory    int64        // bytes, instead of what the accelerator's data says
	TargetUtilization    float64      // 0..1
	Calibration          []cost.Entry // constants that go before the built-in ones
	CalibrationFile      string       // where they were read from
	Count                int          // accelerators at hand; as many as it takes when 0
	Spare                int          // replicas that may fail while the load is still carried
	Disaggregate         bool         // size prefill and decode pools too
	TransferBandwidth    float64      // bytes per second and accelerator, for the caches between them

	LoadProfile profiles.LoadProfile // the load over a day; without one the load is steady
	APIPrice    profiles.APIPrice    // to compare with

	Today time.Time // tells old prices; zero when nobody asks

	// Recorded are the sessions of the scenario's trace, which a plan does not
	// read itself; absent when there is none.
	Recorded []workload.Session
	// TraceStart and TraceDuration are the part of the trace that was recorded.
	TraceStart, TraceDuration time.Duration

	samples *samples // of the workload, shared by all that is planned for it
}

// situation is a request with every default filled in and every name loaded.
type situation struct {
	model     *profiles.Model
	device    *profiles.Accelerator
	engine    *profiles.Engine
	workload  profiles.Workload
	format    shape.Format
	kv        shape.DType
	limits    limits
	now       state // at the planned load
	split     pools
	sloGiven  bool
	lenGiven  bool
	kvGiven   int64
	bandwidth float64 // between pools; 0 when there are none
	profile   profiles.LoadProfile
	api       profiles.APIPrice

	calibration []cost.Entry
	bounds      []int               // first layer of each pipeline stage
	stages      []shape.WeightBytes // of each stage, before they are divided over ranks
	facts       cost.Facts
	weighed     *weighings // of a search

	shareGiven bool // the user gave a share of the memory

	sampled *sampled      // requests of sessions or of a trace; nil for single requests
	users   int           // of a loop of users
	think   time.Duration // mean, between the requests of a session or a user

	inputs      Inputs
	assumptions []Assumption
	warnings    []Warning
}

func (s *situation) assume(name, value, flag string) {
	s.assumptions = append(s.assumptions, Assumption{name, value, flag})
}

func (s *situation) warn(code, format string, args ...any) {
	s.warnings = append(s.warnings, Warning{code, fmt.Sprintf(format, args...)})
}

// resolve loads what the request names and fills in the defaults. Its errors
// are bad input: they name the field and the value.
func resolve(r Request) (*situation, error) { return resolveWith(r, nil) }

// resolveWith is resolve with what is known of the model's weights.
func resolveWith(r Request, weighed *weighings) (*situation, error) {
	s := &situation{calibration: r.Calibration, weighed: weighed}
	r, err := s.flatten(r.settled())
	if err == nil {
		r, err = r.atPeak()
	}
	if err != nil {
		return nil, err
	}
	for _, step := range []func(Request) error{
		s.resolveHardware, s.resolveRates, s.resolveParallel, s.resolveFormats, s.resolvePrefixCaching, s.resolveWeights, s.resolveCalibration, s.resolveLimits, s.resolveWorkload, s.resolveReplicas, s.resolvePools, s.resolveSLO, s.resolvePrice, s.resolveMoney,
	} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *situation) resolveHardware(r Request) (err error) {
	if r.Scenario.Model == "" {
		return fmt.Errorf("--model is missing, expected a name such as llama-3.1-8b, a config.json or a folder with one")
	}
	if s.model, err = profiles.LoadModel(r.Scenario.Model); err != nil {
		return err
	}
	accelerator, engine := r.Scenario.Accelerator, r.Scenario.Engine
	if accelerator == "" {
		accelerator = DefaultAccelerator
		if s.model.Name == profiles.BuiltinModel && (engine == "" || strings.HasPrefix(engine, profiles.BundledEngine)) {
			accelerator = profiles.CPU // where llmctl serves its own model
		}
		s.assume("accelerator", accelerator, "--accelerator")
	}
	if s.device, err = profiles.LoadAccelerator(accelerator); err != nil {
		return err
	}
	if err := s.overrideMemory(r.AcceleratorMemory); err != nil {
		return err
	}
	if engine == "" {
		engine = profiles.DefaultEngine
		if s.device.Name == profiles.CPU {
			engine = profiles.BundledEngine
		}
	}
	if s.engine, err = profiles.LoadEngine(engine); err != nil {
		return err
	}
	if r.Scenario.Engine == "" {
		s.assume("engine", s.engine.String(), "--engine")
	}
	s.inputs.Model, s.inputs.Accelerator, s.inputs.Engine = s.model.Name, s.device.Name, s.engine.String()
	if s.engine.Rules != "" {
		s.inputs.EngineRules = s.engine.Name + "@" + s.engine.Rules
		s.warn("engine-newer", "%s is newer than the data: the plan follows the rules of %s, compare its pool with the engine's start-up log", s.engine, s.inputs.EngineRules)
	}
	return nil
}

// resolveRates checks what times are computed from, which memory does without.
func (s *situation) resolveRates(Request) error {
	if s.device.BF16FlopsPerS == 0 {
		return fmt.Errorf("accelerator %s has no bf16 rate in the data, which a forecast needs", s.device.Name)
	}
	return nil
}

func (s *situation) resolveParallel(r Request) error {
	p := r.Scenario.Parallel
	if err := p.Validate(); err != nil {
		return err
	}
	in := &s.inputs
	in.TensorParallel, in.PipelineParallel, in.DataParallel, in.ExpertParallel = max(1, p.Tensor), max(1, p.Pipeline), max(1, p.Data), p.Expert
	if p.Tensor == 0 {
		s.assume("tensor parallel", "1", "--tp")
	}
	if p.Pipeline == 0 {
		s.assume("pipeline parallel", "1", "--pp")
	}
	if err := checkParallel(s.model, in.TensorParallel, in.PipelineParallel); err != nil {
		return err
	}
	s.bounds = stageBounds(len(s.model.Layers), in.PipelineParallel)
	s.joinNodes()
	return checkRanks(s.model, *in)
}

func (s *situation) resolveLimits(r Request) error {
	defaults := s.engine.Limits(s.device)
	in := &s.inputs
	if err := fraction("--gpu-memory-utilization", r.GPUMemoryUtilization); err != nil {
		return err
	}
	if err := fraction("--target-utilization", r.TargetUtilization); err != nil {
		return err
	}
	if r.KVCacheMemory < 0 || r.KVCacheMemory > 1<<50 {
		return fmt.Errorf("--kv-cache-memory %d is outside 0 to 2^50 bytes", r.KVCacheMemory)
	}
	for _, f := range []struct {
		flag               string
		value, low, limit  int
		fallback           int
		target             *int
		name               string
		silentWhenFallback bool
	}{
		{"--block-size", r.BlockSize, 1, 1 << 20, s.engine.BlockSize, &in.BlockSize, "block size", false},
		{"--max-num-seqs", r.MaxNumSeqs, 1, 1 << 20, s.defaultSeqs(defaults.MaxSeqs, r), &in.MaxNumSeqs, "max_num_seqs", false},
		{"--max-num-batched-tokens", r.MaxNumBatchedTokens, fewestBatched, 1 << 24, defaults.MaxBatchedTokens, &in.MaxNumBatchedTokens, "max_num_batched_tokens", true},
		{"--max-model-len", r.MaxModelLen, 1, 1 << 31, s.model.MaxPositions, &in.MaxModelLen, "max_model_len", true},
	} {
		if f.value != 0 && f.value < f.low || f.value > f.limit {
			return fmt.Errorf("%s %d is outside %d to %d", f.flag, f.value, f.low, f.limit)
		}
		if *f.target = f.value; f.value == 0 {
			*f.target = f.fallback
			if !f.silentWhenFallback {
				s.assume(f.name, fmt.Sprint(f.fallback), f.flag)
			}
		}
	}
	if r.MaxNumBatchedTokens == 0 {
		in.MaxNumBatchedTokens = s.engine.BatchedTokens(s.device, in.MaxModelLen)
		if s.model.WholeImages && s.engine.WholeImages.Raises {
			in.MaxNumBatchedTokens = max(in.MaxNumBatchedTokens, s.engine.WholeImages.Tokens)
		}
		s.assume("max_num_batched_tokens", fmt.Sprint(in.MaxNumBatchedTokens), "--max-num-batched-tokens")
	}
	if err := s.checkBatch(r); err != nil {
		return err
	}
	if r.MaxModelLen > s.model.MaxPositions {
		return fmt.Errorf("--max-model-len %d is above the %d positions of %s", r.MaxModelLen, s.model.MaxPositions, s.model.Name)
	}
	if item := s.engine.WholeImages.Tokens; s.model.WholeImages && in.MaxNumBatchedTokens < item {
		s.warn("whole-images", "%s sees an image or video at once, of up to %d tokens, and %s refuses to start with %d tokens a step: raise --max-num-batched-tokens to %d, or serve text alone",
			s.model.Name, item, s.engine, in.MaxNumBatchedTokens, item)
	}
	s.lenGiven, s.kvGiven = r.MaxModelLen > 0, r.KVCacheMemory
	if tokens := s.engine.PoolTokens; tokens > 0 && s.kvGiven == 0 {
		s.kvGiven = int64(tokens) * shape.KVBytesPerToken(s.model, s.kv, in.TensorParallel)
		s.assume("KV cache", units.Count(int64(tokens))+" tokens", "--kv-cache-memory")
	}
	s.shareGiven = r.GPUMemoryUtilization > 0
	in.GPUMemoryUtilization, in.TargetUtilization = r.GPUMemoryUtilization, r.TargetUtilization
	if r.GPUMemoryUtilization == 0 {
		in.GPUMemoryUtilization = s.engine.Utilization
		if s.kvGiven == 0 {
			s.assume("memory utilization", fmt.Sprintf("%.2f", s.engine.Utilization), "--gpu-memory-utilization")
		}
	}
	if r.TargetUtilization == 0 {
		in.TargetUtilization = r.targetUtilization()
		s.assume("target utilization", fmt.Sprintf("%.2f", in.TargetUtilization), "--target-utilization")
	}
	return nil
}

// fraction checks a share of 1; 0 means not said.
func fraction(flag string, v float64) error {
	if math.IsNaN(v) || v < 0 || v > 1 {
		return fmt.Errorf("%s %v is outside 0 to 1", flag, v)
	}
	return nil
}

// resolveWorkload fills an unsaid workload with chat's. Prompts that the user
// describes share nothing unless the user says so.
func (s *situation) resolveWorkload(r Request) error {
	w := r.Scenario.Workload
	chat, err := profiles.LoadWorkload("chat")
	if err != nil {
		return err
	}
	if w.Name == "" && w.Trace == (profiles.Trace{}) {
		w.Name = "chat"
		if w.Input.Kind != "" || w.Output.Kind != "" {
			w.Name = "custom"
		}
		s.assume("workload", describeDefault(w.Name), "--workload")
	}
	if w.Trace != (profiles.Trace{}) {
		w.Name = "custom"
	} else if w.Input.Kind == "" {
		w.Input = chat.Input
		if w.Prefix == (profiles.Prefix{}) {
			w.Prefix = chat.Prefix
			s.assume("shared prefix", w.Prefix.String(), "--prefix")
		}
		s.assume("input tokens", w.Input.Words(), "--isl")
	} else if w.Name == "custom" && w.Prefix == (profiles.Prefix{}) {
		s.assume("shared prefix", w.Prefix.String(), "--prefix")
	}
	if w.Output.Kind == "" && w.Trace == (profiles.Trace{}) {
		w.Output = chat.Output
		s.assume("output tokens", w.Output.Words(), "--osl")
	}
	if w.Arrival.RatePerS == 0 && w.Arrival.Concurrency == 0 {
		load := "one replica at target utilization"
		if r.Count > 0 {
			load = fmt.Sprintf("%g%% of the largest that the accelerators carry", s.inputs.TargetUtilization*100)
		}
		s.assume("load", load, "--rps or --concurrency")
	}
	s.warnOfParts(w)
	if w, err = s.flattenSessions(w, r); err != nil {
		return err
	}
	if err := s.checkWindow(w); err != nil {
		return err
	}
	s.workload = w
	s.inputs.Workload, s.inputs.RPS, s.inputs.Concurrency = w.Name, w.Arrival.RatePerS, w.Arrival.Concurrency
	return nil
}

func describeDefault(name string) string {
	if name == "custom" {
		return "custom, from the lengths given"
	}
	return name
}

// resolveSLO reads the objectives. Classes are not told apart, since a workload
// does not say how their requests differ: all requests hold the objective of each
// class, at its own attainment. The strictest bound of each clause, at the
// strictest attainment, is what is shown.
func (s *situation) resolveSLO(r Request) error {
	slos := r.Scenario.SLO
	s.sloGiven = len(slos) > 0
	if !s.sloGiven {
		slos = []profiles.SLO{profiles.DefaultSLO(s.workload.Name)}
		s.assume("SLO", slos[0].String(), "--slo")
	}
	l, unsaid := limits{}, false
	for _, slo := range slos {
		if err := slo.Validate(); err != nil {
			return fmt.Errorf("--slo: %w", err)
		}
		l.ttft, l.tpot, l.e2e = stricter(l.ttft, slo.TTFT), stricter(l.tpot, slo.TPOT), stricter(l.e2e, slo.E2E)
		l.ttft = stricter(l.ttft, slo.TTFO)
		l.quantile = max(l.quantile, slo.Target())
		l.each = append(l.each, ownLimits(slo))
		if slo.Target() > mostCertain {
			s.warn("attainment", "attainment=%g is planned for as %g: a share of all requests can not be promised of a random queue", slo.Target(), mostCertain)
		}
		unsaid = unsaid || slo.Attainment == 0
		if slo.Class != "" {
			s.warn("slo-class", "the SLO of class %s is applied to all requests: classes share one queue, and a workload does not say how their lengths differ", slo.Class)
		}
	}
	if unsaid && l.quantile == profiles.DefaultAttainment {
		s.assume("SLO attainment", fmt.Sprintf("attainment=%g", l.quantile), "--slo")
	}
	l.quantile = min(l.quantile, mostCertain)
	if len(l.each) < 2 {
		l.each = nil
	}
	s.limits = l
	s.inputs.SLO = SLO{TTFT: l.ttft, TPOT: l.tpot, E2E: l.e2e, Attainment: l.quantile, Given: s.sloGiven}
	return nil
}

func stricter(bound float64, d time.Duration) float64 {
	if d == 0 || bound > 0 && bound <= d.Seconds() {
		return bound
	}
	return d.Seconds()
}

func (s *situation) resolvePrice(r Request) error {
	in := &s.inputs
	price := r.Scenario.Price.USDPerAcceleratorHour
	switch {
	case math.IsNaN(price) || price < 0 || price > 1e6:
		return fmt.Errorf("--price %v is outside 0 to 1,000,000 $ per accelerator and hour", price)
	case price > 0:
		in.USDPerAcceleratorHour, in.PriceSource = price, "given"
	case s.device.USDPerHour > 0:
		in.USDPerAcceleratorHour, in.PriceSource, in.PriceDate = s.device.USDPerHour, s.device.PriceSource, s.device.PriceDate
		s.assume("price", fmt.Sprintf("$%s per accelerator and hour, %s", priceText(s.device.USDPerHour), in.PriceDate), "--price")
	default:
		s.warn("no-price", "no price is known for %s: give one with --price", s.device.Name)
	}
	return nil
}
