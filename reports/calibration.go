package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/fit"
)

// WriteCalibration writes what points said of the step model's constants: how far
// off the built-in ones are, how far off the new ones are on held-out points, and
// which constants the points determined.
func WriteCalibration(w io.Writer, found []fit.Calibration) error {
	var b strings.Builder
	for i, c := range found {
		if i > 0 {
			b.WriteString("\n")
		}
		writeCalibrated(&b, c)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeCalibrated(b *strings.Builder, c fit.Calibration) {
	e := c.Entry
	kind := "dense models"
	if e.MoE {
		kind = "mixtures of experts"
	}
	fmt.Fprintf(b, "%s on %s, %s: %s\n\n", e.Engine, e.Family, kind, count(c.Points, "point"))
	if c.Scaled > 0 {
		writeScaled(b, c)
		return
	}
	t := Table{Indent: 2, Header: []string{"time per output token", "median error", "80% of points"}, Right: []bool{false, true, true}}
	for _, row := range []struct {
		name string
		err  cost.Error
	}{{"built-in constants", c.Before}, {"calibrated, loads held out", c.After}} {
		t.Rows = append(t.Rows, []string{row.name, fmt.Sprintf("%.1f%%", row.err.Relative*100), fmt.Sprintf("×%.2f to ×%.2f", row.err.Low, row.err.High)})
	}
	writeTable(b, t)
	if c.After.First.Basis == cost.HeldLoad {
		paragraph(b, "  ", fmt.Sprintf("TTFT is off by %.1f%% in the middle on loads that were held out, 80%% of points within ×%.2f to ×%.2f.", c.After.First.Relative*100, c.After.First.Low, c.After.First.High))
	} else {
		paragraph(b, "  ", fmt.Sprintf("No point has a time to first token (ttft_ms): the interval of TTFT stays the built-in one, ×%.2f to ×%.2f.", c.After.First.Low, c.After.First.High))
	}
	if c.After.Relative > c.Before.Relative {
		paragraph(b, "  ", "The points do not predict each other better than the built-in constants do: prefer those, or measure more.")
	}
	b.WriteString("\n")
	kept := false
	t = Table{Indent: 2, Header: []string{"constant", "built-in", "now", "known from points", ""}, Right: []bool{false, true, true, true}}
	for _, term := range c.Terms {
		kept = kept || term.Kept
		t.Rows = append(t.Rows, []string{term.Name, fmt.Sprintf("%.3g", term.Prior), fmt.Sprintf("%.3g", term.Fitted), fmt.Sprintf("%.0f%%", term.Known*100), termVerdict(term)})
	}
	writeTable(b, t)
	if kept {
		paragraph(b, "  ", "What only prompts cost was not fitted to times per token: give ttft_ms, or points whose uncached prompts differ four times in length.")
	}
	for _, term := range c.Terms {
		if term.FasterThanLimit() {
			paragraph(b, "  ", fmt.Sprintf("%s %.3g is below 1: the points are faster than the accelerator's rates allow. Are accelerator, weight format, lengths and units those of the measurement?", term.Name, term.Fitted))
		}
	}
}

// writeScaled words a calibration that is one factor.
func writeScaled(b *strings.Builder, c fit.Calibration) {
	paragraph(b, "  ", fmt.Sprintf("So few loads do not tell constants apart: this machine takes %.3g times as long as the built-in constants have it, "+
		"with steps that carry prompts as the time to first token says. How far off other loads are was not measured; "+
		"points at two loads or more, four in all, fit the constants one by one.", c.Scaled))
}

// termVerdict says whether the points determined a constant, and whether it moved.
func termVerdict(t fit.Term) string {
	switch {
	case t.Kept:
		return "as built in: only prompts tell"
	case t.Determined && t.Moved():
		return "determined"
	case t.Determined:
		return "determined, as built in"
	case t.Moved():
		return "moved, but not determined alone"
	}
	return "as built in"
}
