package sizing

import (
	"context"
	"math"
)

// outcome is what became of one job.
type outcome struct {
	options    []Option
	rejections []Rejection
	refused    error   // the first refusal, which is the answer when nothing could be tried
	common     *Inputs // of one of the configurations
}

// try evaluates one job.
func (x *explorer) try(ctx context.Context, j job) outcome {
	var o outcome
	at := Configuration{Accelerator: j.ref, WeightDType: j.weights, KVDType: j.kv}
	if j.device.BF16FlopsPerS == 0 {
		o.reject(at, len(x.layouts(at))*x.batchLimits(), "no-rate", "its bf16 rate is not in the data, which a forecast needs")
		return o
	}
	x.tryLayouts(at, func(c Configuration) (fits, valid bool) { return x.tryParallel(ctx, c, &o) })
	return o
}

// reject rejects a configuration that stands for several.
func (o *outcome) reject(c Configuration, configurations int, code, reason string) {
	o.rejections = append(o.rejections, Rejection{Configuration: c, Configurations: configurations, Code: code, Reason: reason})
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
	return len(limitsOf(x.MaxNumBatchedTokens, tokenLimits)) * len(limitsOf(x.MaxNumSeqs, sequenceLimits))
}

// tryParallel evaluates the batch limits of one degree of parallelism. It
// reports whether any of them fits into memory, and whether the degree suits the
// model.
func (x *explorer) tryParallel(ctx context.Context, at Configuration, o *outcome) (fits, valid bool) {
	if err := x.checkLayout(at); err != nil {
		o.refuse(x, at, "parallel", err)
		return false, false
	}
	s, err := resolveWith(x.planFor(at), x.weighed)
	if err != nil {
		o.refuse(x, at, "refused", err)
		return false, false
	}
	l, err := s.newLayout()
	if err != nil {
		o.refuse(x, at, "refused", err)
		return false, false
	}
	s.raiseBlock(l)
	o.common = &s.inputs
	at.WeightDType, at.KVDType = s.inputs.WeightDType, s.inputs.KVDType
	standard := s.engine.Limits(s.device)
	unusual := func(said, value, standard int) int {
		if said > 0 || value == standard {
			return 0
		}
		return 1
	}
	seen := memo{mixes: map[mixKey]mix{}, plans: map[planKey]*evaluated{}}
	for _, tokens := range limitsOf(x.MaxNumBatchedTokens, tokenLimits) {
		for _, sequences := range limitsOf(x.MaxNumSeqs, sequenceLimits) {
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
			option.unusual = unusual(x.MaxNumSeqs, sequences, standard.MaxSeqs) + unusual(x.MaxNumBatchedTokens, tokens, standard.MaxBatchedTokens)
			o.options = append(o.options, *option)
		}
	}
	return fits, true
}

// checkLayout reports why the model can not be divided so.
func (x *explorer) checkLayout(at Configuration) error {
	if err := checkParallel(x.model, at.TensorParallel, at.PipelineParallel); err != nil {
		return err
	}
	return checkRanks(x.model, Inputs{TensorParallel: at.TensorParallel, DataParallel: at.DataParallel, ExpertParallel: at.ExpertParallel})
}

// memo keeps what configurations of one degree of parallelism share.
type memo struct {
	mixes map[mixKey]mix
	plans map[planKey]*evaluated
}

// mixKey is what a mix depends on beside the workload.
type mixKey struct {
	resident float64
	limit    int
}

// planKey is what the rate and the times of a replica depend on, beside its
// capacity.
type planKey struct {
	mix     mixKey
	batched float64
}

// evaluated is an option without its configuration, or why it is none, for a
// replica of some capacity.
type evaluated struct {
	option   Option
	code     string // of the rejection
	reason   string
	off      float64               // how far a lone request is beyond the objective, where it breaks it
	raise    func() []RelaxedBound // of the objective that it breaks
	limits   limits
	capacity float64
	bounded  bool    // by the capacity
	least    float64 // share of the cost that it may be in full
}

// coarseness is how far quickRate may be from maxRate.
const coarseness = 1.03

// least is the share of its cost that a load may have when the rate of a replica
// is as much higher as it may be: a replica less, where the number is near to the
// next.
func (l load) least(in Inputs) float64 {
	needed := l.needed
	switch {
	case !in.loaded():
		return 1 / coarseness
	case in.Count > 0:
		return 1
	case in.RPS > 0:
		needed = atLeastOne(in.RPS / (l.perReplica * coarseness))
	default:
		needed = max(1, min(needed-1, int(float64(needed)/coarseness)))
	}
	return float64(needed+in.Spare) / float64(l.replicas)
}

// tryLimits evaluates one configuration. The situation is a copy.
func (x *explorer) tryLimits(s situation, l layout, at Configuration, seen memo) (*Option, *Rejection) {
	s.inputs.MaxNumSeqs, s.inputs.MaxNumBatchedTokens = at.MaxNumSeqs, at.MaxNumBatchedTokens
	s.assumptions, s.warnings = nil, nil
	m := s.plannedMemory(l)
	s.fitLength(&m, l)
	m.fill(&s, l)
	key := mixKey{math.Round(s.resident(m, l)*1000) / 1000, s.inputs.MaxModelLen} // near enough to be shared
	mixed, ok := seen.mixes[key]
	if !ok {
		mixed = s.mix(key.resident, key.limit)
		seen.mixes[key] = mixed
	}
	m.MixSequences = mixSequences(m, l, mixed) * float64(s.inputs.DataParallel)
	if reasons := s.memoryReasons(m, l, mixed); len(reasons) > 0 {
		return nil, &Rejection{Configuration: at, Configurations: 1, Code: "memory", Reason: reasons[0]}
	}
	r := s.newReplica(m, mixed)
	e := seen.plans[planKey{key, r.batched}]
	if e == nil || !e.serves(r) {
		e = x.evaluate(&s, r, mixed)
		seen.plans[planKey{key, r.batched}] = e
	}
	if e.reason != "" {
		return nil, &Rejection{Configuration: at, Configurations: 1, Code: e.code, Reason: e.reason, off: e.off, raise: e.raise}
	}
	option := e.option
	option.Configuration, option.found = at, e
	return &option, nil
}

// serves reports whether what was found for one capacity holds for the one of r
// too, all else being equal: more changes nothing where something else was the
// bound, and less nothing while the rate still fits, or when no rate did.
func (e *evaluated) serves(r replica) bool {
	switch {
	case r.capacity == e.capacity:
		return true
	case r.capacity > e.capacity:
		return !e.bounded
	case e.reason != "":
		return true
	}
	r.mix.later = condense(r.mix.later, fewLengths)
	return e.limits.stops(r, r.at(e.option.MaxRPS)) == ""
}

// fewLengths is how many lengths of outputs become one where no more is needed,
// as in quickRate.
const fewLengths = 6

// evaluate finds the rate of a replica and what the fleet takes.
func (x *explorer) evaluate(s *situation, r replica, m mix) *evaluated {
	rate, bound := r.quickRate(s.limits)
	if rate == 0 {
		l := s.limits
		return &evaluated{
			code:   "slo",
			reason: s.sloReason(r, bound), off: worst(l.lone(r)), raise: func() []RelaxedBound { return l.raise(r) }, capacity: r.capacity,
		}
	}
	e := &evaluated{limits: s.limits, capacity: r.capacity, bounded: bound == boundByCache || bound == boundBySequences}
	load := planLoad(r, s.inputs, rate)
	var p Plan
	if s.judge(&p, r, load, rate); len(p.Reasons) > 0 {
		e.code, e.reason = "load", p.Reasons[0]
		return e
	}
	at := load.operating
	e.least = load.least(s.inputs)
	e.option = newOption(load.fleet(s.inputs, m, rate), rate, bound, m.output)
	e.option.UserTokensPS, e.option.Quality = 1/at.tpot(r), s.quality()
	e.option.Error = modelError(r.constants, at.ttft(), at.e2e())
	e.option.Measured = e.option.Error.Unmeasured(s.inputs) == ""
	r.mix.later = condense(r.mix.later, fewLengths)
	decoding := at.decoding(r)
	e.option.TTFT = roughly(at.ttftBelow, 0.99, at.ttft())
	e.option.TPOT = roughly(func(t float64) float64 { return decoding.tpotBelow(r.mix.later, t) }, 0.99, at.step)
	return e
}

// roughly is invert to half a percent, from a first guess above 0.
func roughly(below func(float64) float64, p, guess float64) float64 {
	guess = max(guess, 1e-6)
	low, high := guess, guess
	for below(high) < p && high < 1e6 {
		low, high = high, high*1.5
	}
	for below(low) >= p && low > guess*1e-6 {
		low, high = low/1.5, low
	}
	for high-low > 0.005*high {
		if middle := (low + high) / 2; below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// newOption fills in what a fleet is and costs.
func newOption(f *Fleet, maxRate float64, bound string, output float64) Option {
	return Option{
		Replicas: f.Replicas, Accelerators: f.Accelerators, MaxRPS: maxRate, Bound: bound,
		TokensPSPerAcc: maxRate * output * float64(f.Replicas) / float64(f.Accelerators),
		USDPerHour:     f.USDPerHour, USDPer1MOut: f.USDPer1MOut,
	}
}
