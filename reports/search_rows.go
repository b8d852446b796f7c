package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// optionColumn is a column of a table of options.
type optionColumn struct {
	name, unit string
	right      bool
	cell       func(o *sizing.Option) string
}

// The columns. Times are in milliseconds, so that a row fits into a line.
var (
	columnReplica = optionColumn{"replica", "", false, func(o *sizing.Option) string { return replicaShape(o.Configuration) + unmeasuredMark(o) }}
	columnFormats = optionColumn{"weights/KV", "", false, formats}
	columnBatch   = optionColumn{"batch", "", true, func(o *sizing.Option) string { return fmt.Sprintf("%d/%dk", o.MaxNumSeqs, o.MaxNumBatchedTokens/1024) }}
	columnCount   = optionColumn{"n", "", true, func(o *sizing.Option) string { return units.Count(int64(o.Replicas)) }}
	columnHour    = optionColumn{"$", "hour", true, func(o *sizing.Option) string { return money(o.USDPerHour) }}
	columnTokens  = optionColumn{"$", "1M out", true, func(o *sizing.Option) string { return money(o.USDPer1MOut) }}
	columnTTFT    = optionColumn{"TTFT", "ms", true, func(o *sizing.Option) string { return units.Number(o.TTFT * 1e3) }}
	columnTPOT    = optionColumn{"TPOT", "ms", true, func(o *sizing.Option) string { return units.Number(o.TPOT * 1e3) }}
	columnSpeed   = optionColumn{"tok/s", "user", true, func(o *sizing.Option) string { return units.Number(o.UserTokensPS) }}
	columnMost    = optionColumn{"max tok/s", "acc", true, func(o *sizing.Option) string { return units.Number(o.TokensPSPerAcc) }}
	columnError   = optionColumn{"error", "", true, func(o *sizing.Option) string { return fmt.Sprintf("%.0f%%", o.Error.Relative*100) }}

	frontColumns          = []optionColumn{columnReplica, columnFormats, columnBatch, columnCount, columnTokens, columnTTFT, columnTPOT, columnSpeed}
	perAcceleratorColumns = []optionColumn{columnReplica, columnFormats, columnCount, columnHour, columnTokens, columnTTFT, columnTPOT, columnError}
	unpricedColumns       = []optionColumn{columnReplica, columnFormats, columnCount, columnMost, columnTTFT, columnTPOT, columnSpeed, columnError}
)

// long is the name with its unit.
func (c optionColumn) long() string {
	if c.unit == "ms" {
		return c.name + " (ms)"
	}
	return c.name + " per " + c.unit
}

// optionTable has a row of units below its header, or both in one for Markdown.
func optionTable(columns []optionColumn, options []*sizing.Option, markdown bool) Table {
	t := Table{Indent: 2}
	var under []string
	for _, c := range columns {
		t.Right, under = append(t.Right, c.right), append(under, c.unit)
		if markdown && c.unit != "" {
			t.Header = append(t.Header, c.long())
		} else {
			t.Header = append(t.Header, c.name)
		}
	}
	if !markdown {
		t.Rows = append(t.Rows, under)
	}
	for _, o := range options {
		var row []string
		for _, c := range columns {
			row = append(row, c.cell(o))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func pointers(options []sizing.Option) []*sizing.Option {
	var all []*sizing.Option
	for i := range options {
		all = append(all, &options[i])
	}
	return all
}

// replicaShape is what one replica stands on: 4×h100-sxm-80gb. Degrees other than
// the tensor's are said as legendOf explains.
func replicaShape(c sizing.Configuration) string {
	degree := ""
	switch n := c.TensorParallel; {
	case c.DataParallel > 1:
		degree = fmt.Sprintf("%d·d%d×", n, c.DataParallel)
	case c.PipelineParallel > 1:
		degree = fmt.Sprintf("%d·%d×", n, c.PipelineParallel)
	case c.ExpertParallel > 1:
		degree = fmt.Sprintf("e%d×", n)
	case n > 1:
		degree = fmt.Sprintf("%d×", n)
	}
	return degree + shortName(c.Accelerator, 17)
}

// legendOf explains the shapes that are shown.
func legendOf(options []*sizing.Option) string {
	text := ""
	shown := func(f func(*sizing.Option) bool, explained string) {
		if slices.ContainsFunc(options, f) {
			text += ", " + explained
		}
	}
	shown(func(o *sizing.Option) bool { return o.PipelineParallel > 1 }, "2·4×a is TP 2 by PP 4")
	shown(func(o *sizing.Option) bool { return o.DataParallel > 1 }, "2·d4×a is TP 2 by DP 4 with whole experts divided among the 8 (EP 8)")
	shown(func(o *sizing.Option) bool { return o.DataParallel <= 1 && o.ExpertParallel > 1 }, "e8×a is TP 8 with whole experts divided (EP 8)")
	return text
}

// unmeasuredMark marks what the engine was never measured on.
func unmeasuredMark(o *sizing.Option) string {
	if o.Measured {
		return ""
	}
	return "?"
}

// formats marks those whose effect on quality is not judged.
func formats(o *sizing.Option) string {
	weights, cache := o.WeightDType, o.KVDType
	for _, reduced := range o.Quality {
		if strings.HasSuffix(reduced, "weights") {
			weights += "*"
		} else {
			cache += "*"
		}
	}
	return weights + "/" + cache
}

// evenly is at most k of the numbers 0 to n − 1, ends included.
func evenly(n, k int) []int {
	var at []int
	for i := range min(n, k) {
		if n <= k {
			at = append(at, i)
		} else {
			at = append(at, i*(n-1)/(k-1))
		}
	}
	return at
}

// frontShown are the rows of the front that a person is shown.
func frontShown(s *sizing.Search) []*sizing.Option {
	var shown []*sizing.Option
	for _, i := range evenly(len(s.Front), frontRows) {
		shown = append(shown, &s.Front[i])
	}
	return shown
}

// shownOptions are the rows of all tables.
func shownOptions(s *sizing.Search) []*sizing.Option {
	return slices.Concat(pointers(s.PerKind), frontShown(s), pointers(s.Unpriced))
}

func writePerAccelerator(b *strings.Builder, s *sizing.Search) {
	if len(s.PerKind) > 0 {
		b.WriteString("\nCheapest of each accelerator with a price (TTFT and TPOT are p99)\n")
		writeTable(b, optionTable(perAcceleratorColumns, pointers(s.PerKind), false))
	}
	if none := nothingServes(s); none != "" && s.Feasible {
		b.WriteString("\n")
		paragraph(b, "  ", "nothing serves on "+none)
	}
}

func writeFront(b *strings.Builder, s *sizing.Search) {
	if len(s.Front) == 0 {
		return
	}
	b.WriteString("\nWorth their price: better in cost, TTFT, TPOT (p99) or tokens/s per user\n")
	shown := frontShown(s)
	writeTable(b, optionTable(frontColumns, shown, false))
	if more := len(s.Front) - len(shown); more > 0 {
		paragraph(b, "  ", fmt.Sprintf("and %d between these, all in -o csv and -o json", more))
	}
}

func writeUnpriced(b *strings.Builder, s *sizing.Search) {
	if len(s.Unpriced) == 0 {
		return
	}
	b.WriteString("\nNo price is known (--price); by the most output tokens/s per accelerator\n")
	writeTable(b, optionTable(unpricedColumns, pointers(s.Unpriced), false))
}

// writeErrors says how far off the times of the tables are, by accelerators that
// are alike in it.
func writeErrors(b *strings.Builder, s *sizing.Search) {
	var texts []string
	names := map[string][]string{}
	for _, o := range shownOptions(s) {
		text := ": " + errorText(o.Error)
		if !o.Measured {
			text = ", never measured with this engine; others were" + text[1:]
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		if !slices.Contains(names[text], o.Accelerator) {
			names[text] = append(names[text], o.Accelerator)
		}
	}
	if len(texts) > 0 {
		b.WriteString("\nError of the times on measured runs; what queues is more uncertain\n")
	}
	for _, text := range texts {
		paragraph(b, "  ", list(names[text], ", ")+text)
	}
}

// writePrices says whose prices the order rests on.
func writePrices(b *strings.Builder, s *sizing.Search) {
	if len(s.Prices) == 0 {
		return
	}
	b.WriteString("\n")
	var sources []string // each with the accelerators that it prices
	prices := map[string][]string{}
	for _, p := range s.Prices {
		source := p.Source
		if p.Date != "" {
			source += ", " + p.Date
		}
		if prices[source] == nil {
			sources = append(sources, source)
		}
		prices[source] = append(prices[source], fmt.Sprintf("%s $%s", p.Accelerator, money(p.USDPerHour)))
	}
	for _, source := range sources {
		paragraph(b, "  ", fmt.Sprintf("per accelerator and hour: %s (%s)", list(prices[source], ", "), source))
	}
}

// writeLegend explains the marks and columns of the tables, as far as they are there.
func writeLegend(b *strings.Builder, s *sizing.Search) {
	shown := shownOptions(s)
	if len(shown) == 0 {
		return
	}
	b.WriteString("\n")
	batch := ""
	if len(s.Front) > 0 {
		batch = ", batch is max_num_seqs/max_num_batched_tokens"
	}
	paragraph(b, "  ", "n is the number of replicas, error the median distance of the times from measured runs"+batch+legendOf(shown)+".")
	if slices.ContainsFunc(shown, func(o *sizing.Option) bool { return !o.Measured }) {
		paragraph(b, "  ", "? the engine was never measured on such accelerators: the step model's general constants are used.")
	}
	if slices.ContainsFunc(shown, func(o *sizing.Option) bool { return len(o.Quality) > 0 }) {
		paragraph(b, "  ", "* fewer bits than the model is published in. What that does to the answers is not judged here: measure it, or keep to --weight-dtype and --kv-dtype.")
	}
}
