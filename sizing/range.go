package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
)

// PoolRange is what the cache holds when the overheads are as far off as they
// typically are. Near the edge a small error is a large share of the pool: one
// GiB of activations is a third to a half of what a tight fit leaves.
type PoolRange struct {
	BytesLow        int64   `json:"kv_cache_bytes_low"`
	BytesHigh       int64   `json:"kv_cache_bytes_high"`
	TokensLow       int64   `json:"kv_cache_tokens_low"`
	TokensHigh      int64   `json:"kv_cache_tokens_high"`
	ConcurrencyLow  float64 `json:"max_concurrency_low"`
	ConcurrencyHigh float64 `json:"max_concurrency_high"`
}

// fillRange computes the range of a pool that is not a setting.
func (m *Memory) fillRange(s *situation, l layout) {
	if m.Given || m.ErrorBytes == 0 || m.KVCacheBytes+m.ErrorBytes <= 0 {
		return
	}
	tokens := func(pool int64) (int64, float64) {
		at := Memory{KVCacheBlocks: l.blocksOn(m.Stage, pool)}
		at.fill(s, l)
		return at.KVCacheTokens, at.MaxConcurrency
	}
	r := &PoolRange{BytesLow: max(0, m.KVCacheBytes-m.ErrorBytes), BytesHigh: max(0, m.KVCacheBytes+m.ErrorBytes)}
	r.TokensLow, r.ConcurrencyLow = tokens(r.BytesLow)
	r.TokensHigh, r.ConcurrencyHigh = tokens(r.BytesHigh)
	m.PoolRange = r
}

// nearEdge is the share of the pool from which its error decides what fits.
const nearEdge = 0.1

// NearEdge reports whether the pool is so small that its error matters.
func (m Memory) NearEdge() bool {
	return m.PoolRange != nil && m.KVCacheBytes > 0 && float64(m.ErrorBytes) > nearEdge*float64(m.KVCacheBytes)
}

// poolRange explains the range.
func (d *derivations) poolRange(s *situation, m Memory, l layout) {
	if m.ErrorBytes > 0 {
		d.note("error of the pool", "typical distance of the overheads from engine logs", "a property of the data", float64(m.ErrorBytes), "B", s.engine.Source)
	}
	if m.PoolRange == nil {
		return
	}
	r, in := m.PoolRange, s.inputs
	request := units.Count(l.perRequest(in.MaxModelLen, in.MaxNumBatchedTokens))
	for _, end := range []struct {
		name, sign  string
		bytes       int64
		tokens      int64
		concurrency float64
	}{{"low", "−", r.BytesLow, r.TokensLow, r.ConcurrencyLow}, {"high", "+", r.BytesHigh, r.TokensHigh, r.ConcurrencyHigh}} {
		d.add("KV pool, "+end.name, "pool "+end.sign+" its error, at least 0",
			fmt.Sprintf("max(0, %s %s %s)", units.Count(m.KVCacheBytes), end.sign, units.Count(m.ErrorBytes)), float64(end.bytes), "B", "error of the pool")
		blocks := fmt.Sprintf("⌊%s ÷ %s⌋", units.Count(end.bytes), units.Count(max(1, l.stages[m.Stage])))
		formula, text := s.tokensOf(l, blocks, request)
		d.add("KV tokens, "+end.name, formula, text, float64(end.tokens), "tokens", "KV pool, "+end.name)
		d.add("longest requests at once, "+end.name, "blocks ÷ blocks of one request of max_model_len"+dataFormula(in), blocks+" ÷ "+request+dataRanks(in),
			end.concurrency, "requests", "KV pool, "+end.name)
	}
}
