package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
)

const (
	twoColumns   = 100 // terminal width from which panels stand side by side
	threeColumns = 160
	gutter       = 3
	maxRows      = 10 // of one chart
)

// frame is the whole screen, exactly height lines of at most width columns.
func (m model) frame() string {
	head, foot := m.header(), m.footer()
	body := m.body(max(m.height-len(head)-len(foot), 0))
	lines := slices.Concat(head, body, foot)
	lines = lines[:min(len(lines), m.height)]
	for i, line := range lines {
		lines[i] = ansi.Truncate(strings.TrimRight(line, " "), m.width, "…")
	}
	return strings.Join(lines, "\n")
}

// header is the title, the phase and the progress bar.
func (m model) header() []string {
	l := m.live
	title := titleStyle.Render(cmp.Or(l.Title, "llmctl"))
	state := cmp.Or(l.Phase, "starting") + "  " + clock(l.Elapsed)
	share, left, ok := m.progress()
	if ok {
		if l.Total > 0 {
			state += " of " + clock(l.Total)
		}
		state += ", " + clock(left) + " left"
	}
	gap := m.width - ansi.StringWidth(title) - ansi.StringWidth(state)
	if gap < 2 {
		title = ansi.Truncate(title, max(m.width-ansi.StringWidth(state)-2, 0), "…")
		gap = m.width - ansi.StringWidth(title) - ansi.StringWidth(state)
	}
	done := int(math.Round(share * float64(m.width)))
	return []string{
		title + strings.Repeat(" ", max(gap, 1)) + state,
		doneStyle.Render(strings.Repeat("━", done)) + faintStyle.Render(strings.Repeat("─", max(m.width-done, 0))),
	}
}

// footer is the counts, the errors, the client's own lateness, and the keys.
func (m model) footer() []string {
	l := m.live
	counts := fmt.Sprintf("%s sent  %s  %s in flight", units.Count(int64(l.Sent)), goodStyle.Render(units.Count(int64(l.OK))+" ok"), units.Count(int64(l.InFlight)))
	for _, other := range []struct {
		n    int
		name string
	}{{l.Failed, "failed"}, {l.Dropped, "dropped"}, {l.Cancelled, "cancelled"}} {
		if other.n > 0 {
			counts += "  " + badStyle.Render(units.Count(int64(other.n))+" "+other.name)
		}
	}
	errors := faintStyle.Render("none")
	if len(l.Failures) > 0 {
		errors = badStyle.Render(record.ListFailures(l.Failures, 8))
	}
	lag := units.Duration(l.LagP99) + " p99"
	if l.Dropped > 0 {
		lag += warnStyle.Render("  the client is at its cap")
	}
	keys := "q ends the run and prints the report"
	if m.stopping {
		keys = warnStyle.Render("ending the run; q again aborts")
	}
	return []string{
		"",
		label("requests") + counts,
		label("errors") + errors,
		label("lag") + lag,
		faintStyle.Render(keys),
	}
}

func label(s string) string { return faintStyle.Render(fmt.Sprintf("%-10s", s)) }

// chart is one metric of a panel.
type chart struct {
	name   string
	series *series
	text   func(float64) string
}

// panels are the three groups of charts.
func (m *model) panels() [][]chart {
	c := &m.charts
	percent := func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }
	return [][]chart{
		{{"offered/s", &c.offered, units.Number}, {"completed/s", &c.completed, units.Number}, {"tokens/s", &c.tokens, units.Number}, {"in flight", &c.inFlight, units.Number}},
		{{"ttft p50", &c.ttft50, units.Seconds}, {"ttft p99", &c.ttft99, units.Seconds}, {"tpot p50", &c.tpot50, units.Seconds}, {"tpot p99", &c.tpot99, units.Seconds}},
		{{"queue", &c.queue, units.Number}, {"running", &c.running, units.Number}, {"KV usage", &c.kv, percent}},
	}
}

// body is the panels, in one to three columns, exactly height lines.
func (m model) body(height int) []string {
	panels := m.panels()
	var columns [][][]chart
	switch {
	case m.width >= threeColumns:
		columns = [][][]chart{{panels[0]}, {panels[1]}, {panels[2]}}
	case m.width >= twoColumns:
		columns = [][][]chart{{panels[0], panels[2]}, {panels[1]}}
	default:
		columns = [][][]chart{panels}
	}
	width := (m.width - gutter*(len(columns)-1)) / len(columns)
	lines := make([]string, height)
	for i, column := range columns {
		cells := drawColumn(column, width, height)
		for row := range lines {
			cell := ""
			if row < len(cells) {
				cell = cells[row]
			}
			lines[row] += cell
			if i < len(columns)-1 {
				lines[row] += strings.Repeat(" ", max(width-ansi.StringWidth(cell), 0)+gutter)
			}
		}
	}
	return lines
}

// drawColumn draws panels one below the other, a blank line before each, its
// charts as high as the height allows.
func drawColumn(panels [][]chart, width, height int) []string {
	n := 0
	for _, p := range panels {
		n += len(p)
	}
	rows := min(max((height-len(panels))/n, 1), maxRows)
	var lines []string
	for _, panel := range panels {
		lines = append(lines, "")
		for _, c := range panel {
			lines = append(lines, c.draw(width, rows)...)
		}
	}
	return lines
}

// draw draws one chart: name and value beside the columns when it has one row,
// above them when it has more.
func (c chart) draw(width, rows int) []string {
	value := "–"
	if c.series.per > 0 && !math.IsNaN(c.series.last) {
		value = c.text(c.series.last)
	}
	head := faintStyle.Render(fmt.Sprintf("%-12s", c.name)) + fmt.Sprintf("%10s", value)
	if rows == 1 {
		return []string{head + "  " + chartStyle.Render(c.series.draw(max(width-24, 1), 1)[0])}
	}
	if c.series.per > 0 && !math.IsInf(c.series.high, -1) {
		highest := "max " + c.text(c.series.high)
		if gap := width - ansi.StringWidth(head) - ansi.StringWidth(highest); gap > 1 {
			head += strings.Repeat(" ", gap) + faintStyle.Render(highest)
		}
	}
	lines := []string{head}
	for _, line := range c.series.draw(width, rows-1) {
		lines = append(lines, chartStyle.Render(line))
	}
	return lines
}

// clock writes a duration in whole seconds: 12 s, 3m20s.
func clock(d time.Duration) string {
	if d = d.Round(time.Second); d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return d.String()
}
