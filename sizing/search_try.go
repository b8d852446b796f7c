package sizing

import (
	"context"
	"fmt"
)

// outcome is what became of one job.
type outcome struct {
	options    []Option
	rejections []Rejection
	refused    error   // the first refusal, which is the answer when nothing could be tried
	common     *Inputs // of one of the configurations
}

// try evaluates one job: every tensor degree, and pipelines where no degree
// holds the model.
func (x *explorer) try(ctx context.Context, j job) outcome {
	var o outcome
	at := Configuration{Accelerator: j.device.Name, WeightDType: j.weights, KVDType: j.kv}
	if j.device.BF16FlopsPerS == 0 {
		o.reject(at, len(x.tensorDegrees())*x.batchLimits(), "no-rate", "its bf16 rate is not in the data, which a forecast needs")
		return o
	}
	fits, largest := false, 0
	for _, tensor := range x.tensorDegrees() {
		at.TensorParallel, at.PipelineParallel = tensor, max(1, x.Scenario.Parallel.Pipeline)
		fit, valid := x.tryParallel(ctx, at, &o)
		fits = fits || fit
		if valid {
			largest = max(largest, tensor)
		}
	}
	for _, pipeline := range pipelineDegrees {
		if fits || largest == 0 || x.Scenario.Parallel.Pipeline > 0 {
			break
		}
		at.TensorParallel, at.PipelineParallel = largest, pipeline
		fits, _ = x.tryParallel(ctx, at, &o)
	}
	return o
}

// reject rejects a configuration that stands for several.
func (o *outcome) reject(c Configuration, configurations int, code, reason string) {
	o.rejections = append(o.rejections, Rejection{c, configurations, code, reason})
}

// refuse rejects all batch limits of a degree of parallelism.
func (o *outcome) refuse(x *explorer, c Configuration, code string, err error) {
	o.reject(c, x.batchLimits(), code, err.Error())
	if o.refused == nil {
		o.refused = err
	}
}

// batchLimits is how many pairs of batch limits are tried.
func (x *explorer) batchLimits() int {
	return len(limitsOf(x.MaxNumBatchedTokens, 0, tokenLimits)) * len(limitsOf(x.MaxNumSeqs, 0, sequenceLimits))
}

// tryParallel evaluates the batch limits of one degree of parallelism. It
// reports whether any of them fits into memory, and whether the degree suits the
// model.
func (x *explorer) tryParallel(ctx context.Context, at Configuration, o *outcome) (fits, valid bool) {
	if err := checkParallel(x.model, at.TensorParallel, at.PipelineParallel); err != nil {
		o.refuse(x, at, "parallel", err)
		return false, false
	}
	s, err := resolve(x.planFor(at))
	if err != nil {
		o.refuse(x, at, "refused", err)
		return false, false
	}
	l, err := newLayout(s.model, s.kv, s.inputs.TensorParallel, s.inputs.PipelineParallel, s.inputs.BlockSize)
	if err != nil {
		o.refuse(x, at, "refused", err)
		return false, false
	}
	o.common = &s.inputs
	at.WeightDType, at.KVDType = s.inputs.WeightDType, s.inputs.KVDType
	standard := s.engine.Limits(s.device)
	seen := memo{mixes: map[mixKey]mix{}, plans: map[planKey]evaluated{}}
	for _, tokens := range limitsOf(x.MaxNumBatchedTokens, standard.MaxBatchedTokens, tokenLimits) {
		for _, sequences := range limitsOf(x.MaxNumSeqs, standard.MaxSeqs, sequenceLimits) {
			if ctx.Err() != nil {
				return fits, true
			}
			at.MaxNumSeqs, at.MaxNumBatchedTokens = sequences, tokens
			option, rejection := x.tryLimits(*s, l, at, seen)
			if rejection != nil {
				o.rejections = append(o.rejections, *rejection)
				fits = fits || rejection.Code != "memory"
				continue
			}
			fits = true
			o.options = append(o.options, *option)
		}
	}
	return fits, true
}

// memo keeps what configurations of one degree of parallelism share.
type memo struct {
	mixes map[mixKey]mix
	plans map[planKey]evaluated
}

// mixKey is what a mix depends on beside the workload.
type mixKey struct {
	resident float64
	limit    int
}

// planKey is what the rate and the times of a replica depend on.
type planKey struct {
	mix      mixKey
	capacity float64
	batched  float64
	kvBound  bool
}

// evaluated is an option without its configuration, or why it is none.
type evaluated struct {
	option Option
	reason string
}

// tryLimits evaluates one configuration. The situation is a copy.
func (x *explorer) tryLimits(s situation, l layout, at Configuration, seen memo) (*Option, *Rejection) {
	s.inputs.MaxNumSeqs, s.inputs.MaxNumBatchedTokens = at.MaxNumSeqs, at.MaxNumBatchedTokens
	s.assumptions, s.warnings = nil, nil
	m := s.plannedMemory()
	s.fitLength(&m, l)
	m.fill(&s, l)
	key := mixKey{s.resident(m, l), s.inputs.MaxModelLen}
	mixed, ok := seen.mixes[key]
	if !ok {
		mixed = newMix(s.workload, s.inputs.BlockSize, key.resident, key.limit)
		seen.mixes[key] = mixed
	}
	m.MixSequences = mixSequences(m, l, mixed)
	if reasons := s.memoryReasons(m, l, mixed); len(reasons) > 0 {
		return nil, &Rejection{at, 1, "memory", reasons[0]}
	}
	r := s.newReplica(m, mixed)
	like := planKey{key, r.capacity, r.batched, r.kvBound}
	e, ok := seen.plans[like]
	if !ok {
		e = x.evaluate(&s, r, mixed)
		seen.plans[like] = e
	}
	if e.reason != "" {
		return nil, &Rejection{at, 1, "slo", e.reason}
	}
	option := e.option
	option.Configuration = at
	return &option, nil
}

// evaluate finds the rate of a replica and what the fleet takes.
func (x *explorer) evaluate(s *situation, r replica, m mix) evaluated {
	rate, bound := s.limits.maxRate(r)
	if rate == 0 && !x.relaxed {
		return evaluated{reason: s.sloReason(r, bound)}
	}
	if rate == 0 {
		rate, bound = s.relaxed(r)
	}
	if rate == 0 {
		return evaluated{reason: fmt.Sprintf("one request at a time is already too much: %s", bound)}
	}
	load := planLoad(r, s.inputs, rate)
	at := load.operating
	o := newOption(load.fleet(s.inputs, m, rate), rate, bound, m.output)
	o.TTFT, o.TPOT, o.UserTokensPS = at.ttftQuantile(0.99), at.tpotQuantile(r, 0.99), 1/at.step
	o.Quality = s.quality()
	return evaluated{option: o}
}

// newOption fills in what a fleet is and costs.
func newOption(f *Fleet, maxRate float64, bound string, output float64) Option {
	return Option{
		Replicas: f.Replicas, Accelerators: f.Accelerators, MaxRPS: maxRate, Bound: bound,
		TokensPSPerAcc: maxRate * output * float64(f.Replicas) / float64(f.Accelerators),
		USDPerHour:     f.USDPerHour, USDPer1MOut: f.USDPer1MOut,
	}
}
