package sizing

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
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

// derive explains the numbers of a plan.
func derive(s *situation, p *Plan, l layout, m mix) []Derivation {
	var d derivations
	d.cache(s, p)
	d.weights(s, p)
	d.pool(s, p)
	d.capacity(s, p, l, m)
	if p.Performance != nil {
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
		d.largest(p)
		d.replicas(p, r)
		d.money(s, p, m)
		d.pools(s, p)
	}
	return d
}

// cache explains the cache of a token and of a request, per kind of layer.
func (d *derivations) cache(s *situation, p *Plan) {
	var all, growing, longest []string
	latent, heads := false, false
	for _, k := range layerKinds(s.model, s.kv, 1, 1) {
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
	if p.Model.GrowingKVBytesPerToken != p.Model.KVBytesPerToken {
		if len(growing) == 0 {
			growing = []string{"0"}
		}
		d.add("KV cache per token beyond the windows", "the same over layers without a window", strings.Join(growing, " + "),
			float64(p.Model.GrowingKVBytesPerToken), "B", "config.json: sliding_window, layer_types")
	}
	d.add("KV cache of the longest request", "sum over layers of bytes per token × min(tokens, window)", strings.Join(longest, " + "),
		float64(p.Model.KVBytesOfLongestRequest), "B", "max_model_len")
}

// cacheTerm is what the layers of a kind cache for one token.
func cacheTerm(k kvKind, d shape.DType) string {
	a := k.like
	switch {
	case a.Kind != profiles.LatentAttention:
		return fmt.Sprintf("%d × %d × (%d + %d) × %d B", k.layers, a.KVHeads, a.HeadDim, a.ValueDim, d.Bytes())
	case a.IndexDim == 0:
		return fmt.Sprintf("%d × (%d + %d) × %d B", k.layers, a.LatentRank, a.RopeHeadDim, d.Bytes())
	}
	index := a.IndexDim + a.IndexDim/128*4
	if d == shape.FP8 {
		return fmt.Sprintf("%d × (%d × 1 B + %d × 4 B of scales + %d × 2 B + %d B of index)", k.layers, a.LatentRank, a.LatentRank/128, a.RopeHeadDim, index)
	}
	return fmt.Sprintf("%d × ((%d + %d) × %d B + %d B of index)", k.layers, a.LatentRank, a.RopeHeadDim, d.Bytes(), index)
}

// capacity explains blocks, tokens and concurrency.
func (d *derivations) capacity(s *situation, p *Plan, l layout, m mix) {
	mem, in := p.Memory, p.Inputs
	d.add("KV blocks", "pool ÷ (page × layers per group), in whole blocks",
		fmt.Sprintf("max(0, ⌊%s ÷ (%s × %d)⌋)", units.Count(mem.KVCacheBytes), units.Count(l.pageBytes), l.groupSize),
		float64(mem.KVCacheBlocks), "blocks", "vLLM v1/core/kv_cache_utils.py")
	blocks, request := units.Count(mem.KVCacheBlocks), units.Count(l.perRequest(in.MaxModelLen, in.MaxNumBatchedTokens))
	formula, text := "blocks ÷ groups × tokens per block", fmt.Sprintf("⌊%s ÷ %d⌋ × %d", blocks, len(l.groups), l.smallestBlock())
	if s.engine.KVTokens == profiles.TokensByConcurrency {
		formula, text = "longest requests at once × max_model_len", fmt.Sprintf("⌊%s ÷ %s × %s⌋", blocks, request, units.Count(int64(in.MaxModelLen)))
	}
	d.add("KV tokens", formula, text, float64(mem.KVCacheTokens), "tokens", "as the engine logs them")
	d.add("longest requests at once", "blocks ÷ blocks of one request of max_model_len", blocks+" ÷ "+request,
		mem.MaxConcurrency, "requests", "as the engine logs them")
	d.add("prefix hit rate", "mean shared prompt tokens in whole blocks that stay cached ÷ mean prompt tokens",
		figure(m.cached)+" ÷ "+figure(m.input), m.hitRate(), "", "workload: prefix")
	d.add("mean context", "E[input] + E[output²] ÷ (2 × E[output])",
		fmt.Sprintf("%s + %s ÷ (2 × %s)", figure(m.input), figure(m.outputSquare), figure(m.output)), m.context(), "tokens",
		"long outputs are in flight for longer, half of one is there on average")
	d.add("blocks of an average sequence", "sum over groups of min(context, window) ÷ tokens per block + half a block",
		averageTerms(l, m.context()), l.average(m.context()), "blocks", "the block that is being filled is half full on average")
	text = fmt.Sprintf("%s ÷ max(1, %s)", blocks, figure(l.average(m.context())))
	if m.cached > 0 {
		prefix := l.average(m.cached)
		d.add("blocks of a shared prefix", "the same for the cached tokens", averageTerms(l, m.cached), prefix, "blocks", "workload: prefix")
		text = fmt.Sprintf("(%s − min(%s ÷ 2, %s × %s)) ÷ max(1, %s − %s)", blocks, blocks,
			units.Count(int64(m.groups)), figure(prefix), figure(l.average(m.context())), figure(prefix))
	}
	d.add("average requests at once", "(blocks − shared prefixes, once each) ÷ blocks of a sequence less its prefix", text,
		mem.MixSequences, "requests", "workload: input, output, prefix")
}

// averageTerms is layout.average in numbers, with equal groups together.
func averageTerms(l layout, tokens float64) string {
	var terms []string
	for i := 0; i < len(l.groups); {
		g, n := l.groups[i], 0
		for ; i < len(l.groups) && l.groups[i] == g; i++ {
			n++
		}
		held := figure(tokens)
		if g.window > 0 {
			held = fmt.Sprintf("min(%s, %s)", held, units.Count(int64(g.window)))
		}
		terms = append(terms, fmt.Sprintf("%d × (%s ÷ %d + 0.5)", n, held, g.blockTokens))
	}
	return strings.Join(terms, " + ")
}
