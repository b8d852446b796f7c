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
	slices.SortFunc(sorted, func(a, b Option) int {
		return cmp.Or(slices.Compare(a.array(), b.array()), cmp.Compare(a.unusual, b.unusual), cmp.Compare(a.order, b.order))
	})
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
	published := slices.DeleteFunc(slices.Clone(priced), func(o Option) bool { return len(o.Quality) > 0 })
	for _, o := range slices.Concat(maybeCheapest(priced), maybeCheapest(published)) {
		if !slices.ContainsFunc(candidates, func(c Option) bool { return c.order == o.order }) {
			candidates = append(candidates, o)
		}
	}
	candidates, err := f.planInFull(ctx, x, candidates)
	if err != nil {
		return err
	}
	best, err := f.planInFull(ctx, x, bestPerAccelerator(unpriced))
	if err != nil {
		return err
	}
	f.Front, f.Unpriced = append(f.Front, front(candidates, tolerance)...), append(f.Unpriced, best...)
	slices.SortStableFunc(f.Unpriced, func(a, b Option) int { return cmp.Compare(b.TokensPSPerAcc, a.TokensPSPerAcc) })
	if len(f.Front) > 0 {
		f.Cheapest = &f.Front[0]
	}
	candidates = slices.DeleteFunc(candidates, func(o Option) bool { return len(o.Quality) > 0 })
	if own := front(candidates, 0); len(own) > 0 {
		f.Published = &own[0]
	}
	for i := range f.Front {
		f.learn(&f.Front[i])
	}
	for i := range f.Unpriced {
		f.learn(&f.Unpriced[i])
	}
	if f.Published != nil {
		f.learn(f.Published)
	}
	f.Feasible = len(f.Front)+len(f.Unpriced) > 0
	return nil
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
		if !p.Feasible {
			continue
		}
		q, o := p.Performance, options[i]
		planned := newOption(p.Fleet, q.MaxRPS, q.Bound, p.Inputs.OutputTokens)
		planned.TTFT, planned.TPOT, planned.UserTokensPS = q.TTFT.P99, q.TPOT.P99, 1/q.TPOT.Mean
		planned.Configuration, planned.Quality, planned.unusual, planned.order = o.Configuration, o.Quality, o.unusual, o.order
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

// learn takes over the price of an option that is shown, and those of its plan's
// warnings that make it look better or worse than others.
func (f *Search) learn(o *Option) {
	for _, w := range o.plan.Warnings {
		if (w.Code == "unknown-link" || w.Code == "slow-link" || w.Code == "calibration-unused" || w.Code == "window" || w.Code == "attainment") && !slices.Contains(f.Warnings, w) {
			f.Warnings = append(f.Warnings, w)
		}
	}
	in := o.plan.Inputs
	price := Price{in.Accelerator, in.USDPerAcceleratorHour, in.PriceSource, in.PriceDate}
	if price.USDPerHour > 0 && !slices.Contains(f.Prices, price) {
		f.Prices = append(f.Prices, price)
	}
}
