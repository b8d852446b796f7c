package sizing

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/llmctl/llmctl/internal/shell"
)

// Options that differ by less are taken for equal: forecasts of times are an
// order of magnitude less exact.
const tolerance = 0.02

// comparing are the codes of the warnings that make an option look better or worse
// than others.
var comparing = []string{"unknown-link", "slow-link", "cross-node", "calibration-unused", "window", "attainment"}

// closest is how many of the options that may be the cheapest are planned in
// full at most.
const closest = 32

// objectives are what an option is judged by; less is better.
func (o *Option) objectives() [4]float64 {
	return [4]float64{o.USDPer1MOut, o.TTFT, o.TPOT, 1 / o.UserTokensPS}
}

// beats reports whether o is nowhere worse than other by more than the share
// slack.
func (o *Option) beats(other *Option, slack float64) bool {
	a, b := o.objectives(), other.objectives()
	for i := range a {
		if a[i] > b[i]*(1+slack) {
			return false
		}
	}
	return true
}

// front is the options that none before them beats, cheapest first: the Pareto
// front, less what is within slack of another. None of it beats another.
func front(options []Option, slack float64) []Option {
	sorted := slices.Clone(options)
	slices.SortFunc(sorted, byCost)
	var kept []Option
	for _, o := range sorted {
		if !slices.ContainsFunc(kept, func(k Option) bool { return k.beats(&o, slack) }) {
			kept = append(kept, o)
		}
	}
	return kept
}

func (o *Option) array() []float64 {
	a := o.objectives()
	return a[:]
}

// settle picks the front and the cheapest from the options, with the numbers of
// the full plan of each.
func (f *Search) settle(ctx context.Context, x *explorer) error {
	var priced, unpriced []Option
	for _, o := range f.Options {
		if o.USDPerHour > 0 {
			priced = append(priced, o)
		} else {
			unpriced = append(unpriced, o)
		}
	}
	candidates := front(priced, tolerance)
	for _, o := range slices.Concat(maybeCheapest(priced), maybeCheapest(only(priced, asPublished))) {
		if !slices.ContainsFunc(candidates, func(c Option) bool { return c.order == o.order }) {
			candidates = append(candidates, o)
		}
	}
	candidates, err := f.planInFull(ctx, x, candidates)
	if err != nil {
		return err
	}
	more, err := f.planCheapest(ctx, x, priced, candidates)
	if err != nil {
		return err
	}
	candidates = append(candidates, more...)
	best, err := f.planInFull(ctx, x, bestPerAccelerator(unpriced))
	if err != nil {
		return err
	}
	f.Front, f.Unpriced = append(f.Front, front(candidates, tolerance)...), append(f.Unpriced, best...)
	slices.SortStableFunc(f.Unpriced, func(a, b Option) int { return cmp.Compare(b.TokensPSPerAcc, a.TokensPSPerAcc) })
	if len(f.Front) > 0 {
		f.Cheapest = &f.Front[0]
	}
	f.PerKind = append(f.PerKind, cheapestPerAccelerator(candidates)...)
	f.Published, f.Measured = first(only(candidates, asPublished)), first(only(f.PerKind, isMeasured))
	f.learnAll()
	f.Feasible = len(f.Front)+len(f.Unpriced) > 0
	return nil
}

func asPublished(o Option) bool { return len(o.Quality) == 0 }
func isMeasured(o Option) bool  { return o.Measured }

// only is the options that are so.
func only(options []Option, so func(Option) bool) []Option {
	return slices.DeleteFunc(slices.Clone(options), func(o Option) bool { return !so(o) })
}

// byCost sorts the cheapest first, then by times; among equals, the one with the
// most usual limits.
func byCost(a, b Option) int {
	return cmp.Or(slices.Compare(a.array(), b.array()), cmp.Compare(a.unusual, b.unusual), cmp.Compare(a.order, b.order))
}

// first is the cheapest of the options, nil when there is none.
func first(options []Option) *Option {
	if len(options) == 0 {
		return nil
	}
	o := slices.MinFunc(options, byCost)
	return &o
}

// maybeCheapest are the options that may be the cheapest once they are planned in
// full: those that may cost less than the cheapest seems to, one of each that were
// evaluated together. They are sorted by what they may cost.
func maybeCheapest(options []Option) []Option {
	slices.SortFunc(options, func(a, b Option) int {
		return cmp.Or(cmp.Compare(a.leastCost(), b.leastCost()), cmp.Compare(a.USDPer1MOut, b.USDPer1MOut),
			cmp.Compare(a.unusual, b.unusual), cmp.Compare(a.order, b.order))
	})
	seems := math.Inf(1)
	for _, o := range options {
		seems = min(seems, o.USDPer1MOut)
	}
	var maybe []Option
	for _, o := range options {
		alike := func(m Option) bool { return m.found == o.found }
		if len(maybe) < closest && o.leastCost() <= seems && !slices.ContainsFunc(maybe, alike) {
			maybe = append(maybe, o)
		}
	}
	return maybe
}

func (o *Option) leastCost() float64 { return o.USDPer1MOut * o.found.least }

// bestPerAccelerator is the option with the most tokens per accelerator of each
// kind, most first.
func bestPerAccelerator(options []Option) []Option {
	var best []Option
	for _, o := range options {
		i := slices.IndexFunc(best, func(b Option) bool { return b.Accelerator == o.Accelerator })
		switch {
		case i < 0:
			best = append(best, o)
		case cmp.Or(cmp.Compare(o.TokensPSPerAcc, best[i].TokensPSPerAcc), cmp.Compare(best[i].unusual, o.unusual)) > 0:
			best[i] = o
		}
	}
	return best
}

// planCheapest plans, of each accelerator, the options that may be its cheapest,
// those that may cost least first, until none of the rest can cost less than one
// that is planned. Some are in planned already.
func (f *Search) planCheapest(ctx context.Context, x *explorer, options, planned []Option) ([]Option, error) {
	kinds := byAccelerator(options)
	found, errs := make([][]Option, len(kinds)), make([]error, len(kinds))
	each(ctx, len(kinds), func(i int) {
		best := math.Inf(1)
		for _, o := range planned {
			if o.Accelerator == kinds[i][0].Accelerator {
				best = min(best, o.USDPer1MOut)
			}
		}
		for _, o := range maybeCheapest(kinds[i]) {
			if o.leastCost() >= best*(1-1e-9) {
				return
			}
			var full []Option
			if full, errs[i] = f.planInFull(ctx, x, []Option{o}); errs[i] != nil {
				return
			}
			for _, p := range full {
				found[i], best = append(found[i], p), min(best, p.USDPer1MOut)
			}
		}
	})
	return slices.Concat(found...), errors.Join(append(errs, ctx.Err())...)
}

// byAccelerator groups options.
func byAccelerator(options []Option) [][]Option {
	var kinds [][]Option
	for _, o := range options {
		i := slices.IndexFunc(kinds, func(k []Option) bool { return k[0].Accelerator == o.Accelerator })
		if i < 0 {
			i, kinds = len(kinds), append(kinds, nil)
		}
		kinds[i] = append(kinds[i], o)
	}
	return kinds
}

// cheapestPerAccelerator is the cheapest option of each accelerator, cheapest first.
func cheapestPerAccelerator(planned []Option) []Option {
	var best []Option
	for _, kind := range byAccelerator(planned) {
		best = append(best, *first(kind))
	}
	slices.SortFunc(best, byCost)
	return best
}

// planInFull plans options, and returns those that the plan finds feasible with
// its numbers.
func (f *Search) planInFull(ctx context.Context, x *explorer, options []Option) ([]Option, error) {
	plans, errs := make([]*Plan, len(options)), make([]error, len(options))
	each(ctx, len(options), func(i int) { plans[i], errs[i] = Compute(x.planFor(options[i].Configuration)) })
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, err
	}
	var feasible []Option
	for i, p := range plans {
		if !p.Feasible || len(p.Inputs.SLO.Relaxed) > 0 {
			continue
		}
		q, o := p.Performance, options[i]
		planned := newOption(p.Fleet, q.MaxRPS, q.Bound, p.Inputs.OutputTokens)
		planned.TTFT, planned.TPOT, planned.UserTokensPS = q.TTFT.P99, q.TPOT.P99, 1/q.TPOT.Mean
		planned.Configuration, planned.Quality, planned.unusual, planned.order = o.Configuration, o.Quality, o.unusual, o.order
		planned.Error, planned.Measured, planned.Money = q.Error, q.Error.Unmeasured(p.Inputs) == "", p.compared()
		for _, w := range p.Warnings {
			planned.Warnings = append(planned.Warnings, w.Code)
		}
		planned.plan = p
		planned.args = x.planFor(o.Configuration).Args()
		planned.Command = shell.Join(planned.args)
		feasible = append(feasible, planned)
	}
	return feasible, nil
}

// learnAll is learn for everything that is shown.
func (f *Search) learnAll() {
	for _, shown := range [][]Option{f.Front, f.PerKind, f.Unpriced} {
		for i := range shown {
			f.learn(&shown[i])
		}
	}
	for _, o := range []*Option{f.Published, f.Measured} {
		if o != nil {
			f.learn(o)
		}
	}
}

// learn takes over the price of an option that is shown, and those of its plan's
// warnings that make it look better or worse than others.
func (f *Search) learn(o *Option) {
	for _, w := range o.plan.Warnings {
		if slices.Contains(comparing, w.Code) && !slices.Contains(f.Warnings, w) {
			f.Warnings = append(f.Warnings, w)
		}
	}
	in := o.plan.Inputs
	price := Price{in.Accelerator, in.USDPerAcceleratorHour, in.PriceSource, in.PriceDate}
	if price.USDPerHour > 0 && !slices.Contains(f.Prices, price) {
		f.Prices = append(f.Prices, price)
	}
}
