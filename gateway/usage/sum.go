package usage

import (
	"time"

	"github.com/llmctl/llmctl/internal/optional"
)

// Sums are what records of one kind add up to. Every count is of integers, so
// that order and batches change nothing.
type Sums struct {
	Requests  int64
	OK        int64 // with a complete answer
	Retries   int64 // tries beyond the first
	Fallbacks int64
	Estimated int64 // requests whose tokens the gateway counted

	Input          int64 // tokens
	Cached         int64
	CachedKnown    int64 // requests that told how many were cached
	Output         int64
	Reasoning      int64
	ReasoningKnown int64

	// Of requests whose cost of the kind is known: it, and the tokens that it is for.
	InputCost    int64 // NanoUSD
	PricedInput  int64
	OutputCost   int64
	PricedOutput int64
	Cost         int64
	Priced       int64
	Unpriced     int64 // requests whose whole cost is unknown

	SavedInput    int64
	SavedOutput   int64
	SavedCost     int64
	SavedUnpriced int64 // requests of which it is unknown what they saved

	TTFT, TPOT, E2E, Queue, EngineQueue Times
}

// Times is a sum of times of requests.
type Times struct {
	Micros int64
	N      int64 // requests that have one
}

// Mean is the mean time; ok is false when no request has one.
func (t Times) Mean() (d time.Duration, ok bool) {
	if t.N == 0 {
		return 0, false
	}
	return time.Duration(float64(t.Micros) / float64(t.N) * float64(time.Microsecond)), true
}

func (t *Times) add(d optional.Duration) {
	if v, ok := d.Value(); ok {
		t.Micros += micros(v)
		t.N++
	}
}

func micros(d time.Duration) int64 { return d.Round(time.Microsecond).Microseconds() }

// column is one number of Sums under its name in a database.
type column struct {
	name string
	of   func(*Sums) *int64
}

// columns lists all of Sums.
var columns = []column{
	{"requests", func(s *Sums) *int64 { return &s.Requests }},
	{"ok", func(s *Sums) *int64 { return &s.OK }},
	{"retries", func(s *Sums) *int64 { return &s.Retries }},
	{"fallbacks", func(s *Sums) *int64 { return &s.Fallbacks }},
	{"estimated", func(s *Sums) *int64 { return &s.Estimated }},
	{"input_tokens", func(s *Sums) *int64 { return &s.Input }},
	{"cached_tokens", func(s *Sums) *int64 { return &s.Cached }},
	{"cached_known", func(s *Sums) *int64 { return &s.CachedKnown }},
	{"output_tokens", func(s *Sums) *int64 { return &s.Output }},
	{"reasoning_tokens", func(s *Sums) *int64 { return &s.Reasoning }},
	{"reasoning_known", func(s *Sums) *int64 { return &s.ReasoningKnown }},
	{"input_cost_nano_usd", func(s *Sums) *int64 { return &s.InputCost }},
	{"priced_input_tokens", func(s *Sums) *int64 { return &s.PricedInput }},
	{"output_cost_nano_usd", func(s *Sums) *int64 { return &s.OutputCost }},
	{"priced_output_tokens", func(s *Sums) *int64 { return &s.PricedOutput }},
	{"cost_nano_usd", func(s *Sums) *int64 { return &s.Cost }},
	{"priced_tokens", func(s *Sums) *int64 { return &s.Priced }},
	{"unpriced", func(s *Sums) *int64 { return &s.Unpriced }},
	{"saved_input_tokens", func(s *Sums) *int64 { return &s.SavedInput }},
	{"saved_output_tokens", func(s *Sums) *int64 { return &s.SavedOutput }},
	{"saved_nano_usd", func(s *Sums) *int64 { return &s.SavedCost }},
	{"saved_unpriced", func(s *Sums) *int64 { return &s.SavedUnpriced }},
	{"ttft_us", func(s *Sums) *int64 { return &s.TTFT.Micros }},
	{"ttft_n", func(s *Sums) *int64 { return &s.TTFT.N }},
	{"tpot_us", func(s *Sums) *int64 { return &s.TPOT.Micros }},
	{"tpot_n", func(s *Sums) *int64 { return &s.TPOT.N }},
	{"e2e_us", func(s *Sums) *int64 { return &s.E2E.Micros }},
	{"e2e_n", func(s *Sums) *int64 { return &s.E2E.N }},
	{"queue_us", func(s *Sums) *int64 { return &s.Queue.Micros }},
	{"queue_n", func(s *Sums) *int64 { return &s.Queue.N }},
	{"engine_queue_us", func(s *Sums) *int64 { return &s.EngineQueue.Micros }},
	{"engine_queue_n", func(s *Sums) *int64 { return &s.EngineQueue.N }},
}

// Add takes other sums in.
func (s *Sums) Add(o *Sums) {
	for _, c := range columns {
		*c.of(s) += *c.of(o)
	}
}

// take counts one record in.
func (s *Sums) take(r *Record) {
	if r.Arm != Embedding {
		s.Requests++
		s.OK += one(r.OK)
		s.Retries += int64(max(r.Attempts-1, 0))
		s.Fallbacks += one(r.Fallback)
		s.Estimated += one(r.Tokens.Estimated)
	}
	s.Input += r.Tokens.Input
	s.Output += r.Tokens.Output
	countIn(r.Tokens.Cached, &s.Cached, &s.CachedKnown)
	countIn(r.Tokens.Reasoning, &s.Reasoning, &s.ReasoningKnown)
	s.price(r)
	if r.Saved.By != "" {
		s.SavedInput += r.Saved.Input
		s.SavedOutput += r.Saved.Output
		cost, ok := r.Saved.Cost.Value()
		s.SavedCost += int64(cost)
		s.SavedUnpriced += one(!ok)
	}
	s.TTFT.add(r.TTFT)
	s.TPOT.add(r.TPOT)
	s.E2E.add(r.E2E)
	s.Queue.add(r.Queue)
	s.EngineQueue.add(r.EngineQueue)
}

func (s *Sums) price(r *Record) {
	if cost, ok := r.Cost.Input.Value(); ok {
		s.InputCost += int64(cost)
		s.PricedInput += r.Tokens.Input
	}
	if cost, ok := r.Cost.Output.Value(); ok {
		s.OutputCost += int64(cost)
		s.PricedOutput += r.Tokens.Output
	}
	if cost, ok := r.Cost.Total().Value(); ok {
		s.Cost += int64(cost)
		s.Priced += r.Tokens.Input + r.Tokens.Output
	} else {
		s.Unpriced++
	}
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func countIn(c optional.Count, sum, known *int64) {
	if n, ok := c.Value(); ok {
		*sum += int64(n)
		*known++
	}
}

// bin is what records have in common that a store adds up. Requests are kept for
// a while, the sums of their bins for good.
type bin struct {
	hour                                            int64 // since 1970, UTC
	tenant, key, alias, provider, model, arm, class string
	saved                                           Saving
}

func binOf(r *Record) bin {
	return bin{
		hour:   hourOf(r.At),
		tenant: r.Tenant, key: r.Key, alias: r.Alias, provider: r.Provider, model: r.Model, arm: r.Arm, class: r.Class,
		saved: r.Saved.By,
	}
}

// hourOf is the number of the hour. A clock from before 1970 is one that was never
// set.
func hourOf(t time.Time) int64 { return max(t.Unix(), 0) / 3600 }
