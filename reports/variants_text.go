package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/internal/units"
)

// WriteVariants writes variants side by side: of each metric the median over the
// runs, the 95 % interval, and how far it is from the base's, or ~ where the runs
// do not show that it differs. Variants that do not fit beside each other follow
// below, each time with the base.
func WriteVariants(w io.Writer, all *Variants, opts TextOptions) error {
	p := newPage(opts)
	p.line(p.paint(bold, all.title()))
	for next := 1; ; {
		t, upTo := p.variantTable(all, next)
		p.line("")
		t.WriteTo(&p.out) //nolint:errcheck // a buffer
		if next = upTo; next >= len(all.Variants) {
			break
		}
	}
	p.line("")
	for _, note := range all.notes() {
		p.line(p.paint(faint, note))
	}
	broken := all.Broken()
	for _, text := range broken {
		p.line(p.paint(red, "✗ ") + text)
	}
	if asserts := all.Variants[0].Runs[0].Asserts; len(broken) == 0 && len(asserts) > 0 {
		p.line(p.paint(green, "✓ ") + count(len(asserts), "assertion") + " held in every run")
	}
	for _, v := range all.Variants {
		for _, r := range v.Runs {
			if verdict := r.Verdict(); !verdict.Trustworthy() {
				p.field("", p.paint(red, "✗ "+v.Name+" is not trustworthy: ")+verdict.Text)
				break
			}
		}
	}
	_, err := w.Write(p.out.Bytes())
	return err
}

func (all *Variants) title() string {
	runs := 0
	for _, v := range all.Variants {
		runs = max(runs, len(v.Runs))
	}
	return fmt.Sprintf("%s, %s, %s each", all.Setting, count(len(all.Variants), "variant"), count(runs, "seed"))
}

// variantTable is the base and as many variants from one on as fit the page, at
// least one; upTo is the first that does not.
func (p *page) variantTable(all *Variants, from int) (t Table, upTo int) {
	draw := func(shown []int) Table {
		t := Table{Header: []string{""}, Right: []bool{false}}
		for _, i := range shown {
			t.Header, t.Right = append(t.Header, all.Variants[i].Name), append(t.Right, true)
		}
		for _, m := range all.Metrics {
			cells := []string{m.row().name}
			for _, i := range shown {
				cells = append(cells, m.cell(i))
			}
			t.Rows = append(t.Rows, cells)
		}
		return t
	}
	shown := []int{0}
	t = draw(shown)
	for upTo = from; upTo < len(all.Variants); upTo++ {
		wider := draw(append(shown, upTo))
		if upTo > from && wider.width() > p.width {
			break
		}
		shown, t = append(shown, upTo), wider
	}
	return t, upTo
}

// width is that of the widest line, in columns.
func (t Table) width() (widest int) {
	var b strings.Builder
	t.WriteTo(&b) //nolint:errcheck // a buffer
	for line := range strings.Lines(b.String()) {
		widest = max(widest, ansi.StringWidth(strings.TrimRight(line, "\n")))
	}
	return widest
}

// row is how a metric is written.
func (m VariantMetric) row() repeatedRow {
	for _, row := range variantRows {
		if row.key == m.Metric {
			return row
		}
	}
	return repeatedRow{name: m.Metric, text: units.Number}
}

// cell is the metric of one variant: "412 ms ±3 %", and beside the others their
// distance from the base: "+12 %", in brackets where so few runs can not show it,
// or "~" where they do not.
func (m VariantMetric) cell(i int) string {
	v := m.Values[i]
	if v.Median == nil {
		return "–"
	}
	text := m.row().text(*v.Median)
	if v.N > 1 {
		text += " ±" + spreadText(v)
	}
	if i == 0 || m.Values[0].Median == nil {
		return text
	}
	change := "≠" // from 0 there is no relative distance
	if v.Change != nil {
		change = signedPercent(*v.Change)
	}
	switch {
	case v.Significant != nil && !*v.Significant, *v.Median == *m.Values[0].Median:
		change = "~"
	case v.Significant == nil:
		change = "(" + change + ")"
	}
	return fmt.Sprintf("%s %6s", text, change)
}

// spreadText is the farther end of the interval, relative to the median.
func spreadText(v VariantValue) string {
	off := max(*v.High-*v.Median, *v.Median-*v.Low)
	if off == 0 {
		return "0 %"
	}
	if *v.Median == 0 {
		return "∞"
	}
	return fmt.Sprintf("%.0f %%", 100*off/max(*v.Median, -*v.Median))
}

// notes say how to read the table.
func (all *Variants) notes() []string {
	least, most := -1, 0
	for _, v := range all.Variants {
		if n := len(v.Runs); least < 0 || n < least {
			least = n
		}
		most = max(most, len(v.Runs))
	}
	switch {
	case most < 2:
		return []string{"in brackets: of one seed each, which may be chance (--repeat)"}
	case least < 4:
		return []string{"medians and all that was seen; in brackets: of fewer seeds than can show", "a difference, which takes 4 of each (--repeat)"}
	case least < 6:
		return []string{"medians and all that was seen, since a 95 % interval takes 6 seeds (--repeat);", "~ where the seeds show no difference (Mann–Whitney, p ≥ 0.05)"}
	default:
		return []string{"medians over the seeds and their 95 % interval;", "~ where the seeds show no difference (Mann–Whitney, p ≥ 0.05)"}
	}
}

// signedPercent writes a change, with a decimal where it is below 1 %.
func signedPercent(v float64) string {
	if p := 100 * v; p > -0.95 && p < 0.95 {
		return fmt.Sprintf("%+.1f %%", p)
	}
	return fmt.Sprintf("%+.0f %%", 100*v)
}
