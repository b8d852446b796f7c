package reports

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/reports/record"
)

// Table is the one renderer of plain-text tables: columns as wide as their
// content, two spaces between them, no trailing blanks.
type Table struct {
	Header []string // may be nil
	Rows   [][]string
	Right  []bool // columns to align right; missing entries align left
	Indent int
}

// Printable is the table with cells that a terminal does not obey, for those that
// servers and files name and that have no colors of ours.
func (t Table) Printable() Table {
	t.Rows = slices.Clone(t.Rows)
	for i, row := range t.Rows {
		t.Rows[i] = slices.Clone(row)
		for j, cell := range row {
			t.Rows[i][j] = record.Printable(cell)
		}
	}
	return t
}

// WriteTo writes the table to w.
func (t Table) WriteTo(w io.Writer) (int64, error) {
	rows := t.Rows
	if t.Header != nil {
		rows = append([][]string{t.Header}, rows...)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", t.Indent))
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < len(t.Right) && t.Right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
