package accuracy

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/sizing"
)

// gibibyte is the unit of vLLM's logs; SGLang's "GB" are the same.
const gibibyte = 1 << 30

// tokensBar is how far tokens and concurrency may be off, given the pool.
const tokensBar = 0.002

// Pool compares the memory of start-up logs (kv_reported.csv, and logs.csv of
// those that were found after the rules were made): tokens and
// concurrency given the logged pool, the pool from nothing but the
// configuration, and the weights.
func Pool(d Data) ([]Check, error) {
	rows, err := d.table(reportedFile)
	if err != nil {
		return nil, err
	}
	found, err := d.table("logs.csv")
	if err != nil {
		return nil, err
	}
	rows = append(rows, found...)
	tokens := Check{Name: "KV tokens and concurrency, given the pool", Bar: "≤ 0.2 % on each row, or explained"}
	pool := Check{Name: "KV pool end to end", Bar: "median ≤ 2 %, 90th percentile ≤ 8 %"}
	weights := Check{Name: "weights of one accelerator"}
	for _, r := range rows {
		if !r.runnable() || r["duplicate_of"] != "" {
			continue
		}
		request, err := d.request(r)
		if err != nil {
			tokens.exclude(r, err)
			pool.exclude(r, err)
			weights.exclude(r, err)
			continue
		}
		given(&tokens, d, r, request)
		endToEnd(&pool, d, r, request)
		loaded(&weights, d, r, request)
	}
	inside, unexplained := tokens.within(tokensBar)
	tokens.Summary = fmt.Sprintf("%d of %d within, %d explained", inside, len(tokens.Rows), len(tokens.Rows)-inside-unexplained)
	tokens.settle(unexplained == 0)
	pool.Summary = fmt.Sprintf("median %s, 90th percentile %s", percent(pool.Quantile(0.5)), percent(pool.Quantile(0.9)))
	pool.settle(pool.Quantile(0.5) <= 0.02 && pool.Quantile(0.9) <= 0.08)
	weights.Summary = fmt.Sprintf("median %s, 90th percentile %s", percent(weights.Quantile(0.5)), percent(weights.Quantile(0.9)))
	weights.settle(true)
	return []Check{tokens, pool, weights}, nil
}

// exclude leaves a row out for what its request was refused for.
func (c *Check) exclude(r record, err error) {
	c.Excluded = append(c.Excluded, Exclusion{r["id"], subject(r), err.Error()})
}

// add compares one figure of a row.
func (c *Check) add(d Data, check string, r record, what string, got, want float64) {
	row := Row{ID: r["id"], Subject: subject(r) + ": " + what, Got: got, Want: want, Error: relative(got, want)}
	row.Note = d.reason(check, r["id"])
	c.Rows = append(c.Rows, row)
}

// given takes the pool that the log states.
func given(c *Check, d Data, r record, request sizing.Request) {
	logged, ok := r.number("available_kv_gib_per_gpu")
	if !ok || !r.checks("kv_tokens") {
		return
	}
	request.KVCacheMemory = int64(logged * gibibyte)
	memory, err := decidingPool(request)
	if err != nil {
		c.exclude(r, err)
		return
	}
	if want, ok := r.number("kv_tokens"); ok {
		c.add(d, "tokens", r, "tokens", float64(memory.KVCacheTokens), want)
	}
	if want, ok := r.number("max_concurrency_x"); ok && r.checks("concurrency") {
		// Logs round to 0.01.
		c.add(d, "tokens", r, "concurrency", math.Round(memory.MaxConcurrency*100)/100, want)
	}
	c.explainRounding(r["id"], logged)
}

// explainRounding notes rows of one log that are off by no more than the log's
// rounding of the pool to 0.01 GiB allows.
func (c *Check) explainRounding(id string, gib float64) {
	for i := range c.Rows {
		row := &c.Rows[i]
		if slack := 0.005 / gib; row.ID == id && row.Note == "" && row.Error > tokensBar && row.Error <= slack {
			row.Note = fmt.Sprintf("the log rounds the pool of %.2f GiB to 0.01, which is up to %s", gib, percent(slack))
		}
	}
}

// decidingPool turns the logged pool, which is that of the first worker, into
// the one that decides: in a pipeline the last stage holds the head and the
// sampler's buffers, and has that much less.
func decidingPool(request sizing.Request) (sizing.Memory, error) {
	memory, err := sizing.PlanMemory(request)
	if err != nil || request.Scenario.Parallel.Pipeline <= 1 {
		return memory, err
	}
	planned := request
	planned.KVCacheMemory = 0
	own, err := sizing.PlanMemory(planned)
	if err != nil {
		return memory, err
	}
	request.KVCacheMemory -= own.FirstStageBytes - own.KVCacheBytes
	return sizing.PlanMemory(request)
}

// endToEnd plans the pool from model, accelerator and engine. Where the log has
// tokens or blocks alone, those are compared.
func endToEnd(c *Check, d Data, r record, request sizing.Request) {
	logged, stated := r.number("available_kv_gib_per_gpu")
	blocks, inBlocks := r.number("num_gpu_blocks")
	tokens, inTokens := r.number("kv_tokens")
	switch {
	case r.checks("kv_gib") && stated:
	case r.checks("kv_tokens") && !stated && (inBlocks || inTokens):
	default:
		return
	}
	memory, err := sizing.PlanMemory(request)
	if err != nil {
		c.exclude(r, err)
		return
	}
	switch {
	case stated:
		pool := max(memory.KVCacheBytes, memory.FirstStageBytes)
		c.add(d, "pool", r, "GiB", float64(pool)/gibibyte, logged)
	case inTokens:
		c.add(d, "pool", r, "tokens", float64(memory.KVCacheTokens), tokens)
	default:
		c.add(d, "pool", r, "blocks", float64(memory.KVCacheBlocks), blocks)
	}
}

// loaded compares the weights that the engine says it loaded.
func loaded(c *Check, d Data, r record, request sizing.Request) {
	logged, ok := r.number("model_load_gib_per_gpu")
	if !ok || !r.checks("weights") {
		return
	}
	memory, err := sizing.PlanMemory(request)
	if err != nil {
		c.exclude(r, err)
		return
	}
	c.add(d, "weights", r, "GiB", float64(memory.WeightsBytes)/gibibyte, logged)
}
