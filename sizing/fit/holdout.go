package fit

import (
	"fmt"
	"slices"

	"github.com/llmctl/llmctl/sizing/cost"
)

// Held is a point that took no part in the fit that predicted it.
type Held struct {
	Point     *Point
	Predicted cost.Loop
	Constants cost.Constants
}

// Ratio is predicted over measured.
func (h Held) Ratio() float64 { return h.Predicted.TPOT / h.Point.TPOT }

// FirstRatio is predicted over measured time to first token; 0 when none was
// measured in a run whose start is known.
func (h Held) FirstRatio() float64 {
	if h.Point.TTFT == 0 || h.Point.StartGuessed {
		return 0
	}
	return h.Predicted.TTFT / h.Point.TTFT
}

// HoldOut predicts each of the points targets from a fit of those of points that
// share none of the keys with it.
func HoldOut(points, targets []Point, keys ...func(*Point) string) ([]Held, error) {
	all, err := Fit(points)
	if err != nil {
		return nil, err
	}
	return all.holdOut(points, targets, keys...)
}

func (f *Pooled) holdOut(points, targets []Point, keys ...func(*Point) string) ([]Held, error) {
	fits := map[string]*Pooled{}
	var held []Held
	for i := range targets {
		p := &targets[i]
		group := ""
		for _, key := range keys {
			group += key(p) + "; "
		}
		if fits[group] == nil {
			var rest []Point
			for j := range points {
				q := &points[j]
				if !slices.ContainsFunc(keys, func(key func(*Point) string) bool { return key(q) == key(p) }) {
					rest = append(rest, *q)
				}
			}
			x, err := f.pool.solve(rest, f.effects)
			if err != nil {
				return nil, fmt.Errorf("holding out %s: %w", group, err)
			}
			fits[group] = &Pooled{f.pool, x}
		}
		c := fits[group].Constants(p)
		held = append(held, Held{p, p.predict(c), c})
	}
	return held, nil
}

// ByShape holds out all points of one model, under whatever name.
func ByShape(p *Point) string { return p.Facts.Shape() }

// parts is how many times the points are fitted to hold out each load of each
// model once.
const parts = 8

// ByLoad puts the points of one model at one load into one of parts groups, so
// that its curve at other loads stays when the group is held out.
func ByLoad(points []Point) func(*Point) string {
	var loads []string
	load := func(p *Point) string {
		return fmt.Sprintf("%s at %g clients, %g/s, %g in", p.Facts.Shape(), p.Load.Concurrency, p.Rate, p.Load.Input)
	}
	for i := range points {
		if at := load(&points[i]); !slices.Contains(loads, at) {
			loads = append(loads, at)
		}
	}
	slices.Sort(loads)
	return func(p *Point) string { return fmt.Sprintf("part %d", slices.Index(loads, load(p))%parts) }
}

// ByFamily holds out all points of one family of accelerators.
func ByFamily(p *Point) string { return p.Family }

// ByEngine holds out all points of one engine.
func ByEngine(p *Point) string { return p.Engine }

// Pooled is a fit of points of several engines, families and kinds.
type Pooled struct {
	pool    *pool
	effects []float64
}

// Fit finds the constants of points together.
func Fit(points []Point) (*Pooled, error) {
	p := newPool(points)
	x, err := p.solve(points, make([]float64, p.size()))
	if err != nil {
		return nil, err
	}
	return &Pooled{p, x}, nil
}

// Constants are those for the engine, family and kind of a point.
func (f *Pooled) Constants(p *Point) cost.Constants { return f.pool.constants(f.effects, p.kind()) }
