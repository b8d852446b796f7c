package fit

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmctl/llmctl/sizing/cost"
)

// inside is the share of held-out points that an interval holds.
const inside = 0.8

// margins of one kind of model are its errors by what was held out.
type margins map[cost.Basis]cost.Error

// bases are what each basis holds out, beside the kind of group that a new member
// of which one would ask about.
func bases(points []Point) []struct {
	basis cost.Basis
	keys  []func(*Point) string
	group func(*Point) string
} {
	return []struct {
		basis cost.Basis
		keys  []func(*Point) string
		group func(*Point) string
	}{
		{cost.HeldLoad, []func(*Point) string{ByLoad(points)}, nil},
		{cost.HeldModel, []func(*Point) string{ByShape}, nil},
		{cost.HeldFamily, []func(*Point) string{ByShape, ByFamily}, ByFamily},
		{cost.HeldEngine, []func(*Point) string{ByShape, ByEngine}, ByEngine},
		{cost.HeldBoth, []func(*Point) string{ByShape, ByFamily, ByEngine}, ByEngine},
	}
}

// margins of a table come from fits that start at this one.
func (f *Pooled) margins(points []Point) (map[bool]margins, error) {
	out := map[bool]margins{false: {}, true: {}}
	for _, b := range bases(points) {
		held, err := f.holdOut(points, points, b.keys...)
		if err != nil {
			return nil, err
		}
		for _, moe := range []bool{false, true} {
			of := slices.DeleteFunc(slices.Clone(held), func(h Held) bool { return h.Point.Facts.MoE != moe })
			m := out[moe]
			e := cost.Error{Spread: spread(of, Held.Ratio), First: spread(of, Held.FirstRatio)}
			if b.group != nil {
				e.Spread, e.First = few(e.Spread, held, Held.Ratio, b.group), few(e.First, held, Held.FirstRatio, b.group)
			}
			// What was never measured is not known better than what was.
			switch b.basis {
			case cost.HeldFamily, cost.HeldEngine:
				e = wider(e, m[cost.HeldModel])
			case cost.HeldBoth:
				e = wider(wider(e, m[cost.HeldFamily]), m[cost.HeldEngine])
			}
			e.Basis, e.First.Basis = b.basis, b.basis
			m[b.basis] = e
		}
	}
	return out, nil
}

// spread is the median distance of held-out points and the interval of the
// middle 80 % of them. A ratio of 0 was not measured.
func spread(held []Held, ratio func(Held) float64) cost.Spread {
	var distance, factor []float64
	for _, h := range held {
		if r := ratio(h); r > 0 {
			distance = append(distance, math.Abs(r-1))
			factor = append(factor, 1/r)
		}
	}
	return cost.Spread{
		Relative: quantile(distance, 0.5),
		Low:      min(1, quantile(factor, (1-inside)/2)), High: max(1, quantile(factor, (1+inside)/2)),
	}
}

// few widens the interval of points to that of a new engine or family, of which
// there are few to learn from, and whose points are off together. The half width
// of each, with dense models and with mixtures of experts, is the 80 % quantile of
// its |log ratio|; their mean square is taken as the variance of a new one, with as
// many degrees of freedom as there are engines or families (Student's t).
func few(s cost.Spread, held []Held, ratio func(Held) float64, group func(*Point) string) cost.Spread {
	logs, groups := map[string][]float64{}, map[string]bool{}
	for _, h := range held {
		if r := ratio(h); r > 0 {
			name := group(h.Point)
			groups[name] = true
			if h.Point.Facts.MoE {
				name += ", experts"
			}
			logs[name] = append(logs[name], math.Abs(math.Log(r)))
		}
	}
	if len(logs) == 0 {
		return s
	}
	square := 0.0
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		square += math.Pow(quantile(logs[name], inside), 2)
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(groups))}
	tail := (1 + inside) / 2
	width := math.Sqrt(square/float64(len(logs))) * student.Quantile(tail) / distuv.UnitNormal.Quantile(tail)
	s.Low, s.High = min(s.Low, math.Exp(-width)), max(s.High, math.Exp(width))
	return s
}

// wider holds what both errors hold.
func wider(a, b cost.Error) cost.Error {
	one := func(a, b cost.Spread) cost.Spread {
		return cost.Spread{Relative: max(a.Relative, b.Relative), Low: min(a.Low, b.Low), High: max(a.High, b.High), Basis: a.Basis}
	}
	return cost.Error{Spread: one(a.Spread, b.Spread), First: one(a.First, b.First)}
}

// quantile is linear between ranks; 0 without values.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	at := p * float64(len(values)-1)
	low := int(at)
	high := min(low+1, len(values)-1)
	return values[low] + (at-float64(low))*(values[high]-values[low])
}
