package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/internal/units"
)

const (
	twoColumns   = 100 // terminal width from which panels stand side by side
	threeColumns = 160
	gutter       = 3
)

// chart is one metric of a panel.
type chart struct {
	name   string
	series *series
	text   func(float64) string
}

// panel is a group of charts under a title.
type panel struct {
	title  string
	charts []chart
}

// panels are the three groups of charts.
func (m *model) panels() (traffic, latency, server panel) {
	c := &m.charts
	percent := func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }
	traffic = panel{"last second", []chart{{"offered/s", &c.offered, units.Number}, {"completed/s", &c.completed, units.Number}, {"tokens/s", &c.tokens, units.Number}, {"in flight", &c.inFlight, units.Number}}}
	if m.live.ClosedLoop {
		traffic.charts = traffic.charts[1:]
	}
	latency = panel{lastSpan, []chart{{"ttft p50", &c.ttft50, units.Seconds}, {"ttft p99", &c.ttft99, units.Seconds}, {"tpot p50", &c.tpot50, units.Seconds}, {"tpot p99", &c.tpot99, units.Seconds}}}
	server = panel{"server", []chart{{"queue", &c.queue, units.Number}, {"running", &c.running, units.Number}, {"KV usage", &c.kv, percent}}}
	return traffic, latency, server
}

// bands places the panels: those of a band stand side by side.
func (m *model) bands() [][]panel {
	traffic, latency, server := m.panels()
	switch {
	case m.width >= threeColumns:
		return [][]panel{{traffic, latency, server}}
	case m.width >= twoColumns:
		// The server's charts are shared out, so that both columns are as high.
		half := (len(server.charts) + 1) / 2
		rest := panel{"", server.charts[half:]}
		server.charts = server.charts[:half]
		return [][]panel{{traffic, latency}, {server, rest}}
	default:
		return [][]panel{{traffic}, {latency}, {server}}
	}
}

// body is the panels, in one to three columns, exactly height lines. Charts that
// stand side by side begin and end on the same lines, and are as high as the
// height allows.
func (m model) body(height int) []string {
	bands := m.bands()
	slots := 0 // charts one below the other
	for _, band := range bands {
		slots += tallest(band)
	}
	free := max(height-len(bands), slots)
	columns := len(bands[0])
	width := (m.width - gutter*(columns-1)) / columns
	var lines []string
	slot := 0
	for _, band := range bands {
		titles := make([][]string, len(band))
		for i, p := range band {
			if p.title != "" {
				titles[i] = []string{faintStyle.Render(p.title)}
			}
		}
		lines = append(lines, beside(titles, width, 1)...)
		for i := range tallest(band) {
			rows := free / slots
			if rows > 1 && slot < free%slots { // one line more for the first ones, but no mix of two layouts
				rows++
			}
			slot++
			cells := make([][]string, len(band))
			for k, p := range band {
				if i < len(p.charts) {
					cells[k] = p.charts[i].draw(width, rows)
				}
			}
			lines = append(lines, beside(cells, width, rows)...)
		}
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:height]
}

// tallest is the number of charts of the longest panel of a band.
func tallest(band []panel) (n int) {
	for _, p := range band {
		n = max(n, len(p.charts))
	}
	return n
}

// beside puts cells of the given size side by side.
func beside(cells [][]string, width, height int) []string {
	lines := make([]string, height)
	for i, cell := range cells {
		for row := range lines {
			text := ""
			if row < len(cell) {
				text = cell[row]
			}
			lines[row] += text
			if i < len(cells)-1 {
				lines[row] += strings.Repeat(" ", max(width-ansi.StringWidth(text), 0)+gutter)
			}
		}
	}
	return lines
}
