package accuracy

import (
	"fmt"

	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/fit"
)

// Bars of the times, as shares.
const (
	denseBar    = 0.12
	expertsBar  = 0.25
	seenBar     = 0.08
	fewestHeld  = 0.75 // share of held-out rows inside the printed interval
	mostHeld    = 0.85
	intervalBar = "holds 75 to 85 % of held-out rows"
)

// Points are the measured times of serving_measured.csv that state enough to be
// fitted, and the runnable rows that are left out, each with the rule.
func Points(d Data) ([]fit.Point, []fit.Left, error) {
	if rows, err := d.table(servingFile); err != nil || rows == nil {
		return nil, nil, err
	}
	f, err := d.files.Open(servingFile)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	rows, err := fit.ReadRows(f)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", servingFile, err)
	}
	if _, err := d.table("serving_measured.csv"); err != nil {
		return nil, nil, err // of a cell that is no figure
	}
	points, left := fit.Published(rows, d.model)
	return points, left, nil
}

// Times compares the time per output token of measured runs
// (serving_measured.csv) with a fit that saw neither the row's model, or that saw
// it at other loads only; the intervals that a plan prints; and, for the reader,
// the time to first token.
func Times(d Data) ([]Check, error) {
	targets, left, err := Points(d)
	if err != nil {
		return nil, err
	}
	known, err := knownPoints(d, targets)
	if err != nil {
		return nil, err
	}
	unseen, err := fit.HoldOut(known, targets, fit.ByShape)
	if err != nil {
		return nil, err
	}
	seen, err := fit.HoldOut(known, targets, fit.ByLoad(known))
	if err != nil {
		return nil, err
	}
	var checks []Check
	for _, k := range []struct {
		name string
		moe  bool
		bar  float64
	}{{"TPOT of dense models that were held out", false, denseBar}, {"TPOT of mixtures of experts that were held out", true, expertsBar}} {
		checks = append(checks, tokenTimes(d, k.name, k.bar, unseen, left, func(p *fit.Point) bool { return p.Facts.MoE == k.moe }))
	}
	return append(checks,
		tokenTimes(d, "TPOT of models that were measured at other loads", seenBar, seen, left, func(*fit.Point) bool { return true }),
		coverage(d, "80 % interval of models that were held out", unseen, true),
		coverage(d, "80 % interval of models that were measured at other loads", seen, false),
		firstTokens(d, "TTFT of models that were held out", unseen),
		firstTokens(d, "TTFT of models that were measured at other loads", seen),
		firstCoverage(d, "80 % interval of TTFT, models that were held out", unseen, true),
		firstCoverage(d, "80 % interval of TTFT, models that were measured at other loads", seen, false),
	), nil
}

// knownPoints are those that a fit may see: the built-in ones and those of the
// folder.
func knownPoints(d Data, targets []fit.Point) ([]fit.Point, error) {
	if d.folder == "" {
		return targets, nil
	}
	own, err := Open("")
	if err != nil {
		return nil, err
	}
	known, _, err := Points(own)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for i := range known {
		ids[known[i].ID] = true
	}
	for _, p := range targets {
		if !ids[p.ID] {
			known = append(known, p)
		}
	}
	return known, nil
}

func pointRow(d Data, check string, p *fit.Point, got, want float64) Row {
	load := fmt.Sprintf("%.4g clients", p.Load.Concurrency)
	if p.Rate > 0 {
		load = fmt.Sprintf("%.4g requests/s", p.Rate)
	}
	return Row{
		ID: p.ID, Got: got * 1e3, Want: want * 1e3, Error: relative(got, want), Note: d.reason(check, p.ID),
		Subject: fmt.Sprintf("%s, %s, %s tp%d, %s, %.0f in, %.0f out: ms", p.Model, p.Device.Name, p.Engine, p.Facts.Tensor, load, p.Load.Input, p.Load.Output),
	}
}

// tokenTimes compares the time per output token of the points that are meant.
func tokenTimes(d Data, name string, bar float64, held []fit.Held, left []fit.Left, meant func(*fit.Point) bool) Check {
	c := Check{Name: name, Bar: "median ≤ " + percent(bar)}
	for _, h := range held {
		if meant(h.Point) {
			c.Rows = append(c.Rows, pointRow(d, "tpot", h.Point, h.Predicted.TPOT, h.Point.TPOT))
		}
	}
	for _, l := range left {
		c.Excluded = append(c.Excluded, Exclusion(l))
	}
	c.Summary = fmt.Sprintf("median %s, 90th percentile %s", percent(c.Quantile(0.5)), percent(c.Quantile(0.9)))
	c.settle(c.Quantile(0.5) <= bar)
	return c
}

// coverage counts the points inside the interval that a plan prints for them: that
// of models that were never measured, or their own.
func coverage(d Data, name string, held []fit.Held, asUnseen bool) Check {
	c := Check{Name: name, Bar: intervalBar}
	inside := 0
	for _, h := range held {
		e := printed(h.Point, asUnseen).Spread
		row := pointRow(d, "tpot", h.Point, h.Predicted.TPOT, h.Point.TPOT)
		if row.Error = outside(e, h.Predicted.TPOT, h.Point.TPOT); row.Error == 0 {
			inside++
		}
		c.Rows = append(c.Rows, row)
	}
	share := float64(inside) / float64(len(held))
	c.Summary = "holds " + percent(share)
	c.settle(share >= fewestHeld && share <= mostHeld)
	return c
}

// printed is the error that a plan prints for a point.
func printed(p *fit.Point, asUnseen bool) cost.Error {
	facts := p.Facts
	if asUnseen {
		facts.Layers = 0 // no model has this shape
	}
	return cost.Pick(cost.Table(), p.Engine, p.Family, facts).Error
}

// outside is how far a measured time lies outside of the interval about a
// predicted one, relative to itself; 0 inside.
func outside(e cost.Spread, predicted, measured float64) float64 {
	return max(0, predicted*e.Low/measured-1, 1-predicted*e.High/measured)
}

// firstTokens compares the mean time to first token in closed loops.
func firstTokens(d Data, name string, held []fit.Held) Check {
	c := Check{Name: name}
	var known Check
	for _, h := range held {
		if h.Point.TTFT == 0 {
			continue
		}
		row := pointRow(d, "ttft", h.Point, h.Predicted.TTFT, h.Point.TTFT)
		if h.Point.StartGuessed && row.Note == "" {
			row.Note = "how many requests each client sends is not stated, and all start at once: ten are taken"
		}
		if !h.Point.StartGuessed {
			known.Rows = append(known.Rows, row)
		}
		c.Rows = append(c.Rows, row)
	}
	c.Summary = fmt.Sprintf("median %s, 90th percentile %s; median %s of the %d whose start is known",
		percent(c.Quantile(0.5)), percent(c.Quantile(0.9)), percent(known.Quantile(0.5)), len(known.Rows))
	c.settle(true)
	return c
}

// firstCoverage counts the times to first token inside the printed interval.
func firstCoverage(d Data, name string, held []fit.Held, asUnseen bool) Check {
	c := Check{Name: name}
	inside := 0
	for _, h := range held {
		if h.FirstRatio() == 0 {
			continue
		}
		row := pointRow(d, "ttft", h.Point, h.Predicted.TTFT, h.Point.TTFT)
		if row.Error = outside(printed(h.Point, asUnseen).First, h.Predicted.TTFT, h.Point.TTFT); row.Error == 0 {
			inside++
		}
		c.Rows = append(c.Rows, row)
	}
	c.Summary = fmt.Sprintf("holds %s of those whose start is known", percent(float64(inside)/float64(len(c.Rows))))
	c.settle(true)
	return c
}
