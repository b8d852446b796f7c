package fit

import (
	"cmp"
	"fmt"
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
	margins, err := all.margins(points)
	if err != nil {
		return nil, err
	}
	var table []cost.Entry
	for _, moe := range []bool{false, true} {
		m := margins[moe]
		for _, k := range kinds(points, moe) {
			rows, models := of(points, k)
			if len(rows) >= fewest {
				source := fmt.Sprintf("fit of published measurements of %s with %s on %s", strings.Join(models, " and "), k.engine, k.family)
				table = append(table, all.entry(k, m[cost.HeldLoad], rows, source))
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
			e := m[cost.HeldModel]
			if len(rows) < fewest {
				e = m[basis(points, k)]
			}
			source := fmt.Sprintf("fit of published measurements with %s on %s (%s)", k.engine, k.family, strings.Join(models, ", "))
			table = append(table, all.entry(k, e, rows, source))
		}
		for _, k := range all.pool.general(moe) {
			source := fmt.Sprintf("general part of a fit of published measurements; %s on %s was not measured",
				cmp.Or(k.engine, "this engine"), cmp.Or(k.family, "this family of accelerators"))
			table = append(table, all.entry(k, m[basis(points, k)], nil, source))
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

// basis is what is not known of a kind that was not measured itself, or with too
// few points.
func basis(points []Point, k kind) cost.Basis {
	engine, family := 0, 0
	for i := range points {
		p := &points[i]
		if p.Facts.MoE != k.moe {
			continue
		}
		if p.Engine == k.engine {
			engine++
		}
		if p.Family == k.family {
			family++
		}
	}
	switch {
	case engine >= fewest:
		return cost.HeldFamily
	case family >= fewest:
		return cost.HeldEngine
	}
	return cost.HeldBoth
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

// rounded keeps the digits that the data can bear, and that are the same on all
// machines.
func rounded(c cost.Constants) map[string]float64 {
	out := map[string]float64{}
	for i, v := range c.Vector() {
		out[cost.TermNames[i]], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	}
	return out
}
