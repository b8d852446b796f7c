package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/reports/record"
)

// block is one thing of a configuration, with what the gateway understood of it.
type block struct {
	title string
	rows  [][2]string // a label, and the text beside it
}

func (b *block) row(label, format string, args ...any) {
	b.rows = append(b.rows, [2]string{record.Printable(label), record.Printable(fmt.Sprintf(format, args...))})
}

// explain writes a configuration as the gateway understood it, defaults filled in,
// in 80 columns. usage is where it is kept.
func explain(to io.Writer, c *config.Config, usage string) error {
	blocks := []block{explainGateway(c, usage), explainClasses(c)}
	for _, several := range [][]block{explainFlags(c), explainFilters(c), explainTenants(c), explainProviders(c), explainModels(c)} {
		blocks = append(blocks, several...)
	}
	var text strings.Builder
	for _, b := range blocks {
		b.write(&text)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// write sets labels in one column and wraps the texts beside it. Words that are
// longer than a line, such as URLs, are not cut.
func (b block) write(to *strings.Builder) {
	const width = 80
	column := 0
	for _, r := range b.rows {
		column = max(column, ansi.StringWidth(r[0]))
	}
	fmt.Fprintf(to, "\n%s\n", record.Printable(b.title))
	for _, r := range b.rows {
		line := "  " + r[0] + strings.Repeat(" ", column-ansi.StringWidth(r[0])) + " "
		empty := true
		for word := range strings.FieldsSeq(r[1]) {
			if !empty && ansi.StringWidth(line)+1+ansi.StringWidth(word) > width {
				to.WriteString(line + "\n")
				line = strings.Repeat(" ", column+3)
			}
			line += " " + word
			empty = false
		}
		to.WriteString(line + "\n")
	}
}

// remarks joins what there is to say, and says otherwise when that is nothing.
type remarks []string

func (l *remarks) add(when bool, format string, args ...any) {
	if when {
		*l = append(*l, fmt.Sprintf(format, args...))
	}
}

func (l remarks) or(otherwise string) string {
	if len(l) == 0 {
		return otherwise
	}
	return strings.Join(l, ", ")
}

// lasting is a duration without the units that are zero: 10m, not 10m0s.
func lasting(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// lastingOr is a duration of the configuration, or its default.
func lastingOr(d config.Duration, absent time.Duration) string {
	if d == 0 {
		return lasting(absent)
	}
	return lasting(time.Duration(d))
}

// binarySize is a size in the largest binary unit of which it is a whole number.
func binarySize(n config.Size) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; i < len(units)-1 && n > 0 && n%1024 == 0; i++ {
		n /= 1024
	}
	return fmt.Sprintf("%d%s", n, units[i])
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// valueOr is an optional number, or its default.
func valueOr(v *float64, absent float64) float64 {
	if v == nil {
		return absent
	}
	return *v
}

// listed is a list of which an absent one means all.
func listed(names []string) string {
	if names == nil {
		return "all"
	}
	return strings.Join(names, " ")
}
