package sizing

import (
	"fmt"
	"math"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// derivations collects how numbers were reached, in the order in which one
// would say them.
type derivations []Derivation

func (d *derivations) add(name, formula, substituted string, value float64, unit, source string) {
	*d = append(*d, Derivation{name, formula, substituted, value, unit, source})
}

// derive explains the numbers of a plan.
func derive(s *situation, p *Plan, l layout, m mix) []Derivation {
	var d derivations
	d.cache(s, p)
	d.memory(s, p)
	d.capacity(s, p, l, m)
	if p.Performance != nil {
		d.performance(s, p, m)
		d.fleet(p)
	}
	return d
}

// cache explains the cache of a token, per kind of layer.
func (d *derivations) cache(s *situation, p *Plan) {
	var terms []string
	latent, heads := false, false
	for _, k := range layerKinds(s.model, s.kv, 1, 1) {
		a := firstOfKind(s.model, k)
		if a.Kind == profiles.LatentAttention {
			latent = true
			terms = append(terms, fmt.Sprintf("%d × (%d + %d)%s", k.layers, a.LatentRank, a.RopeHeadDim, indexTerm(a)))
			continue
		}
		heads = true
		terms = append(terms, fmt.Sprintf("2 × %d × %d × %d × %d", k.layers, a.KVHeads, (a.HeadDim+a.ValueDim)/2, s.kv.Bytes()))
	}
	formula, source := "2 (K and V) × layers × KV heads × head dim × bytes per value", "config.json: num_hidden_layers, num_key_value_heads, head_dim"
	if latent && !heads {
		formula, source = "layers × (latent rank + rotary dim) × bytes per value", "config.json: kv_lora_rank, qk_rope_head_dim (MLA, arXiv 2405.04434)"
	}
	text := strings.Join(terms, " + ")
	if latent {
		text += fmt.Sprintf(", × %d B", s.kv.Bytes())
	}
	d.add("KV cache per token", formula, text, float64(p.Model.KVBytesPerToken), "B", source)
	if p.Model.GrowingKVBytesPerToken != p.Model.KVBytesPerToken {
		d.add("KV cache per token beyond the windows", "the same over layers without a window", "", float64(p.Model.GrowingKVBytesPerToken), "B",
			"config.json: sliding_window, layer_types")
	}
	d.add("KV cache of the longest request", "sum over layers of bytes per token × min(tokens, window)",
		fmt.Sprintf("%s B × %s tokens", units.Count(p.Model.KVBytesPerToken), units.Count(int64(p.Inputs.MaxModelLen))),
		float64(p.Model.KVBytesOfLongestRequest), "B", "max_model_len")
}

func firstOfKind(m *profiles.Model, k kvKind) profiles.Attention {
	for _, layer := range m.Layers {
		if a := layer.Attention; a.Kind == k.kind && a.Window == k.window {
			return a
		}
	}
	return profiles.Attention{}
}

func indexTerm(a profiles.Attention) string {
	if a.IndexDim == 0 {
		return ""
	}
	return fmt.Sprintf(" and an index of %d", a.IndexDim+a.IndexDim/128*4)
}

// memory explains the budget of one accelerator.
func (d *derivations) memory(s *situation, p *Plan) {
	c := shape.CountParameters(s.model)
	d.add("parameters", "embeddings + head + attention + dense MLPs + experts + norms",
		fmt.Sprintf("%s + %s + %s + %s + %s + %s", units.Count(c.Embedding), units.Count(c.Head), units.Count(c.Attention),
			units.Count(c.Dense), units.Count(c.Experts), units.Count(c.Router+c.Small)),
		float64(c.Total()), "parameters", "config.json")
	d.add("weights per accelerator", "linear layers × bytes per weight + the rest × bytes, divided among ranks",
		fmt.Sprintf("%.4g B per linear weight, %d B for the rest, TP %d, PP %d", s.format.BytesPerWeight(), s.format.Base.Bytes(), s.inputs.TensorParallel, s.inputs.PipelineParallel),
		float64(p.Memory.WeightsBytes), "B", "weight format "+s.format.String())
	m, in := p.Memory, s.inputs
	switch {
	case m.Given:
		d.add("KV pool per accelerator", "as given", "", float64(m.KVCacheBytes), "B", "--kv-cache-memory")
	case s.engine.Pool == profiles.PoolReserve:
		d.add("KV pool per accelerator", "memory × fraction − reserve − weights",
			fmt.Sprintf("%s × %.2f − %s − %s", units.Bytes(m.TotalBytes), in.GPUMemoryUtilization, units.Bytes(m.ReserveBytes), units.Bytes(m.WeightsBytes)),
			float64(m.KVCacheBytes), "B", s.engine.Source)
	default:
		d.overheads(s, m)
		formula, graphs := "memory × utilization − weights − activation − non-torch", ""
		if s.engine.CUDAGraph.InBudget {
			formula += " − CUDA graphs"
			graphs = " − " + units.Bytes(m.CUDAGraphBytes)
		}
		if s.engine.Pool == profiles.PoolFree {
			formula = "(memory − weights − activation − non-torch) × fraction"
		}
		d.add("KV pool per accelerator", formula,
			fmt.Sprintf("%s × %.2f − %s − %s − %s%s", units.Bytes(m.TotalBytes), in.GPUMemoryUtilization, units.Bytes(m.WeightsBytes),
				units.Bytes(m.ActivationBytes), units.Bytes(m.NonTorchBytes), graphs),
			float64(m.KVCacheBytes), "B", s.engine.Source)
	}
}

func (d *derivations) overheads(s *situation, m Memory) {
	a := s.engine.Activation
	d.add("activation peak", "the larger of base + k × max_num_seqs × vocabulary, and the widest MLP over a step's tokens",
		fmt.Sprintf("max(%s + %.3g B × %d × %s, %s)", units.Bytes(a.BaseBytes), a.PerSequenceVocabBytes, s.inputs.MaxNumSeqs,
			units.Count(int64(s.model.VocabSize)), units.Bytes(int64(s.mlpPeak()))),
		float64(m.ActivationBytes), "B", s.engine.Source)
}

// capacity explains blocks, tokens and concurrency.
func (d *derivations) capacity(s *situation, p *Plan, l layout, m mix) {
	mem, in := p.Memory, s.inputs
	d.add("KV blocks", "pool ÷ page ÷ layers per group",
		fmt.Sprintf("%s ÷ %s ÷ %d", units.Count(mem.KVCacheBytes), units.Count(l.pageBytes), l.groupSize),
		float64(mem.KVCacheBlocks), "blocks", "vLLM v1/core/kv_cache_utils.py")
	formula, text := "blocks ÷ groups × block size", fmt.Sprintf("%s ÷ %d × %d", units.Count(mem.KVCacheBlocks), len(l.groups), in.BlockSize)
	if s.engine.KVTokens == profiles.TokensByConcurrency {
		formula, text = "max concurrency × max_model_len", fmt.Sprintf("%.4g × %s", mem.MaxConcurrency, units.Count(int64(in.MaxModelLen)))
	}
	d.add("KV tokens", formula, text, float64(mem.KVCacheTokens), "tokens", "as the engine logs them")
	d.add("longest requests at once", "blocks ÷ blocks of one request of max_model_len",
		fmt.Sprintf("%s ÷ %s", units.Count(mem.KVCacheBlocks), units.Count(l.perRequest(in.MaxModelLen, in.MaxNumBatchedTokens))),
		mem.MaxConcurrency, "requests", "as the engine logs them")
	d.add("prefix hit rate", "mean shared prompt tokens in whole blocks that stay cached ÷ mean prompt tokens",
		fmt.Sprintf("%s ÷ %s", units.Number(m.cached), units.Number(m.input)), m.hitRate(), "", "workload: prefix")
	d.add("average requests at once", "blocks ÷ blocks of a sequence of mean context, shared prefixes held once",
		fmt.Sprintf("%s blocks, context %s tokens = input + output²/(2·output)", units.Count(mem.KVCacheBlocks), units.Number(m.context())),
		mem.MixSequences, "requests", "workload: input, output, prefix")
}

// performance explains the times at the planned load.
func (d *derivations) performance(s *situation, p *Plan, m mix) {
	r := s.newReplica(p.Memory, m)
	st := r.at(p.Performance.RPS)
	c := r.constants
	d.add("decode step", "a × layers + e × bytes ÷ bandwidth + m × operations ÷ peak + collectives",
		fmt.Sprintf("%.0f µs × %d + %.2f × %s ÷ %s/s + %.2f × %.3g ÷ %.3g/s + %s", c.PerLayerS*1e6, r.facts.Layers, c.MemoryFactor,
			units.Bytes(int64(st.decode.Bytes)), units.Bytes(int64(s.device.BandwidthBytesPerS)), c.ComputeFactor, st.decode.Operations,
			cost.Rate(s.device, r.facts.WeightBit), units.Seconds(st.decode.Collective)),
		st.decode.Seconds, "s", fmt.Sprintf("constants: %s; typical error %.0f%%", c.Source, c.Error*100))
	d.add("roofline limit of the decode step", "max(bytes ÷ bandwidth, operations ÷ peak)", "", st.decode.Limit, "s", s.device.Source)
	d.add("prefill work per request", "e × cache bytes ÷ bandwidth + m × operations ÷ peak, mean over prompts",
		fmt.Sprintf("mean of %s uncached tokens", units.Number(m.input-m.cached)), st.workMean, "s", "same constants")
	d.add("TPOT, mean", "decode step ÷ (1 − rate × prefill work)",
		fmt.Sprintf("%s ÷ (1 − %.3g/s × %s)", units.Seconds(st.decode.Seconds), st.rate, units.Seconds(st.workMean)), st.step, "s",
		"every step also carries the prompts that arrive meanwhile")
	d.add("batch", "rate × output tokens × TPOT", fmt.Sprintf("%.3g/s × %s × %s", st.rate, units.Number(m.output), units.Seconds(st.step)), st.batch, "sequences",
		"Little's law")
	d.add("TTFT, mean", "half a step + own prefill + queue", fmt.Sprintf("queue utilization %.2f, wait %s of those that wait", st.busy, units.Seconds(st.waitMean)),
		p.Performance.TTFT.Mean, "s", "M/G/1 queue for the token budget (Pollaczek–Khinchine)")
	d.add("largest rate per replica", "largest rate at which every clause holds at the attainment",
		fmt.Sprintf("bisection; stopped by the %s", p.Performance.Bound), p.Performance.MaxRPS, "requests/s", "SLO")
}

// fleet explains replicas and money.
func (d *derivations) fleet(p *Plan) {
	f, in := p.Fleet, p.Inputs
	if in.RPS > 0 {
		d.add("replicas", "⌈rate ÷ (largest rate × target utilization)⌉",
			fmt.Sprintf("⌈%s ÷ (%s × %.2f)⌉", units.Number(in.RPS), units.Number(p.Performance.MaxRPS), in.TargetUtilization), float64(f.Replicas), "replicas", "--rps")
	} else if in.Concurrency > 0 {
		d.add("replicas", "⌈requests in flight ÷ those of a replica at target utilization⌉",
			fmt.Sprintf("%d in flight", in.Concurrency), float64(f.Replicas), "replicas", "--concurrency and Little's law")
	}
	if f.USDPerHour == 0 {
		return
	}
	d.add("cost per hour", "replicas × accelerators × price",
		fmt.Sprintf("%d × %d × $%s", f.Replicas, f.Accelerators/f.Replicas, units.Number(in.USDPerAcceleratorHour)), f.USDPerHour, "$/h", in.PriceSource)
	out := p.Performance.OutputTokensPS * float64(f.Replicas)
	d.add("cost per 1M output tokens", "cost per hour ÷ (output tokens per second × 3600) × 1,000,000",
		fmt.Sprintf("$%s ÷ (%s × 3600) × 1,000,000", units.Number(f.USDPerHour), units.Number(out)), f.USDPer1MOut, "$", "at the planned load")
	if math.IsNaN(f.USDPer1MOut) {
		return
	}
	d.add("cost per 1M tokens, in and out", "the same over all tokens", "", f.USDPer1M, "$", "at the planned load")
}
