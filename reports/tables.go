package reports

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// WriteCSV writes the table as CSV (RFC 4180), the header first.
func (t Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if t.Header != nil {
		if err := c.Write(t.Header); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
	}
	if err := c.WriteAll(t.Rows); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

// inCell keeps a text from ending its cell of a Markdown table, or its line. An
// underscore inside of a word means nothing in GitHub's Markdown.
var inCell = strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "<", "&lt;", "`", "\\`", "\n", " ")

// writeMarkdown writes the table in GitHub's Markdown.
func (t Table) writeMarkdown(b *strings.Builder) {
	line := func(cells []string) {
		b.WriteString("|")
		for i := range t.Header {
			cell := ""
			if i < len(cells) {
				cell = inCell.Replace(cells[i])
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	line(t.Header)
	b.WriteString("|")
	for i := range t.Header {
		if i < len(t.Right) && t.Right[i] {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteString("\n")
	for _, row := range t.Rows {
		line(row)
	}
}
