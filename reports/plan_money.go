package reports

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// writeBill writes what the fleet costs, and whose price that rests on.
func writeBill(b *strings.Builder, p *sizing.Plan) {
	f, in := p.Fleet, p.Inputs
	if f.USDPerHour == 0 {
		return
	}
	paragraph(b, "  ", fmt.Sprintf("$%s per hour, $%s per month, $%s per request", money(f.USDPerHour), money(f.USDPerMonth), money(f.USDPerRequest)))
	paragraph(b, "  ", fmt.Sprintf("$%s per 1M output tokens, $%s per 1M input, $%s per 1M in and out: the whole bill each",
		money(f.USDPer1MOut), money(f.USDPer1MIn), money(f.USDPer1M)))
	source := in.PriceSource
	if in.PriceDate != "" {
		source += ", " + in.PriceDate
	}
	paragraph(b, "  ", fmt.Sprintf("at $%s per accelerator and hour (%s)", money(in.USDPerAcceleratorHour), source))
}

// writeDay draws the load of a day and writes what it means for the fleet.
func writeDay(b *strings.Builder, p *sizing.Plan) {
	d := p.Day
	if d == nil {
		return
	}
	fmt.Fprintf(b, "\nA day of load (%s): share of the fleet's largest rate\n", shortName(d.Profile, 20))
	writeDayChart(b, d)
	paragraph(b, "  ", fmt.Sprintf("Mean %s requests/s, %s a day; the fixed fleet is used to %.0f%% on average.",
		units.Number(d.MeanRPS), units.Number(d.RequestsPerDay), d.MeanUtilization*100))
	t := Table{Indent: 2, Header: []string{"", "replicas", "$/month", "$/1M out", "$/1M in", "$/1M all"},
		Right: []bool{false, true, true, true, true, true}}
	row := func(name, replicas string, c sizing.DayCost) {
		cells := []string{name, replicas}
		if c.USDPerDay > 0 {
			cells = []string{name, replicas, money(c.USDPerMonth), money(c.USDPer1MOut), money(c.USDPer1MIn), money(c.USDPer1M)}
		}
		t.Rows = append(t.Rows, cells)
	}
	row("fixed", units.Count(int64(p.Fleet.Replicas)), d.Fixed)
	row("autoscaled at best", units.Number(float64(d.ReplicaHours)/24)+" mean", d.Autoscaled)
	writeTable(b, t)
}

// shortName keeps a long name, of a file say, from breaking the layout.
func shortName(name string, most int) string {
	if r := []rune(name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return name
}

// The chart of a day: hourWidth columns an hour beside a label of labelColumns.
const (
	chartHeight  = 5
	hourWidth    = 3
	labelColumns = 6
)

// writeDayChart draws one bar per hour, and below it the replicas that the hour
// needs. The top of the chart is 100%, or the busiest hour when that is more.
func writeDayChart(b *strings.Builder, d *sizing.Day) {
	top := 1.0
	for _, h := range d.Hours {
		top = max(top, h.Utilization)
	}
	for row := chartHeight - 1; row >= 0; row-- {
		line := fmt.Sprintf("  %3.0f%% ", top*100*float64(row+1)/chartHeight)
		for _, h := range d.Hours {
			filled := int(float64(h.Utilization/top*chartHeight*8)+0.5) - row*8
			if h.RPS > 0 && row == 0 {
				filled = max(1, filled) // a load that is there is seen
			}
			line += strings.Repeat(string(eighths[max(0, min(8, filled))]), hourWidth-1) + " "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	hours, replicas := "  hour ", "  need "
	every := 1 // as many replicas as have room
	for _, h := range d.Hours {
		for len(units.Count(int64(h.Replicas))) >= every*hourWidth {
			every++
		}
	}
	for i, h := range d.Hours {
		hours += fmt.Sprintf("%-*s", hourWidth, fmt.Sprintf("%02d", h.Hour))
		if i%every == 0 {
			replicas += fmt.Sprintf("%-*s", every*hourWidth, units.Count(int64(h.Replicas)))
		}
	}
	b.WriteString(strings.TrimRight(hours, " ") + "\n")
	b.WriteString(strings.TrimRight(replicas, " ") + "\n")
}

// writeAPI writes what a hosted API takes for the same traffic.
func writeAPI(b *strings.Builder, p *sizing.Plan) {
	a, f := p.API, p.Fleet
	if a == nil {
		return
	}
	b.WriteString("\n")
	paragraph(b, "", fmt.Sprintf("The same traffic by API ($%s in, $%s cached, $%s out per 1M tokens)", money(a.USDPer1MIn), money(a.USDPer1MCached), money(a.USDPer1MOut)))
	t := Table{Indent: 2, Header: []string{"", "$/request", "$/month", "of the fleet's"}, Right: []bool{false, true, true, true}}
	row := func(name string, perRequest, perMonth float64) {
		share := ""
		if f.USDPerMonth > 0 {
			share = fmt.Sprintf("%.0f%%", perMonth/f.USDPerMonth*100)
		}
		t.Rows = append(t.Rows, []string{name, money(perRequest), money(perMonth), share})
	}
	requests := a.USDPerMonth / a.USDPerRequest
	if f.USDPerMonth > 0 {
		row("fleet alone", f.USDPerMonth/requests, f.USDPerMonth)
	}
	row("API alone", a.USDPerRequest, a.USDPerMonth)
	if u := a.Burst; u != nil && u.Replicas > 0 && u.APIShare > 0 {
		row(fmt.Sprintf("%s, the rest by API", count(u.Replicas, "replica")), u.USDPerMonth/requests, u.USDPerMonth)
	}
	writeTable(b, t)
	if f.USDPerMonth > 0 {
		paragraph(b, "  ", breakEven(a))
	}
	if u := a.Burst; u != nil {
		paragraph(b, "  ", burst(p, u))
	}
}

// breakEven words when which of the two is cheaper.
func breakEven(a *sizing.API) string {
	text := fmt.Sprintf("Break-even at %s/s, %.0f%% of the fleet's largest rate: below it the API is cheaper.", units.Of(a.BreakEvenRPS, "request"), a.BreakEvenUtilization*100)
	if a.BreakEvenUtilization > 1 {
		return text + " The fleet can not reach it."
	}
	return text
}

// burst words the cheapest way between the two.
func burst(p *sizing.Plan, u *sizing.Burst) string {
	switch {
	case u.Replicas == 0:
		return "No replica pays for itself: the cheapest is the API for everything."
	case u.APIShare == 0:
		return fmt.Sprintf("The cheapest is no API: %s carry the day.", count(u.Replicas, "replica"))
	}
	return fmt.Sprintf("Cheapest: a steady base of %s for up to %s requests/s, and the API for the %.1f%% of requests beyond. It saves $%s per month against the fleet of %s, $%s against the API alone.",
		count(u.Replicas, "replica"), units.Number(u.BaseRPS), u.APIShare*100, money(u.SavedSelf), units.Count(int64(p.Fleet.Replicas)), money(u.SavedAPI))
}
