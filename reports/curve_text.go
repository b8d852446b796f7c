package reports

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/search"
	"github.com/llmctl/llmctl/reports/stats"
)

// curveBar is the width of the bars of goodput beside the rows; with the remarks
// beside them, rows are 80 columns wide at most.
const curveBar = 7

// WriteCurveText writes a curve for a person: a row per run with a bar of its
// goodput, the knee, and the limit.
func WriteCurveText(w io.Writer, c *Curve, opts TextOptions) error {
	p := newPage(opts)
	p.field("asked", c.Asked)
	p.cluster(c.Target.Cluster)
	p.defaults(c.Defaults)
	if c.Interrupted {
		p.field("", p.paint(yellow, "! INTERRUPTED")+"  the curve is of the runs made until then")
	}
	p.line("")
	if _, err := p.curveTable(c).WriteTo(&p.out); err != nil {
		return err
	}
	p.line("")
	p.field("limit", c.limitText())
	p.field("knee", c.kneeText())
	if c.Ended != "" {
		p.field("ended", c.Ended)
	}
	for _, warning := range c.Warnings {
		p.field("warning", warning.Text)
	}
	_, err := w.Write(append(bytes.TrimRight(p.out.Bytes(), "\n"), '\n'))
	return err
}

// unit is what a load counts.
func (c *Curve) unit() string {
	if c.Axis == search.Concurrency {
		return "in flight"
	}
	return "req/s"
}

// LoadText is a load with its unit.
func (c *Curve) LoadText(load float64) string { return units.Number(load) + " " + c.unit() }

func (p *page) curveTable(c *Curve) Table {
	load := c.unit()
	if c.Axis == search.Concurrency {
		load = "at once" // the table is as wide as a terminal
	}
	t := Table{Header: []string{load, "done/s", "ttft p99", "tpot p99", "tok/s", "attained", "goodput", ""},
		Right: []bool{true, true, true, true, true, true, true}}
	highest := 0.0
	for _, point := range c.Points {
		if g := point.GoodputRPS; g != nil {
			highest = max(highest, *g)
		}
	}
	for _, point := range c.Points {
		t.Rows = append(t.Rows, []string{
			units.Number(point.Load), optionalNumber(point.CompletedRPS), p99Cell(point.TTFT), p99Cell(point.TPOT),
			optionalNumber(point.OutputTokensPerS), p.attained(point), optionalNumber(point.GoodputRPS),
			p.bar(point, highest) + c.remark(point),
		})
	}
	return t
}

// attained is the share of the worst objective with ✓ or ✗.
func (p *page) attained(point CurvePoint) string {
	if point.Attainment == nil {
		return "–"
	}
	return percent(*point.Attainment) + " " + p.mark(&point.Holds)
}

// bar draws the goodput on a scale to highest, in eighths of a column. A run that
// is not to be believed has a word in its place.
func (p *page) bar(point CurvePoint, highest float64) string {
	if point.GoodputRPS == nil || highest <= 0 || !point.Trusted {
		return ""
	}
	eighths := int(math.Round(*point.GoodputRPS / highest * curveBar * 8))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return bar
}

// remark says what a row is, or why it is not to be believed.
func (c *Curve) remark(point CurvePoint) string {
	switch {
	case point.ClientLimited:
		return "client-limited"
	case !point.Trusted:
		return point.Verdict
	}
	limit := c.Kind == LimitCurve && c.Limit != nil && point.Load == c.Limit.Holds
	knee := c.Knee != nil && point.Load == *c.Knee
	switch {
	case limit && knee:
		return " ◂ both"
	case limit:
		return " ◂ limit"
	case knee:
		return " ◂ knee"
	}
	return ""
}

func optionalNumber(v *float64) string {
	if v == nil {
		return "–"
	}
	return units.Number(*v)
}

func p99Cell(d *stats.Dist) string {
	if d == nil {
		return "–"
	}
	return units.Seconds(d.P99)
}

// limitText says what the largest load is that meets the objective, and how
// well that is known.
func (c *Curve) limitText() string {
	l := c.Limit
	if l == nil {
		for _, p := range c.Points {
			if !p.SearchPoint().NotOffered {
				return fmt.Sprintf("none: the objective was missed at every load, the smallest was %s %s", units.Number(p.Load), c.unit())
			}
		}
		return "unknown: nothing was measured"
	}
	switch {
	case l.AtLeast:
		return fmt.Sprintf("at least %s %s: the objective was met at every load", units.Number(l.Load), c.unit())
	case l.NotOffered:
		return fmt.Sprintf("at least %s %s: %s could not be offered (%s)", units.Number(l.Holds), c.unit(), units.Number(*l.Misses), c.verdictAt(*l.Misses))
	case l.Bracket:
		return fmt.Sprintf("between %s and %s %s: %s met the objective, %s missed it, one of them measured only once",
			units.Number(l.Low), units.Number(l.High), c.unit(), units.Number(l.Holds), units.Number(*l.Misses))
	}
	return fmt.Sprintf("%s %s (95 %% interval %s to %s); %s met the objective, %s missed it",
		units.Number(l.Load), c.unit(), units.Number(l.Low), units.Number(l.High), units.Number(l.Holds), units.Number(*l.Misses))
}

// verdictAt is what came of the last run at a load.
func (c *Curve) verdictAt(load float64) (verdict string) {
	for _, p := range c.Points {
		if p.Load == load {
			verdict = p.Verdict
		}
	}
	return verdict
}

func (c *Curve) kneeText() string {
	if c.Knee == nil {
		return "not reached: completed requests per second ÷ their mean time still grows at the last load, or there are fewer than three"
	}
	return fmt.Sprintf("%s %s: the most completed requests per second ÷ mean time; beyond it more load adds less throughput than waiting, in proportion", units.Number(*c.Knee), c.unit())
}

// CurveTable is a curve for spreadsheets: a row per run, absent values empty.
func CurveTable(c *Curve) Table {
	t := Table{Header: []string{string(c.Axis), "requests", "ok", "failed_share", "offered_rps", "completed_rps", "output_tokens_per_s",
		"ttft_p50_s", "ttft_p99_s", "tpot_p50_s", "tpot_p99_s", "e2e_p50_s", "e2e_p99_s", "attainment", "target", "holds", "goodput_rps",
		"usd_per_1m_output_tokens", "trusted", "verdict", "run"}}
	percentiles := func(d *stats.Dist) []string {
		if d == nil {
			return []string{"", ""}
		}
		return []string{number(d.P50), number(d.P99)}
	}
	optional := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%g", *v)
	}
	for _, p := range c.Points {
		row := []string{number(p.Load), fmt.Sprint(p.Requests), fmt.Sprint(p.OK), optional(p.FailedShare), optional(p.OfferedRPS),
			optional(p.CompletedRPS), optional(p.OutputTokensPerS)}
		for _, d := range []*stats.Dist{p.TTFT, p.TPOT, p.E2E} {
			row = append(row, percentiles(d)...)
		}
		t.Rows = append(t.Rows, append(row, optional(p.Attainment), number(p.TargetShare), fmt.Sprint(p.Holds), optional(p.GoodputRPS),
			optional(p.USDPer1MOutput), fmt.Sprint(p.Trusted), p.Verdict, p.Run))
	}
	return t
}

// WriteCurveMarkdown writes a curve for a document.
func WriteCurveMarkdown(w io.Writer, c *Curve) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s of %s\n\n%s\n\n", c.Kind, inCell.Replace(c.Target.Model), inCell.Replace(c.Asked))
	t := newPage(TextOptions{}).curveTable(c)
	t.Header[len(t.Header)-1] = "note"
	t.writeMarkdown(&b)
	fmt.Fprintf(&b, "\nLimit: %s.\n\nKnee: %s.\n", c.limitText(), c.kneeText())
	_, err := io.WriteString(w, b.String())
	return err
}

// CurveLine is a point in one line, for progress that is not drawn.
func CurveLine(c *Curve, p CurvePoint) string {
	attained := "no objective"
	if p.Attainment != nil {
		attained = percent(*p.Attainment) + " attained, target " + percent(p.TargetShare)
	}
	return fmt.Sprintf("%s %s: %s, goodput %s/s, ttft p99 %s%s", units.Number(p.Load), c.unit(), attained, optionalNumber(p.GoodputRPS), p99Cell(p.TTFT), strings.TrimRight(" "+strings.TrimSpace(c.remark(p)), " "))
}
