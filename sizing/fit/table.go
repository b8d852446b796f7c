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

// fewest is how many points make an engine on a family, or a model with them, a
// measured one; with fewer it has the error of what was never measured.
const fewest = 5

// Table fits points together and returns the constants of each model that was
// measured with an engine on a family; then those of other models there; then
// those of measured engines on other families, of other engines on measured
// families, and of all others. Each has the error on what was held out.
func Table(points []Point) ([]cost.Entry, error) {
	all, err := Fit(points)
	if err != nil {
		return nil, err
	}
	margin, err := all.margins(points)
	if err != nil {
		return nil, err
	}
	var table []cost.Entry
	for _, moe := range []bool{false, true} {
		m := margin[moe]
		for _, k := range kinds(points, moe) {
			rows, models := of(points, k)
			if len(rows) >= fewest {
				source := fmt.Sprintf("fit of published measurements of %s with %s on %s", strings.Join(models, " and "), k.engine, k.family)
				table = append(table, all.entry(k, m.seen, rows, source))
			}
		}
		for _, k := range kinds(points, moe) {
			k.shape = ""
			if slices.ContainsFunc(table, func(e cost.Entry) bool {
				return e.Shape == "" && e.Engine == k.engine && e.Family == k.family && e.MoE == moe
			}) {
				continue
			}
			rows, models := of(points, k)
			e := m.unseen
			if len(rows) < fewest {
				e = m.other
			}
			source := fmt.Sprintf("fit of published measurements of other models with %s on %s (%s)", k.engine, k.family, strings.Join(models, ", "))
			table = append(table, all.entry(k, e, rows, source))
		}
		for _, k := range all.pool.general(moe) {
			source := fmt.Sprintf("general part of a fit of published measurements; %s on %s was not measured",
				cmp.Or(k.engine, "this engine"), cmp.Or(k.family, "this family of accelerators"))
			table = append(table, all.entry(k, m.other, nil, source))
		}
	}
	return table, nil
}

// kinds are those of the points, in order.
func kinds(points []Point, moe bool) []kind {
	var list []kind
	for i := range points {
		if k := points[i].kind(); k.moe == moe && !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.family, b.family), cmp.Compare(a.shape, b.shape))
	})
	return list
}

// general are the kinds that were not measured: engines on other families, other
// engines on families, and all others.
func (p *pool) general(moe bool) []kind {
	var list []kind
	for _, engine := range p.engines {
		list = append(list, kind{engine: engine, moe: moe})
	}
	for _, family := range p.families {
		list = append(list, kind{family: family, moe: moe})
	}
	return append(list, kind{moe: moe})
}

// of are the ids and the models of the points of a kind; an empty shape is any.
func of(points []Point, k kind) (rows, models []string) {
	for i := range points {
		p := &points[i]
		is := p.kind()
		if k.shape == "" {
			is.shape = ""
		}
		if is != k {
			continue
		}
		rows = append(rows, p.ID)
		if !slices.Contains(models, p.Model) {
			models = append(models, p.Model)
		}
	}
	slices.Sort(models)
	return rows, models
}

func (f *Pooled) entry(k kind, e cost.Error, rows []string, source string) cost.Entry {
	return cost.Entry{
		Engine: k.engine, Family: k.family, MoE: k.moe, Shape: k.shape, Rows: rows,
		Constants: rounded(f.pool.constants(f.effects, k)), Error: e.Rounded(), Source: source,
	}
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

// rounded keeps the digits that the data can bear, and that are the same on all
// machines.
func rounded(c cost.Constants) map[string]float64 {
	out := map[string]float64{}
	for i, v := range c.Vector() {
		out[cost.TermNames[i]], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	}
	return out
}
