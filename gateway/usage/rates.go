package usage

// Rate is $ per token of a kind: cost of the requests whose price is known, over
// their tokens.
type Rate struct {
	Cost   NanoUSD
	Tokens int64
}

// Per returns $ per n tokens; ok is false without tokens that have a price.
func (r Rate) Per(n int64) (usd float64, ok bool) {
	if r.Tokens <= 0 {
		return 0, false
	}
	return float64(r.Cost) * float64(n) / float64(r.Tokens) / nanosPerUSD, true
}

// InputRate is what input tokens cost, cached ones included.
func (s *Sums) InputRate() Rate { return Rate{NanoUSD(s.InputCost), s.PricedInput} }

// OutputRate is what output tokens cost.
func (s *Sums) OutputRate() Rate { return Rate{NanoUSD(s.OutputCost), s.PricedOutput} }

// TotalRate is what a token cost, input and output together.
func (s *Sums) TotalRate() Rate { return Rate{NanoUSD(s.Cost), s.Priced} }

// Charge is all cost that is known.
func (s *Sums) Charge() NanoUSD { return NanoUSD(s.InputCost + s.OutputCost) }

// field is one value of an export: a number, or absent.
type field struct {
	name  string // of JSON; units are in it
	value func(*Group) (any, bool)
}

// fields are what exports say of a group, in their order. Values are int64,
// float64 or NanoUSD.
var fields = exportFields()

func exportFields() []field {
	number := func(name string, of func(*Group) int64) field {
		return field{name, func(g *Group) (any, bool) { return of(g), true }}
	}
	list := []field{
		number("requests", func(g *Group) int64 { return g.Requests }),
		number("ok_requests", func(g *Group) int64 { return g.OK }),
		number("retries", func(g *Group) int64 { return g.Retries }),
		number("fallbacks", func(g *Group) int64 { return g.Fallbacks }),
		number("estimated_requests", func(g *Group) int64 { return g.Estimated }),
		number("input_tokens", func(g *Group) int64 { return g.Input }),
		{"cached_input_tokens", func(g *Group) (any, bool) { return g.Cached, g.CachedKnown > 0 }},
		number("output_tokens", func(g *Group) int64 { return g.Output }),
		{"reasoning_tokens", func(g *Group) (any, bool) { return g.Reasoning, g.ReasoningKnown > 0 }},
		{"usd", func(g *Group) (any, bool) { return g.Charge(), g.Unpriced == 0 || g.PricedInput+g.PricedOutput > 0 }},
		{"usd_input", func(g *Group) (any, bool) { return NanoUSD(g.InputCost), g.PricedInput > 0 }},
		{"usd_output", func(g *Group) (any, bool) { return NanoUSD(g.OutputCost), g.PricedOutput > 0 }},
		number("unpriced_requests", func(g *Group) int64 { return g.Unpriced }),
	}
	for _, rate := range []struct {
		name string
		of   func(*Sums) Rate
	}{{"input", (*Sums).InputRate}, {"output", (*Sums).OutputRate}, {"total", (*Sums).TotalRate}} {
		list = append(list,
			field{"usd_per_1k_" + rate.name + "_tokens", func(g *Group) (any, bool) { return some(rate.of(&g.Sums).Per(1000)) }},
			field{"usd_per_1m_" + rate.name + "_tokens", func(g *Group) (any, bool) { return some(rate.of(&g.Sums).Per(1_000_000)) }})
	}
	for _, by := range Savings {
		saved := func(suffix string, of func(*Sums) (any, bool)) field {
			return field{"saved_by_" + string(by) + suffix, func(g *Group) (any, bool) {
				if s := g.Saved[by]; s != nil {
					return of(s)
				}
				return nil, false
			}}
		}
		list = append(list,
			saved("_requests", func(s *Sums) (any, bool) { return s.Requests, true }),
			saved("_input_tokens", func(s *Sums) (any, bool) { return s.SavedInput, by != Cancellation }),
			saved("_output_tokens", func(s *Sums) (any, bool) { return s.SavedOutput, true }),
			saved("_usd", func(s *Sums) (any, bool) { return NanoUSD(s.SavedCost), s.SavedUnpriced < s.Requests }))
	}
	for _, mean := range []struct {
		name string
		of   func(*Sums) Times
	}{
		{"ttft", func(s *Sums) Times { return s.TTFT }},
		{"tpot", func(s *Sums) Times { return s.TPOT }},
		{"e2e", func(s *Sums) Times { return s.E2E }},
		{"queue", func(s *Sums) Times { return s.Queue }},
		{"engine_queue", func(s *Sums) Times { return s.EngineQueue }},
	} {
		list = append(list, field{"mean_" + mean.name + "_s", func(g *Group) (any, bool) {
			d, ok := mean.of(&g.Sums).Mean()
			return d.Seconds(), ok
		}})
	}
	return list
}

// some lets a pair of results be any and bool.
func some(v float64, ok bool) (any, bool) { return v, ok }
