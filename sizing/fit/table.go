package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/sizing/cost"
)

// fewest is how many points of an engine, family and kind make it a measured
// one; with fewer it has the error of what was never measured.
const fewest = 5

// Table fits points together and returns the constants of each engine, family
// and kind that was measured, then those of measured engines on other families,
// of other engines on measured families, and of all others, with the errors on
// what was held out.
func Table(points []Point) ([]cost.Entry, error) {
	all, err := Fit(points)
	if err != nil {
		return nil, err
	}
	errs, err := all.margins(points)
	if err != nil {
		return nil, err
	}
	var table []cost.Entry
	for _, moe := range []bool{false, true} {
		for _, k := range kinds(points) {
			if k.moe == moe {
				table = append(table, all.measured(points, k, errs[moe]))
			}
		}
		for _, engine := range all.pool.engines {
			table = append(table, all.general(kind{engine, "", moe}, errs[moe]))
		}
		for _, family := range all.pool.families {
			table = append(table, all.general(kind{"", family, moe}, errs[moe]))
		}
		table = append(table, all.general(kind{"", "", moe}, errs[moe]))
	}
	return table, nil
}

// kinds are the engines, families and kinds of the points, in order.
func kinds(points []Point) []kind {
	var list []kind
	for i := range points {
		if k := points[i].kind(); k.family != "" && !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.family, b.family))
	})
	return list
}

// margins of one kind of model: on models that were held out, on held-out loads of
// models that were seen, and on engines and families that were held out.
type margins struct{ unseen, seen, other cost.Error }

// margins of a table come from fits that start at this one.
func (f *Pooled) margins(points []Point) (map[bool]margins, error) {
	out := map[bool]margins{}
	for i, key := range []func(*Point) string{ByShape, ByLoad(points), ByKind} {
		held, err := f.holdOut(points, points, key)
		if err != nil {
			return nil, err
		}
		for _, moe := range []bool{false, true} {
			e, of := out[moe], errorOf(held, moe)
			switch i {
			case 0:
				e.unseen = of
			case 1:
				e.seen = of
			case 2:
				// What was never measured is not known better than what was.
				e.other = cost.Error{Relative: max(of.Relative, e.unseen.Relative), Low: min(of.Low, e.unseen.Low), High: max(of.High, e.unseen.High)}
			}
			out[moe] = e
		}
	}
	return out, nil
}

// errorOf is the median distance of held-out points and the interval that holds
// the middle 80 % of them.
func errorOf(held []Held, moe bool) cost.Error {
	var distance, factor []float64
	for _, h := range held {
		if h.Point.Facts.MoE == moe {
			distance = append(distance, math.Abs(h.Ratio()-1))
			factor = append(factor, 1/h.Ratio())
		}
	}
	return cost.Error{Relative: quantile(distance, 0.5), Low: quantile(factor, 0.1), High: quantile(factor, 0.9)}
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

// measured is the entry of a kind that has points.
func (f *Pooled) measured(points []Point, k kind, e margins) cost.Entry {
	entry := cost.Entry{Engine: k.engine, Family: k.family, MoE: k.moe, Error: e.unseen, SeenError: e.seen}
	var models []string
	for i := range points {
		p := &points[i]
		if p.kind() != k {
			continue
		}
		entry.Rows = append(entry.Rows, p.ID)
		if s := p.Facts.Shape(); !slices.Contains(entry.Shapes, s) {
			entry.Shapes = append(entry.Shapes, s)
		}
		if !slices.Contains(models, p.Model) {
			models = append(models, p.Model)
		}
	}
	slices.Sort(entry.Shapes)
	if len(entry.Rows) < fewest {
		entry.Error, entry.SeenError, entry.Shapes = e.other, cost.Error{}, nil
	}
	entry.Constants = rounded(f.pool.constants(f.effects, k))
	entry.Source = fmt.Sprintf("fit of published measurements of %s on %s (%d points of %s), pooled with those of other engines and families",
		k.engine, k.family, len(entry.Rows), strings.Join(models, ", "))
	return entry.Rounded()
}

// general is an entry for what has no points of its own.
func (f *Pooled) general(k kind, e margins) cost.Entry {
	entry := cost.Entry{Engine: k.engine, Family: k.family, MoE: k.moe, Error: e.other, Constants: rounded(f.pool.constants(f.effects, k))}
	entry.Source = fmt.Sprintf("general part of a fit of published measurements; %s on %s was not measured", cmp.Or(k.engine, "this engine"), cmp.Or(k.family, "this family of accelerators"))
	return entry.Rounded()
}

// rounded keeps the digits that the data can bear, and that are the same on all
// machines.
func rounded(c cost.Constants) map[string]float64 {
	out := map[string]float64{}
	for i, v := range c.Vector() {
		out[cost.TermNames[i]], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	}
	return out
}
