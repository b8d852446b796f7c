package sizing

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// dollarFigure is an amount that was computed: whole cents as they are, others
// as figure.
func dollarFigure(v float64) string {
	if v == math.Round(v*100)/100 {
		return dollars(v)
	}
	return "$" + figure(v)
}

// precise writes a number that another one like it is taken from, with nine
// significant digits.
func precise(v float64) string {
	if v == math.Trunc(v) {
		return figure(v)
	}
	return strconv.FormatFloat(v, 'f', max(1, 8-int(math.Floor(math.Log10(math.Abs(v))))), 64)
}

// money explains what the fleet costs, the day and the API.
func (d *derivations) money(s *situation, p *Plan, m mix) {
	f := p.Fleet
	if f.USDPerHour > 0 {
		d.bill(p)
	}
	if p.Day != nil {
		d.day(s, p)
	}
	if p.API != nil {
		d.api(p, m)
	}
	if p.API != nil && p.API.Burst != nil {
		d.burst(p)
	}
}

func (d *derivations) bill(p *Plan) {
	f, in := p.Fleet, p.Inputs
	source := in.PriceSource
	if in.PriceDate != "" {
		source += ", " + in.PriceDate
	}
	d.add("cost per hour", "accelerators × price", fmt.Sprintf("%d × %s", f.Accelerators, dollars(in.USDPerAcceleratorHour)), f.USDPerHour, "$/h", source)
	d.add("cost per month", "cost per hour × hours of a month", fmt.Sprintf("%s × %d", dollars(f.USDPerHour), HoursPerMonth), f.USDPerMonth, "$",
		"a twelfth of 365 days, as clouds bill it")
	d.add("cost per request", "cost per hour ÷ (rate × 3600 s)", fmt.Sprintf("%s ÷ (%s/s × 3600 s)", dollars(f.USDPerHour), figure(f.RPS)), f.USDPerRequest, "$",
		"at the planned load")
	d.perMillion("", p, f.USDPerHour, f.RPS, f.TokenPrices, "at the planned load; the whole bill divided by one kind of tokens, so that the three can not be added")
}

// perMillion explains the three prices of one bill.
func (d *derivations) perMillion(when string, p *Plan, usdPerHour, rate float64, prices TokenPrices, source string) {
	in := p.Inputs
	for _, c := range []struct {
		name   string
		tokens float64 // per request
		cost   float64
	}{
		{"input tokens", in.InputTokens, prices.USDPer1MIn}, {"output tokens", in.OutputTokens, prices.USDPer1MOut},
		{"tokens, in and out", in.InputTokens + in.OutputTokens, prices.USDPer1M},
	} {
		d.add("cost per 1M "+c.name+when, "whole cost per hour ÷ (rate × tokens of this kind × 3600 s) × 1,000,000",
			fmt.Sprintf("%s ÷ (%s/s × %s × 3600 s) × 1,000,000", dollarFigure(usdPerHour), figure(rate), figure(c.tokens)), c.cost, "$", source)
	}
}

// runs writes one term per run of equal hours: "7 × (term) + …".
func (p *Plan) runs(term func(Hour) string) string {
	var terms []string
	hours := p.Day.Hours
	for i := 0; i < len(hours); {
		n, like := 0, hours[i]
		for ; i < len(hours) && hours[i].RPS == like.RPS; i++ {
			n++
		}
		terms = append(terms, fmt.Sprintf("%d × %s", n, term(like)))
	}
	return strings.Join(terms, " + ")
}

func (d *derivations) day(s *situation, p *Plan) {
	f, day, in := p.Fleet, p.Day, p.Inputs
	largest := figure(p.Performance.MaxRPS)
	source := "--load-profile " + day.Profile
	d.add("mean rate of the day", "sum of the hours' rates ÷ 24", "("+p.runs(func(h Hour) string { return figure(h.RPS) + "/s" })+") ÷ 24", day.MeanRPS, "requests/s", source)
	d.add("mean utilization of the fixed fleet", "mean rate ÷ (replicas × largest rate)",
		fmt.Sprintf("%s/s ÷ (%d × %s/s)", figure(day.MeanRPS), f.Replicas, largest), day.MeanUtilization, "", "the planned fleet, all day")
	d.add("replica hours when autoscaled", "sum over the hours of ⌈rate ÷ (largest rate × target utilization)⌉, at least one, and the spare ones; at most the planned fleet",
		p.runs(func(h Hour) string {
			return fmt.Sprintf("min(%d, max(1, ⌈%s/s ÷ (%s/s × %s)⌉) + %d)", f.Replicas, figure(h.RPS), largest, setting(in.TargetUtilization), f.Spare)
		}), float64(day.ReplicaHours), "replicas", "the best that autoscaling can reach: replicas start in no time")
	if f.USDPerHour == 0 {
		return
	}
	d.add("cost per day, fixed fleet", "cost per hour × 24", dollars(f.USDPerHour)+" × 24", day.Fixed.USDPerDay, "$", source)
	d.add("cost per day, autoscaled", "replica hours × cost per hour of a replica",
		fmt.Sprintf("%d × %s ÷ %d", day.ReplicaHours, dollars(f.USDPerHour), f.Replicas), day.Autoscaled.USDPerDay, "$", source)
	d.perMillion(", mean of the day, fixed fleet", p, f.USDPerHour, day.MeanRPS, day.Fixed.TokenPrices, "at the mean rate of the day")
	d.perMillion(", mean of the day, autoscaled", p, day.Autoscaled.USDPerDay/24, day.MeanRPS, day.Autoscaled.TokenPrices, "at the mean rate of the day")
}

func (d *derivations) api(p *Plan, m mix) {
	a, f, rate := p.API, p.Fleet, p.Fleet.RPS
	source := "--api-price"
	if p.Day != nil {
		rate, source = p.Day.MeanRPS, source+", at the mean rate of the day"
	}
	d.add("API cost per request", "(uncached input × price + cached input × cached price + output × price) ÷ 1,000,000",
		fmt.Sprintf("((%s − %s) × %s + %s × %s + %s × %s) ÷ 1,000,000", figure(m.input), figure(m.cached), dollars(a.USDPer1MIn),
			figure(m.cached), dollars(a.USDPer1MCached), figure(m.output), dollars(a.USDPer1MOut)), a.USDPerRequest, "$", "--api-price; its cache is taken to hit as often as ours")
	d.add("API cost per month", "cost per request × rate × 3600 s × hours of a month",
		fmt.Sprintf("%s × %s/s × 3600 s × %d", dollarFigure(a.USDPerRequest), figure(rate), HoursPerMonth), a.USDPerMonth, "$", source)
	if f.USDPerHour == 0 {
		return
	}
	d.add("break-even rate", "cost per hour of the fleet ÷ (API cost per request × 3600 s)",
		fmt.Sprintf("%s ÷ (%s × 3600 s)", dollars(f.USDPerHour), dollarFigure(a.USDPerRequest)), a.BreakEvenRPS, "requests/s", "below it, the API is cheaper")
	d.add("break-even utilization", "break-even rate ÷ (replicas × largest rate)",
		fmt.Sprintf("%s/s ÷ (%d × %s/s)", figure(a.BreakEvenRPS), f.Replicas, figure(p.Performance.MaxRPS)), a.BreakEvenUtilization, "", "above 1, the fleet can never pay")
}

func (d *derivations) burst(p *Plan) {
	b, a, f := p.API.Burst, p.API, p.Fleet
	d.note("base replicas", "the number n of 0 to the planned fleet for which n × cost of a replica + API cost of the requests beyond n replicas is least",
		fmt.Sprintf("trying all %d", f.Replicas+1), float64(b.Replicas), "replicas", "--load-profile, --api-price")
	overflow := p.runs(func(h Hour) string { return fmt.Sprintf("max(0, %s/s − %s/s)", precise(h.RPS), precise(b.BaseRPS)) })
	d.add("requests a day beyond the base", "sum over the hours of max(0, rate − base replicas × largest rate × target utilization) × 3600 s",
		"("+overflow+") × 3600 s", p.Day.overflow(b.BaseRPS), "requests", "the rate within an hour is taken as steady")
	d.add("cost per day, base and burst", "base replicas × cost per hour of a replica × 24 + requests beyond × API cost per request",
		fmt.Sprintf("%d × %s ÷ %s × 24 + %s × %s", b.Replicas, dollars(f.USDPerHour), units.Count(int64(f.Replicas)),
			figure(p.Day.overflow(b.BaseRPS)), dollarFigure(a.USDPerRequest)), b.USDPerDay, "$", "a replica takes its planned rate, the API the rest")
}
