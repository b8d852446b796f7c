package tui

import (
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
)

// curve is the sweep or the search so far, in two lines: the goodput of each load
// as a column, and the loads with what came of them. It is empty for a run on
// its own.
func (m model) curve() []string {
	l := m.live
	if l.Load == 0 {
		return nil
	}
	var goodput series
	var loads []string
	now := warnStyle.Render(units.Number(l.Load) + " …")
	pending := true
	for _, p := range l.Curve {
		if pending && p.Load >= l.Load {
			loads, pending = append(loads, now), false
		}
		goodput.push(p.Goodput)
		loads = append(loads, pointText(p))
	}
	if pending {
		loads = append(loads, now)
	}
	highest := math.Inf(-1)
	for _, p := range l.Curve {
		if p.Goodput > highest {
			highest = p.Goodput
		}
	}
	first := label("goodput") + faintStyle.Render("none yet")
	if !math.IsInf(highest, -1) {
		first = label("goodput") + chartStyle.Render(goodput.draw(max(m.width-30, 1), 1)[0]) + faintStyle.Render("  max "+units.Number(highest)+"/s")
	}
	return []string{first, label("load") + fitAround(loads, m.width-10)}
}

func pointText(p record.LivePoint) string {
	if p.Holds {
		return goodStyle.Render(units.Number(p.Load) + " ✓")
	}
	return badStyle.Render(units.Number(p.Load) + " ✗")
}

// fitAround joins loads with blanks, leaving out the smallest ones when they are
// too many for the width: the limit lies among the last.
func fitAround(loads []string, width int) string {
	for from := range loads {
		text := strings.Join(loads[from:], "  ")
		if from > 0 {
			text = "… " + text
		}
		if ansi.StringWidth(text) <= width {
			return text
		}
	}
	return ""
}
