package accuracy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const preface = `# Accuracy of the simulator

How far simulations are from what was measured. ` + "`make accuracy-simulator`" + ` writes this
page from the runnable rows of sizing/accuracy/data/serving_measured.csv, each with its
public source, and simulates each as it was measured:

`

const explanation = `
An error is |simulated ÷ measured − 1|. The constants of the step model come from a fit
that saw neither the row nor any other of its model at its load. Where a row does not say
whether it states a mean or a median, it is compared with the mean. Lengths of a row are
its means, where it has no trace.

The bars are a median error of 15 % for time to first token and time per output token, and
of 30 % for the 99th percentile of time to first token. Figures that the table does not
let be tested, because what they depend on is not stated, are shown apart. The command
fails when a group gets a fifth further off than its bar, or than it has been.

## Against the closed form

` + "`" + `size` + "`" + ` is optimistic where time per output token or the KV cache is what binds: its largest
rate is then 0 to 15 % above the one that ` + "`" + `simulate --find-goodput` + "`" + ` finds.

`

// Markdown is the text of docs/simulator-accuracy.md, but for the part about this
// machine.
func Markdown(c Compared) string {
	var b strings.Builder
	b.WriteString(preface)
	for _, m := range methods {
		fmt.Fprintf(&b, "- **%s.** %s.\n", m.group, strings.ToUpper(m.name[:1])+m.name[1:])
	}
	fmt.Fprintf(&b, "- **%s.** %s.\n", saturatedGroup, saturatedName)
	b.WriteString(explanation)
	b.WriteString("## Groups\n\n| group | figure | rows | median error | within the bar | bar | |\n|---|---|---:|---:|---:|---:|---|\n")
	for _, g := range c.Groups() {
		within, bar, verdict := "", "", ""
		switch {
		case !g.Tested:
			verdict = "shown only"
		case g.Bar > 0:
			within, bar, verdict = percent(g.Within), percent(g.Bar), "held"
			if !g.Holds() {
				verdict = "not held"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s |\n", g.Name, g.Metric, g.N, percent(g.Median), within, bar, verdict)
	}
	c.trend(&b)
	c.curves(&b)
	c.rows(&b)
	if len(c.Left) > 0 {
		b.WriteString("\n## Rows that were not simulated\n\n")
		for _, l := range c.Left {
			fmt.Fprintf(&b, "- %s, %s: %s\n", l.ID, l.Subject, l.Reason)
		}
	}
	return b.String()
}

// trend shows by load how the times to first token of the largest group are off, in
// which direction.
func (c Compared) trend(b *strings.Builder) {
	ratios := map[float64][]float64{}
	for _, f := range c.Figures {
		if f.Group == inferenceX.group && metric(f.Column) == "ttft" && f.Tested {
			ratios[f.Load] = append(ratios[f.Load], f.Simulated/f.Measured)
		}
	}
	if len(ratios) == 0 {
		return
	}
	b.WriteString("\n## Time to first token by load\n\nSimulated ÷ measured, " + inferenceX.group + ". The time of a request outside of the steps is one constant of an\n" +
		"engine; where the ratio falls with the load, that time grows with the number of clients.\n\n| clients | rows | median ratio |\n|---:|---:|---:|\n")
	for _, load := range slices.Sorted(maps.Keys(ratios)) {
		fmt.Fprintf(b, "| %g | %d | %.2f |\n", load, len(ratios[load]), median(ratios[load]))
	}
}

func (c Compared) curves(b *strings.Builder) {
	b.WriteString("\n## Knees\n\nThe knee is the last load before throughput grows by less than a quarter of what the load grows by.\n")
	for _, curve := range c.Curves() {
		measured, simulated := curve.Knees()
		fmt.Fprintf(b, "\n%s: measured %s, simulated %s.\n\n", curve.Name, curve.at(measured), curve.at(simulated))
		b.WriteString("| load | output tokens/s | simulated | mean TTFT, ms | simulated |\n|---:|---:|---:|---:|---:|\n")
		for _, p := range curve.Points {
			fmt.Fprintf(b, "| %g | %.4g | %.4g | %.4g | %.4g |\n", p.Load, p.Measured.Throughput, p.Simulated.Throughput, p.Measured.TTFT, p.Simulated.TTFT)
		}
	}
}

func (c Curve) at(i int) string {
	if i < 0 {
		return "no knee"
	}
	return fmt.Sprintf("at %g", c.Points[i].Load)
}

func (c Compared) rows(b *strings.Builder) {
	b.WriteString("\n## All figures\n\nMilliseconds, and tokens per second.\n\n| row | what | load | figure | measured | simulated | error |\n|---|---|---:|---|---:|---:|---:|\n")
	for _, f := range c.Figures {
		fmt.Fprintf(b, "| %s | %s | %g | %s | %.4g | %.4g | %s |\n", f.Row, f.Subject, f.Load, metric(f.Column), f.Measured, f.Simulated, percent(f.Error()))
	}
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
