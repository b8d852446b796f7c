package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// VariantsTable is one row per variant and metric, for spreadsheets.
func VariantsTable(all *Variants) Table {
	t := Table{Header: []string{"setting", "variant", "metric", "n", "median", "low", "high", "change", "p"}}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for _, m := range all.Metrics {
		for i, v := range m.Values {
			t.Rows = append(t.Rows, []string{all.Setting, all.Variants[i].Name, m.Metric, strconv.Itoa(v.N),
				number(v.Median), number(v.Low), number(v.High), number(v.Change), number(v.P)})
		}
	}
	return t
}

// WriteAsked writes what several runs have in common: what was asked for, and what
// was not said and yet shaped them.
func WriteAsked(w io.Writer, r *Report, opts TextOptions) error {
	p := newPage(opts)
	p.field("asked", r.Asked)
	p.defaults(r.Defaults)
	p.line("")
	_, err := w.Write(p.out.Bytes())
	return err
}

// WriteVariantsMarkdown writes variants for a document: one column each.
func WriteVariantsMarkdown(w io.Writer, all *Variants) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", inCell.Replace(all.title()))
	t := Table{Header: []string{"metric"}, Right: []bool{false}}
	for _, v := range all.Variants {
		t.Header, t.Right = append(t.Header, inCell.Replace(v.Name)), append(t.Right, true)
	}
	for _, m := range all.Metrics {
		cells := []string{m.row().name}
		for i := range all.Variants {
			cells = append(cells, strings.TrimSpace(m.cell(i)))
		}
		t.Rows = append(t.Rows, cells)
	}
	t.writeMarkdown(&b)
	b.WriteString("\n")
	for _, note := range all.notes() {
		b.WriteString(note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
