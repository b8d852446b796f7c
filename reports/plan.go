package reports

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// planWidth is the widest line of a plan in columns.
const planWidth = 80

// WritePlan writes a plan for a person: the answer first, then what it rests
// on. With explain, the derivation of each number follows, fit to be read aloud.
func WritePlan(w io.Writer, p *sizing.Plan, explain bool) error {
	var b strings.Builder
	writeAnswer(&b, p)
	sections := []func(*strings.Builder, *sizing.Plan){writeDay, writeAPI, writeMemory, writePerformance, writePools, writeAssumptions, writePlanWarnings}
	if explain {
		sections = append(sections, writeDerivation)
	}
	for _, section := range sections {
		section(&b, p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeAnswer writes the headline: what to buy and what it costs, or why not.
func writeAnswer(b *strings.Builder, p *sizing.Plan) {
	in := p.Inputs
	what := fmt.Sprintf("%s on %s with %s", in.Model, in.Accelerator, in.Engine)
	switch {
	case in.RPS > 0:
		what += fmt.Sprintf(", %s/s of %s", units.Of(in.RPS, "request"), in.Workload)
	case in.Concurrency > 0:
		what += fmt.Sprintf(", %s of %s in flight", count(in.Concurrency, "request"), in.Workload)
	}
	paragraph(b, "", what)
	if !p.Feasible {
		b.WriteString("\nNo feasible plan:\n")
		for _, reason := range p.Reasons {
			paragraph(b, "  - ", reason)
		}
		writeAlternatives(b, p.Alternatives)
		return
	}
	writeRelaxed(b, in.SLO)
	f := p.Fleet
	per := f.Accelerators / f.Replicas
	b.WriteString("\n")
	paragraph(b, "  ", fmt.Sprintf("%s × %s: %s of %s, at %.0f%% of the largest rate",
		units.Count(int64(f.Accelerators)), in.Accelerator, count(f.Replicas, "replica"), count(per, "accelerator"), f.Utilization*100))
	if r := f.ReplicaRange; r != nil {
		paragraph(b, "  ", replicaRange(r))
	}
	if f.Spare > 0 {
		paragraph(b, "  ", fmt.Sprintf("%s may fail: the other %s then run at %.0f%%",
			units.Count(int64(f.Spare)), units.Count(int64(f.Needed)), f.UtilizationWithFailures*100))
	}
	writeBill(b, p)
}

// writeRelaxed says above the numbers that they are not for the default objective.
func writeRelaxed(b *strings.Builder, slo sizing.SLO) {
	if len(slo.Relaxed) == 0 {
		return
	}
	b.WriteString("\n")
	for _, r := range slo.Relaxed {
		paragraph(b, "  ", fmt.Sprintf("The default %s of %s can't be met by a lone request (%s at p%g): planned for %s instead; --slo sets yours.",
			r.Name, units.Seconds(r.Default), units.Seconds(r.Lone), slo.Attainment*100, units.Seconds(r.Planned)))
	}
}

// writeAlternatives writes the commands of the smallest changes, to be copied.
func writeAlternatives(b *strings.Builder, alternatives []sizing.Alternative) {
	if len(alternatives) == 0 {
		return
	}
	b.WriteString("\nTry\n")
	for _, a := range alternatives[:min(3, len(alternatives))] {
		writeCommand(b, a.Wrapped(planWidth-2))
	}
}

// writeCommand writes a command of one or more lines, to be copied.
func writeCommand(b *strings.Builder, command string) {
	for line := range strings.Lines(command + "\n") {
		b.WriteString("  " + line)
	}
}

// writeMemory writes the budget of one accelerator and what fits into it.
func writeMemory(b *strings.Builder, p *sizing.Plan) {
	m, in := p.Memory, p.Inputs
	fmt.Fprintf(b, "\nMemory of one accelerator (%s)\n", overAccelerators(in))
	t := Table{Indent: 2, Right: []bool{false, true}}
	row := func(name string, bytes int64, note string) {
		if bytes != 0 {
			t.Rows = append(t.Rows, []string{name, units.Bytes(bytes), note})
		}
	}
	row("memory", m.TotalBytes, "")
	if !m.Given {
		row("× utilization", int64(float64(m.TotalBytes)*in.GPUMemoryUtilization), fmt.Sprintf("%.2f", in.GPUMemoryUtilization))
	}
	row("− weights", m.WeightsBytes, fmt.Sprintf("%s parameters in %s", billions(p.Model.Parameters), in.WeightDType))
	row("− activation", m.ActivationBytes, "")
	row("− non-torch", m.NonTorchBytes, "")
	if !m.GraphsOutside {
		row("− CUDA graphs", m.CUDAGraphBytes, "")
	}
	row("− reserve", m.ReserveBytes, "")
	note := fmt.Sprintf("%s blocks of %d, %s tokens", units.Count(m.KVCacheBlocks), in.BlockSize, units.Count(m.KVCacheTokens))
	switch {
	case m.Given:
		note += ", as given"
	case m.MissingBytes > 0:
		note = "missing"
	}
	row("= KV pool", m.KVCacheBytes-m.MissingBytes, note)
	writeRange(row, m)
	if m.GraphsOutside {
		row("CUDA graphs", m.CUDAGraphBytes, "beside the budget, in this version of the engine")
	}
	row("KV of one token", p.Model.KVBytesPerToken, in.KVDType+", all accelerators of a replica")
	row("KV of one request", p.Model.KVBytesOfLongestRequest, fmt.Sprintf("of %s tokens, the longest", units.Count(int64(in.MaxModelLen))))
	writeTable(b, t)
	if m.KVCacheBlocks > 0 {
		paragraph(b, "  ", fmt.Sprintf("At once: %s of the longest kind, or %s of the workload on average (%s in, %s out, %.0f%% prefix hits).",
			howMany(m.MaxConcurrency, "request"), units.Number(m.MixSequences), howMany(in.InputTokens, "token"), units.Number(in.OutputTokens), in.PrefixHitRate*100))
	}
}

// howMany is a number of things, one of which has no s.
func howMany(v float64, thing string) string {
	text := units.Number(v)
	if text == "1" {
		return text + " " + thing
	}
	return text + " " + thing + "s"
}

// writeRange writes what the pool may be instead, where that matters.
func writeRange(row func(name string, bytes int64, note string), m sizing.Memory) {
	if !m.NearEdge() {
		return
	}
	holds := func(tokens int64, requests float64) string {
		return fmt.Sprintf("%s tokens, %s of the longest requests", units.Count(tokens), units.Number(requests))
	}
	row("  or as low as", m.BytesLow, holds(m.TokensLow, m.ConcurrencyLow))
	row("  or as high as", m.BytesHigh, holds(m.TokensHigh, m.ConcurrencyHigh))
}

// overAccelerators words how a replica lies over accelerators.
func overAccelerators(in sizing.Inputs) string {
	text := fmt.Sprintf("TP %d, PP %d", in.TensorParallel, in.PipelineParallel)
	if in.ExpertParallel > 1 {
		text += fmt.Sprintf(", EP %d", in.ExpertParallel)
	}
	if in.DataParallel > 1 {
		text += fmt.Sprintf(", DP %d", in.DataParallel)
	}
	return text
}

// writePerformance writes the times of one replica, and how far to trust them.
func writePerformance(b *strings.Builder, p *sizing.Plan) {
	q := p.Performance
	if q == nil {
		return
	}
	fmt.Fprintf(b, "\nOne replica at %s/s (largest: %s, stopped by: %s)\n", units.Of(q.RPS, "request"), units.Number(q.MaxRPS), q.Bound)
	t := Table{Indent: 2, Header: []string{"", "mean", "80% within", "p50", "p99", "objective"}, Right: []bool{false, true, true, true, true, true}}
	for _, r := range []struct {
		name  string
		times sizing.Quantiles
		off   sizing.Interval
		bound float64
	}{{"TTFT", q.TTFT, q.Error.TTFT.Interval, p.Inputs.SLO.TTFT}, {"TPOT", q.TPOT, q.Error.Interval, p.Inputs.SLO.TPOT}, {"E2E", q.E2E, q.Error.E2E, p.Inputs.SLO.E2E}} {
		bound := ""
		if r.bound > 0 {
			bound = fmt.Sprintf("p%g ≤ %s", p.Inputs.SLO.Attainment*100, units.Seconds(r.bound))
			if missed(r.times, r.bound, p.Inputs.SLO.Attainment) {
				bound += " ✗"
			}
		}
		t.Rows = append(t.Rows, []string{r.name, units.Seconds(r.times.Mean), within(r.times.Mean, r.off), units.Seconds(r.times.P50), units.Seconds(r.times.P99), bound})
	}
	writeTable(b, t)
	paragraph(b, "  ", fmt.Sprintf("Batch %s, prefill %s tokens/s, output %s tokens/s. A decode step reaches %.0f%% of its roofline limit; most of it is %s.",
		units.Number(q.Batch), units.Number(q.PrefillTokensPS), units.Number(q.OutputTokensPS), q.RooflineFraction*100, q.DominantTerm))
	paragraph(b, "  ", trust(p))
}

// trust words how far off the times may be, and what that was measured on.
func trust(p *sizing.Plan) string {
	e := p.Performance.Error
	text := "Times are a forecast. "
	if what := e.Unmeasured(p.Inputs); what != "" {
		text += fmt.Sprintf("Too few runs of %s were measured. ", what)
	}
	text += fmt.Sprintf("On %s, TPOT is off by %.0f%% in the middle, and 80%% of them lie within ×%.2f to ×%.2f of it", e.HeldOut(), e.Relative*100, e.Low, e.High)
	on := ""
	if e.TTFT.Basis != e.Basis {
		on = ", on " + e.TTFT.HeldOut()
	}
	return text + fmt.Sprintf("; TTFT by %.0f%%, within ×%.2f to ×%.2f%s.", e.TTFT.Relative*100, e.TTFT.Low, e.TTFT.High, on)
}

// replicaRange words what the forecast's error does to the number of replicas.
func replicaRange(r *sizing.ReplicaRange) string {
	if r.High == 0 {
		return fmt.Sprintf("%s replicas at the fast end of the forecast's 80%%; at the slow end no number meets the objective", units.Count(int64(r.Low)))
	}
	return fmt.Sprintf("%s to %s replicas within the forecast's 80%%", units.Count(int64(r.Low)), units.Count(int64(r.High)))
}

// missed reports whether the quantiles that are shown rule out that a bound holds
// for a share of requests.
func missed(times sizing.Quantiles, bound, attainment float64) bool {
	return attainment >= 0.99 && times.P99 > bound || attainment >= 0.5 && times.P50 > bound
}

// within is the interval about a mean in which 80 % of measured runs would lie.
func within(mean float64, e sizing.Interval) string {
	return units.Seconds(mean*e.Low) + "–" + units.Seconds(mean*e.High)
}

// writeAssumptions lists the defaults with the flags that change them.
func writeAssumptions(b *strings.Builder, p *sizing.Plan) {
	if len(p.Assumptions) == 0 {
		return
	}
	b.WriteString("\nAssumed; each flag changes what stands beside it\n")
	t := Table{Indent: 2}
	for _, a := range p.Assumptions {
		t.Rows = append(t.Rows, []string{a.Flag, a.Value})
	}
	writeTable(b, t)
}

func writePlanWarnings(b *strings.Builder, p *sizing.Plan) {
	if len(p.Warnings) == 0 {
		return
	}
	b.WriteString("\nWarnings\n")
	for _, w := range p.Warnings {
		paragraph(b, "  - ", w.Text)
	}
}

// quantity words a derived value: bytes both exactly and in a readable unit.
func quantity(v float64, unit string) string {
	switch unit {
	case "B":
		return fmt.Sprintf("%s B (%s)", units.Count(int64(v)), units.Bytes(int64(v)))
	case "s":
		return units.Seconds(v)
	case "$", "$/h":
		return "$" + money(v) + strings.TrimPrefix(unit, "$")
	case "":
		return fmt.Sprintf("%.3g", v)
	}
	return units.Number(v) + " " + unit
}

// paragraph writes text after a prefix, wrapped to the width of a plan, with
// further lines indented as far as the first.
func paragraph(b *strings.Builder, prefix, text string) {
	indent := ansi.StringWidth(prefix)
	var lines []string
	for _, line := range wrap(text, planWidth-indent) {
		if ansi.StringWidth(line) > planWidth-indent { // a word that is wider, such as a path
			line = ansi.Wrap(line, planWidth-indent, "/")
		}
		lines = append(lines, strings.Split(line, "\n")...)
	}
	for i, line := range lines {
		if i > 0 {
			prefix = strings.Repeat(" ", indent)
		}
		b.WriteString(strings.TrimRight(prefix+line, " ") + "\n")
	}
}

// WriteParagraph writes text after a prefix as a plan's paragraphs are, over lines
// of at most 80 columns.
func WriteParagraph(w io.Writer, prefix, text string) error {
	var b strings.Builder
	paragraph(&b, prefix, text)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTable writes to a builder, which never fails.
func writeTable(b *strings.Builder, t Table) { _, _ = t.WriteTo(b) }

// money writes whole dollars from 1,000, cents from a cent, and three significant
// digits below.
func money(v float64) string {
	switch {
	case v >= 1000:
		return units.Count(int64(v + 0.5))
	case v >= 0.01 || v <= 0:
		return fmt.Sprintf("%.2f", v)
	case v < 1e-4: // %g would write an exponent
		return strconv.FormatFloat(v, 'f', 2-int(math.Floor(math.Log10(v))), 64)
	}
	return fmt.Sprintf("%.3g", v)
}

func billions(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.3gM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.4gB", float64(n)/1e9)
}
