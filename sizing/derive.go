package sizing

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// derivations collects how numbers were reached, in the order in which one
// would say them.
type derivations []Derivation

// add takes a number that substituted, as arithmetic, gives.
func (d *derivations) add(name, formula, substituted string, value float64, unit, source string) {
	*d = append(*d, Derivation{Name: name, Formula: formula, Substituted: substituted, Value: value, Unit: unit, Source: source})
}

// note takes a number that no line of arithmetic gives.
func (d *derivations) note(name, formula, note string, value float64, unit, source string) {
	*d = append(*d, Derivation{Name: name, Formula: formula, Note: note, Value: value, Unit: unit, Source: source})
}

// under names the group of those that have none yet.
func (d derivations) under(g Group) {
	for i := range d {
		if d[i].Group == "" {
			d[i].Group = g
		}
	}
}

// derive explains the numbers of a plan.
func derive(s *situation, p *Plan, l layout, m mix) []Derivation {
	var d derivations
	d.cache(s, p)
	d.state(s, p)
	d.parameters(s, p)
	d.under(GroupModel)
	d.weights(s, p)
	d.pool(s, p)
	d.under(GroupMemory)
	d.capacity(s, p, l, m)
	d.poolRange(s, p.Memory, l)
	d.under(GroupCapacity)
	if p.Performance != nil {
		d.performance(s, p, m)
	}
	d.name()
	return d
}

// performance explains times, replicas and money.
func (d *derivations) performance(s *situation, p *Plan, m mix) {
	r := s.newReplica(p.Memory, m)
	st := s.now
	d.step(s, r, st)
	if st.closed {
		d.closedLoop(p, r, st)
	} else {
		d.steps(r, st)
		d.firstToken(p, r, st)
		d.tokens(p, r, st)
	}
	d.quantiles(p, st.closed)
	d.throughput(p, r)
	d.under(GroupTime)
	d.largest(p)
	d.replicas(p, r)
	d.load(p)
	d.under(GroupReplicas)
	d.money(s, p, m)
	d.under(GroupMoney)
	d.pools(s, p)
	d.under(GroupReplicas)
}

// cache explains the cache of a token and of a request, per kind of layer.
func (d *derivations) cache(s *situation, p *Plan) {
	var all, growing, longest []string
	latent, heads := false, false
	for _, k := range layerKinds(s.model, s.kv, 1, &profiles.Engine{Windows: profiles.WindowsDrop}) {
		latent = latent || k.kind == profiles.LatentAttention
		heads = heads || k.kind != profiles.LatentAttention
		term := cacheTerm(k, s.kv)
		all = append(all, term)
		held := figure(float64(p.Inputs.MaxModelLen))
		if k.window == 0 {
			growing = append(growing, term)
		} else {
			held = fmt.Sprintf("min(%s, %s)", held, units.Count(int64(k.window)))
		}
		longest = append(longest, fmt.Sprintf("%d × %s B × %s", k.layers, units.Count(k.bytes), held))
	}
	formula, source := "layers × KV heads × (head dim of K + head dim of V) × bytes per value", "config.json: num_hidden_layers, num_key_value_heads, head_dim"
	if latent && !heads {
		formula, source = "layers × (latent rank + rotary dim) × bytes per value", "config.json: kv_lora_rank, qk_rope_head_dim (MLA, arXiv 2405.04434)"
	}
	d.add("KV cache per token", formula, strings.Join(all, " + "), float64(p.Model.KVBytesPerToken), "B", source)
	beyond := "the same over layers without a window"
	switch len(growing) {
	case 0:
		beyond, growing = "every layer has a window", []string{"0"}
	case len(all):
		beyond = "no layer has a window: all of the cache per token"
	}
	d.add("KV cache per token beyond the windows", beyond, strings.Join(growing, " + "),
		float64(p.Model.GrowingKVBytesPerToken), "B", "config.json: sliding_window, layer_types")
	d.add("KV cache of the longest request", "sum over layers of bytes per token × min(tokens, window)", strings.Join(longest, " + "),
		float64(p.Model.KVBytesOfLongestRequest), "B", "max_model_len")
}

// capacity explains blocks, tokens and concurrency.
func (d *derivations) capacity(s *situation, p *Plan, l layout, m mix) {
	mem, in := p.Memory, p.Inputs
	d.layout(s, l)
	d.add("KV blocks", "pool ÷ (page × layers per group), in whole blocks",
		fmt.Sprintf("max(0, ⌊%s ÷ (%s × %d)⌋)", units.Count(mem.KVCacheBytes), units.Count(l.pageBytes), l.stages[mem.Stage]/l.pageBytes),
		float64(mem.KVCacheBlocks), "blocks", "vLLM v1/core/kv_cache_utils.py")
	blocks, request := units.Count(mem.KVCacheBlocks), units.Count(l.perRequest(in.MaxModelLen, in.MaxNumBatchedTokens))
	formula, text := s.tokensOf(l, blocks, request)
	ranks := dataRanks(in)
	d.add("KV tokens", formula, text, float64(mem.KVCacheTokens), "tokens", "as the engine logs them")
	d.add("longest requests at once", "blocks ÷ blocks of one request of max_model_len"+dataFormula(in), blocks+" ÷ "+request+ranks,
		mem.MaxConcurrency, "requests", "as the engine logs them")
	if s.sampled != nil {
		d.note("requests per session", "mean over sessions", "sampled from the workload, or as recorded", s.sampled.turns, "requests", "workload: session, trace")
		d.note("cached prompt tokens", "what the session said before, and shared prefixes that stay cached, in whole blocks", "mean over the sampled requests", m.cached, "tokens", "workload: session, prefix")
	}
	d.add("prefix hit rate", "mean shared prompt tokens in whole blocks that stay cached ÷ mean prompt tokens",
		figure(m.cached)+" ÷ "+figure(m.input), m.hitRate(), "", "workload: prefix")
	d.add("mean context", "E[input] + E[output²] ÷ (2 × E[output])",
		fmt.Sprintf("%s + %s ÷ (2 × %s)", figure(m.input), figure(m.outputSquare), figure(m.output)), m.context(), "tokens",
		"long outputs are in flight for longer, half of one is there on average")
	d.add("blocks of an average sequence", "sum over groups of min(context, window), or half a chunk beyond the first, ÷ tokens per block + half a block, and the blocks of states",
		blockTerms(l, m.context(), " + 0.5"), l.average(m.context()), "blocks", "the block that is being filled is half full on average")
	text = fmt.Sprintf("%s ÷ max(1, %s)", blocks, figure(l.average(m.context())))
	if m.common > 0 {
		prefix, shared := l.prefix(m.common), l.shared(m.common, m.context())
		d.add("blocks of a shared prefix", "the same for the cached tokens, in whole blocks", blockTerms(l, m.common, ""), prefix, "blocks", "workload: prefix")
		text = fmt.Sprintf("(%s − min(%s × %s, %s × %s)) ÷ max(1, %s − %s)", blocks, setting(idleBlocks), blocks,
			units.Count(int64(m.groups)), figure(prefix), figure(l.average(m.context())), figure(shared))
	}
	d.add("average requests at once", "(blocks − shared prefixes, once each) ÷ blocks of a sequence less what it shares"+dataFormula(in), text+ranks,
		mem.MixSequences, "requests", "workload: input, output, prefix")
}

// tokensOf is the engine's rule for the tokens that it logs, with these blocks.
func (s *situation) tokensOf(l layout, blocks, request string) (formula, text string) {
	in := s.inputs
	formula, text = "blocks ÷ groups × tokens per block", fmt.Sprintf("⌊%s ÷ %d⌋ × %d", blocks, len(l.groups), l.smallestBlock(in.MaxModelLen))
	if s.engine.KVTokens == profiles.TokensByConcurrency {
		formula, text = "longest requests at once × max_model_len", fmt.Sprintf("⌊%s ÷ %s × %s⌋", blocks, request, units.Count(int64(in.MaxModelLen)))
	}
	return formula + dataFormula(in), text + dataRanks(in)
}

// dataRanks is dataFormula in numbers.
func dataRanks(in Inputs) string {
	if in.DataParallel == 1 {
		return ""
	}
	return fmt.Sprintf(" × %d", in.DataParallel)
}

// dataFormula is the factor of a replica whose data-parallel ranks have a pool
// each.
func dataFormula(in Inputs) string {
	if in.DataParallel == 1 {
		return ""
	}
	return " × data-parallel ranks"
}

// layout explains a block that was raised to hold a state.
func (d *derivations) layout(s *situation, l layout) {
	states := stateKinds(s.model, s.format.Base, s.inputs.TensorParallel)
	switch {
	case len(states) == 0:
		return
	case l.slotBlocks > 0:
		d.note("blocks of a state's slot", "the states' pool holds a fixed share of the bytes, so that a request takes at least the blocks that come with its slot",
			fmt.Sprintf("a state of %s per layer and accelerator, %s B of states for each B of tokens", bytesFigure(float64(states[0].bytes)), setting(s.engine.Pools.StateRatio)),
			float64(l.slotBlocks), "blocks", s.engine.Origin("pools"))
		return
	}
	d.note("tokens of a block", "a block of attention is raised until its page holds the state of one sequence in one layer",
		fmt.Sprintf("a state of %s per layer and accelerator; the rest of its page is padding", bytesFigure(float64(states[0].bytes))),
		float64(l.blockSize), "tokens", "vLLM vllm/platforms/interface.py, _align_hybrid_block_size")
}

// blockTerms is the blocks that tokens take, in numbers, with equal groups
// together; each group of attention adds more.
func blockTerms(l layout, tokens float64, more string) string {
	var terms []string
	for i := 0; i < len(l.groups); {
		g, n := l.groups[i], 0
		for ; i < len(l.groups) && l.groups[i] == g; i++ {
			n++
		}
		if g.kind == profiles.LinearAttention {
			terms = append(terms, fmt.Sprintf("%d × %d", n, g.stateBlocks))
			continue
		}
		held := figure(tokens)
		switch window := units.Count(int64(g.window)); {
		case g.kind == profiles.ChunkedAttention && tokens > float64(g.window):
			held = window + " ÷ 2"
		case g.window > 0:
			held = fmt.Sprintf("min(%s, %s)", held, window)
		}
		terms = append(terms, fmt.Sprintf("%d × (%s ÷ %d%s)", n, held, g.blockTokens, more))
	}
	text := strings.Join(terms, " + ")
	if l.slotBlocks > 0 {
		text = fmt.Sprintf("max(%s, %s)", text, units.Count(l.slotBlocks))
	}
	return text
}
