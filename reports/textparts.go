package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/stats"
)

func (p *page) slo(r *Report) {
	s := r.SLO
	if s == nil {
		return
	}
	p.line("")
	text := "no request counts"
	if s.Attainment != nil {
		text = fmt.Sprintf("%s %s of %s good", p.mark(s.OK), percent(*s.Attainment), count(s.Counted, "request"))
		if len(s.Objectives) == 1 {
			text += ", target " + percent(s.Objectives[0].Target)
		}
		if s.GoodputRPS != nil {
			text += ", goodput " + units.Number(*s.GoodputRPS) + "/s"
		}
	}
	if s.Default {
		text += p.paint(faint, " (default, --slo)")
	}
	p.field("slo", text)
	t := Table{Indent: labelWidth, Right: []bool{false, false, false, true}}
	for _, c := range s.Clauses {
		share := ""
		if c.Share != nil {
			share = percent(*c.Share)
		}
		t.Rows = append(t.Rows, []string{p.mark(c.OK), c.Metric, "≤ " + units.Seconds(c.BoundS), share, c.Class})
	}
	t.WriteTo(&p.out) //nolint:errcheck // a buffer
}

// histograms draws each metric as one line of blocks, on a logarithmic scale
// from its minimum to its maximum.
func (p *page) histograms(r *Report) {
	rows := [][]string{}
	for _, m := range r.rows() {
		if b := r.Histograms[m.key]; b != nil && m.dist.N > 1 && m.dist.Max > m.dist.Min {
			rows = append(rows, []string{fmt.Sprintf("%-*s", labelWidth-2, m.name), units.Seconds(b.Min), blocks(b.Counts), units.Seconds(b.Max)})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.line("")
	Table{Rows: rows, Right: []bool{false, true}}.WriteTo(&p.out) //nolint:errcheck // a buffer
}

// eighths are the block characters from empty to full.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// blocks draws counts as columns; a count that is not 0 is never blank.
func blocks(counts []int) string {
	highest := max(slices.Max(counts), 1)
	var b strings.Builder
	for _, n := range counts {
		level := n * (len(eighths) - 1) / highest
		if n > 0 {
			level = max(level, 1)
		}
		b.WriteRune(eighths[level])
	}
	return b.String()
}

// target is what is known about the other side: cache, queue, money.
func (p *page) target(r *Report) {
	p.line("")
	if c := r.PrefixCache; c != nil {
		text := percent(c.HitRate) + " of prompt tokens from the prefix cache"
		if r.Kind != Simulate {
			text += ", by " + map[string]string{"usage": "usage", "server": "the server's counters"}[c.Source]
		}
		p.field("cache", text)
	}
	p.server(r.Server)
	p.gateway(r.Gateway)
	p.bottleneck(r.Bottleneck)
	p.gpus(r)
	if r.Cost != nil {
		p.cost(r.Cost, r.Timeline.changes())
	}
}

// cost is what tokens cost; of a cluster that changes, the hour is the mean one of the
// window.
func (p *page) cost(c *Cost, changes bool) {
	parts := []string{"$" + dollars(c.USDPerHour) + " per hour"}
	if changes {
		parts[0] += " on average"
	}
	if c.USDPer1MOutput != nil {
		text := "$" + dollars(*c.USDPer1MOutput) + " per 1M output tokens"
		if c.USDPer1MOutputGoodput != nil {
			text += " ($" + dollars(*c.USDPer1MOutputGoodput) + " within the SLO)"
		}
		parts = append(parts, text)
	}
	if c.USDPer1MTotal != nil {
		parts = append(parts, "$"+dollars(*c.USDPer1MTotal)+" per 1M in all")
	}
	p.field("cost", list(parts, ", "))
}

// dollars writes an amount with two decimals, or three digits below a dollar.
func dollars(v float64) string {
	if v >= 1 || v <= 0 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 2-int(math.Floor(math.Log10(v))), 64)
}

func (p *page) client(r *Report) {
	c := r.Client
	var parts []string
	if c.CPUFraction != nil {
		parts = append(parts, "CPU "+percent(*c.CPUFraction))
	}
	if c.LagLimitS != nil && r.Lag != nil { // a simulation's client is never late
		parts = append(parts, fmt.Sprintf("lag p99 %s (limit %s)", units.Seconds(r.Lag.P99), units.Seconds(*c.LagLimitS)))
	}
	if c.GCPauseP99S != nil && *c.GCPauseP99S > 0 {
		parts = append(parts, "GC pause p99 "+units.Seconds(*c.GCPauseP99S))
	}
	if len(parts) == 0 {
		return
	}
	trusted := !c.Limited
	p.field("client", p.mark(&trusted)+" "+list(parts, ", "))
}

func (p *page) asserts(r *Report) {
	label := "asserts"
	for _, a := range r.Asserts {
		text := a.Text + ": " + a.Reason
		if a.Value != nil {
			text = a.Text + p.paint(faint, " measured "+a.measured())
		}
		p.field(label, p.mark(&a.OK)+" "+text)
		label = ""
	}
}

// measured is the value of an assertion in the unit of its metric.
func (a AssertResult) measured() string {
	parsed, err := ParseAssert(a.Text)
	if err != nil || a.Value == nil {
		return ""
	}
	switch parsed.kind {
	case timeValue:
		return units.Seconds(*a.Value)
	case shareValue:
		return percent(*a.Value)
	case rateValue:
		return units.Number(*a.Value) + "/s"
	case moneyValue:
		return "$" + dollars(*a.Value)
	default:
		return units.Number(*a.Value)
	}
}

func (p *page) warnings(r *Report) {
	label := "warnings"
	for _, w := range r.Warnings {
		p.field(label, p.paint(yellow, "!")+" "+w.Text)
		label = ""
	}
}

// percentileOf reads one named percentile of a distribution, nil without one.
func percentileOf(d *stats.Dist, pick func(*stats.Dist) float64) *float64 {
	if d == nil {
		return nil
	}
	v := pick(d)
	return &v
}
