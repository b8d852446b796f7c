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
	title := titleStyle.Render(cmp.Or(record.Printable(l.Title), "llmctl"))
	state := cmp.Or(l.Phase, "starting") + "  " + clock(l.Elapsed)
	share, left, ok := m.progress()
	if ok && l.Phase != record.Draining { // which has no end to be compared with
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
	return append([]string{
		title + strings.Repeat(" ", max(gap, 1)) + state,
		doneStyle.Render(strings.Repeat("━", done)) + faintStyle.Render(strings.Repeat("─", max(m.width-done, 0))),
	}, m.curve()...)
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
	keys := "q ends the run and prints the report"
	if m.stopping {
		keys = warnStyle.Render("ending the run; q again aborts")
	}
	lines := []string{"", label("requests") + counts, label("errors") + errors}
	if !l.ClosedLoop {
		lines = append(lines, label("lag")+lag(l))
	}
	return append(lines, faintStyle.Render(keys))
}

// lag is how late the client itself is against an open loop's schedule.
func lag(l record.Live) string {
	text := "–"
	if l.Lag.N > 0 {
		text = fmt.Sprintf("%s p99 over the %s", units.Duration(l.Lag.P99), lastSpan)
	}
	if l.Dropped > 0 {
		text += warnStyle.Render("  dropped: the client was at its cap, or too late")
	}
	return text
}

// lastSpan names the time that percentiles are taken over.
var lastSpan = fmt.Sprintf("last %.0f s", record.LiveSpan.Seconds())

func label(s string) string { return faintStyle.Render(fmt.Sprintf("%-10s", s)) }

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
