package sizing

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// Compute plans for a request. An error is bad input and names the field and
// its value; a request that is well formed but can not be met gives a plan that
// is not feasible, with reasons.
func Compute(r Request) (*Plan, error) {
	s, l, err := settle(r)
	if err != nil {
		return nil, err
	}
	s.warnOfPrefixCaching()
	s.warnBlocks()
	memory, m := s.fit(l)
	p := &Plan{Schema: Schema, Memory: memory, Assumptions: []Assumption{}, Warnings: []Warning{}}
	p.Memory.fillRange(s, l)
	s.warnOfWindow()
	s.inputs.InputTokens, s.inputs.OutputTokens, s.inputs.PrefixHitRate = tidy(m.input), tidy(m.output), tidy(m.hitRate())
	s.warnOfLongPrefix(m)
	s.warnOfSessions(m)
	p.Model = s.modelFacts()
	p.Reasons = s.memoryReasons(p.Memory, l, m)
	if share := beyond(s.workload, float64(s.inputs.MaxModelLen)); len(p.Reasons) == 0 && !s.lenGiven && share > mostBeyond {
		p.Reasons = append(p.Reasons, fmt.Sprintf("the KV cache holds no request of more than %s, and %.0f%% of the workload's are longer", plural(s.inputs.MaxModelLen, "token"), share*100))
	}
	if len(p.Reasons) == 0 {
		s.plan(p, l, m)
	}
	if len(p.Reasons) > 0 {
		s.suggest(p, r, l)
	}
	p.Feasible = len(p.Reasons) == 0
	p.Inputs = s.inputs
	p.Derivation = derive(s, p, l, m)
	s.addWarnings(p, r)
	if p.Performance != nil {
		s.warnOfUsers(p.Performance)
		s.warnOfIdleSessions(p, l, m)
	}
	p.Assumptions = append(p.Assumptions, s.assumptions...)
	p.Warnings = append(p.Warnings, s.warnings...)
	p.Memory.state()
	return p, nil
}

// settle resolves a request and lays out its cache.
func settle(r Request) (*situation, layout, error) {
	if r.samples == nil {
		r.samples = &samples{}
	}
	s, err := resolve(r)
	if err != nil {
		return nil, layout{}, err
	}
	l, err := s.newLayout()
	if err != nil {
		return nil, layout{}, err
	}
	s.raiseBlock(l)
	return s, l, nil
}

// state words a pool that there is not as what is missing, so that no number of a
// plan stands for its absence.
func (m *Memory) state() {
	if m.KVCacheBytes > 0 {
		return
	}
	m.MissingBytes, m.KVCacheBytes = -m.KVCacheBytes, 0
	m.FirstStageBytes = max(0, m.FirstStageBytes)
}

// fit is the memory, and the workload as its cache serves it.
func (s *situation) fit(l layout) (Memory, mix) {
	m := s.plannedMemory(l)
	s.fitLength(&m, l)
	m.fill(s, l)
	x := s.warmMix(m, l)
	m.MixSequences = mixSequences(m, l, x) * float64(s.inputs.DataParallel)
	return m, x
}

// raiseBlock takes over the block size of a model whose states want larger ones.
func (s *situation) raiseBlock(l layout) {
	if l.blockSize != s.inputs.BlockSize {
		s.warn("block-size", "%s keeps a state per sequence, for which the engine raises the block size from %d to %d tokens", s.model.Name, s.inputs.BlockSize, l.blockSize)
		s.inputs.BlockSize = l.blockSize
	}
}

// fitLength lowers a max_model_len that nobody asked for to what the pool
// holds, as the user of an engine that refuses to start would.
func (s *situation) fitLength(m *Memory, l layout) {
	if s.lenGiven {
		return
	}
	fits := l.longest(m.KVCacheBlocks, s.inputs.MaxModelLen, s.inputs.MaxNumBatchedTokens)
	if fits > 0 && fits < s.inputs.MaxModelLen {
		s.warn("max-model-len", "one request of the model's %s tokens does not fit: start the engine with --max-model-len %d or less",
			units.Count(int64(s.inputs.MaxModelLen)), fits)
		s.inputs.MaxModelLen = fits
	}
	s.assume("max_model_len", fmt.Sprint(s.inputs.MaxModelLen), "--max-model-len")
}

// warmMix reads the workload with the share of its prefixes that requests find in
// the cache.
func (s *situation) warmMix(m Memory, l layout) mix {
	return s.mix(s.resident(m, l), s.inputs.MaxModelLen)
}

// resident is that share.
func (s *situation) resident(m Memory, l layout) float64 {
	w := s.workload
	switch {
	case w.Prefix.Groups == 0:
		return 1
	case !s.inputs.PrefixCaching:
		return 0
	}
	tokens := newLengths(w.Input, s.inputs.MaxModelLen).mean() + newLengths(w.Output, s.inputs.MaxModelLen).mean()
	return prefixHits(w.Prefix, float64(m.KVCacheBlocks), l.average(tokens), l.prefix(float64(w.Prefix.Tokens)))
}

// mixSequences is how many decoding sequences of the workload one pool holds on
// average: shared prefixes are held once per group, as far as idle blocks go.
func mixSequences(m Memory, l layout, x mix) float64 {
	blocks := float64(m.KVCacheBlocks)
	own := l.average(x.context())
	if x.common > 0 {
		blocks -= min(idleBlocks*blocks, float64(x.groups)*l.prefix(x.common))
		own -= l.shared(x.common, x.context())
	}
	return blocks / max(1, own)
}

func (s *situation) modelFacts() ModelFacts {
	p := shape.CountParameters(s.model)
	f := ModelFacts{
		Parameters:              s.parameters(),
		ActiveParameters:        p.Active(),
		KVBytesPerToken:         shape.KVBytesPerToken(s.model, s.kv, 1),
		GrowingKVBytesPerToken:  shape.GrowingKVBytesPerToken(s.model, s.kv, 1),
		KVBytesOfLongestRequest: shape.KVBytes(s.model, s.kv, 1, s.inputs.MaxModelLen),
		StateBytesPerSequence:   shape.StateBytes(s.model, s.format.Base, 1),
	}
	if v := s.model.Vision; v != nil {
		f.VisionParameters = int64(v.Encoder) + int64(v.Projector)
	}
	return f
}

// newReplica assembles the engine's model for one replica.
func (s *situation) newReplica(m Memory, x mix) replica {
	in := s.inputs
	r := replica{
		facts:    s.facts,
		device:   s.device,
		mix:      x,
		capacity: min(m.MixSequences, float64(in.MaxNumSeqs*in.DataParallel), float64(in.MaxNumBatchedTokens*in.DataParallel)),
		kvBound:  m.MixSequences <= float64(in.MaxNumSeqs*in.DataParallel),
		batched:  float64(in.MaxNumBatchedTokens * in.DataParallel),
	}
	r.constants = cost.ConstantsFor(s.engine, s.device, r.facts, s.calibration...)
	return newReplica(r)
}

// plan finds the largest rate, the replicas and the money.
func (s *situation) plan(p *Plan, l layout, m mix) {
	r := s.newReplica(p.Memory, m)
	rate, bound := s.limits.maxRate(r)
	if rate == 0 && s.sloGiven {
		p.Reasons = append(p.Reasons, s.sloReason(r, bound))
		return
	}
	if rate == 0 {
		rate, bound = s.relaxed(r)
	}
	if rate == 0 {
		p.Reasons = append(p.Reasons, fmt.Sprintf("one request at a time is already too much: %s", bound))
		return
	}
	s.warnTight(r)
	load := planLoad(r, s.inputs, rate)
	if !s.judge(p, r, load, rate) {
		return
	}
	if !load.operating.stable {
		p.Reasons = append(p.Reasons, fmt.Sprintf("queues grow without an end at %s/s per replica, stopped by %s", units.Of(load.rate, "request"), bound))
		return
	}
	rate, bound = s.carried(r, load, rate, bound)
	s.now = load.operating
	p.Performance = performance(r, load, rate, bound)
	p.Fleet = load.fleet(s.inputs, m, rate)
	p.Scaling = s.scaling(r, load, l, p.Memory, rate)
	s.fillReplicaRange(p, r)
	s.disaggregate(p, r, load)
	s.compareMoney(p, load, m)
}

// carried is the largest rate in view of the load that the plan is for. Clients that
// wait for each other can hold the objective at a higher rate than arrivals at random
// do. And a default objective that the load breaks is left out, so that a load which
// is carried is no more than the largest.
func (s *situation) carried(r replica, l load, rate float64, bound string) (float64, string) {
	broken := s.limits.stops(r, l.operating) != ""
	if broken && !s.sloGiven && l.rate > rate {
		rate, bound = limits{quantile: s.limits.quantile}.maxRate(r)
	}
	if !broken || !s.sloGiven {
		rate = max(rate, l.rate)
	}
	return rate, bound
}

func performance(r replica, l load, maxRate float64, bound string) *Performance {
	s := l.operating
	whole := s.latency(r)
	return &Performance{
		RPS:              l.rate,
		TTFT:             Quantiles{s.ttft(), s.ttftQuantile(0.5), s.ttftQuantile(0.99)},
		TPOT:             Quantiles{s.tpot(r), s.tpotQuantile(r, 0.5), s.tpotQuantile(r, 0.99)},
		E2E:              Quantiles{s.e2e(), whole.quantile(0.5), whole.quantile(0.99)},
		Batch:            s.batch * math.Max(1, float64(r.facts.Pipeline)),
		PrefillTokensPS:  l.rate * (r.mix.input - r.mix.cached),
		OutputTokensPS:   l.rate * r.mix.output,
		MaxRPS:           maxRate,
		Bound:            bound,
		DominantTerm:     s.decode.Bound(),
		RooflineFraction: s.decode.Limit / s.decode.Seconds,
		StepLimit:        s.decode.Limit,
		Error:            modelError(r.constants, s.ttft(), s.e2e()),
	}
}

// tidy drops the digits that are rounding alone. What is nothing is 0, not −0.
func tidy(v float64) float64 {
	if v = math.Round(v*1e6) / 1e6; v == 0 {
		return 0
	}
	return v
}
