package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	ledger "github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports"
)

// usageColumn is a column of what people read; the other numbers, and exact
// amounts, are in the other forms.
type usageColumn struct {
	head string
	cell func(*ledger.Group) string
	// optional columns are left out where all their cells are blank, such as those of
	// caches that nobody has.
	optional bool
}

var tokenColumns = []usageColumn{
	{"requests", func(g *ledger.Group) string { return manyThings(g.Requests) }, false},
	{"input", func(g *ledger.Group) string { return manyThings(g.Input) }, false},
	{"cached", func(g *ledger.Group) string { return unlessZero(g.Cached) }, true},
	{"output", func(g *ledger.Group) string { return manyThings(g.Output) }, false},
	{"saved", func(g *ledger.Group) string { return unlessZero(g.SavedInput + g.SavedOutput) }, true},
}

var dollarColumns = []usageColumn{
	{"$", func(g *ledger.Group) string { return money(g.Charge(), g.Unpriced) }, false},
	{"$/1M in", func(g *ledger.Group) string { return perMillion(g.InputRate()) }, false},
	{"$/1M out", func(g *ledger.Group) string { return perMillion(g.OutputRate()) }, false},
	{"saved $", func(g *ledger.Group) string {
		if g.SavedCost == 0 && g.SavedUnpriced == 0 {
			return ""
		}
		return money(ledger.NanoUSD(g.SavedCost), g.SavedUnpriced)
	}, true},
}

// writeUsage writes groups for people: what was used, and below it what that cost,
// since one table of both is wider than a terminal.
func writeUsage(to io.Writer, by []ledger.Dimension, groups []ledger.Group) error {
	if len(groups) == 0 {
		_, err := fmt.Fprintln(to, "nothing was metered in this time")
		return err
	}
	var b strings.Builder
	fmt.Fprintln(&b, "requests and tokens")
	_, _ = usageTable(by, groups, tokenColumns).WriteTo(&b) // to memory, as all here
	fmt.Fprintln(&b, "\ndollars")
	_, _ = usageTable(by, groups, dollarColumns).WriteTo(&b)
	if slices.ContainsFunc(groups, func(g ledger.Group) bool { return g.Unpriced > 0 || g.SavedUnpriced > 0 }) {
		fmt.Fprintln(&b, "\n?, ≥: all, or some, of it went to models without usd_per_1m")
	}
	_, err := io.WriteString(to, b.String())
	return err
}

func usageTable(by []ledger.Dimension, groups []ledger.Group, columns []usageColumn) reports.Table {
	t := reports.Table{Rows: make([][]string, len(groups)), Indent: 2}
	for i, d := range by {
		t.Header, t.Right = append(t.Header, string(d)), append(t.Right, false)
		for j := range groups {
			t.Rows[j] = append(t.Rows[j], groups[j].Values[i])
		}
	}
	for _, c := range columns {
		cells, blank := make([]string, len(groups)), true
		for j := range groups {
			cells[j] = c.cell(&groups[j])
			blank = blank && cells[j] == ""
		}
		if c.optional && blank {
			continue
		}
		t.Header, t.Right = append(t.Header, c.head), append(t.Right, true)
		for j := range groups {
			t.Rows[j] = append(t.Rows[j], cells[j])
		}
	}
	return t
}

// manyThings is a count in nine columns at most: exact below ten million, with three
// digits from there on.
func manyThings(n int64) string {
	v := float64(n)
	for _, scale := range []struct {
		of   float64
		unit string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if v >= scale.of && v >= 1e7 {
			return units.Number(v/scale.of) + " " + scale.unit
		}
	}
	return units.Count(n)
}

func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return manyThings(n)
}

func perMillion(r ledger.Rate) string {
	if usd, ok := r.Per(1_000_000); ok {
		return dollars(usd)
	}
	return ""
}

// money writes an amount, of which the cost of so many requests is not known.
func money(n ledger.NanoUSD, unknown int64) string {
	switch {
	case unknown > 0 && n == 0:
		return "?"
	case unknown > 0:
		return "≥ " + dollars(n.USD())
	}
	return dollars(n.USD())
}

// dollars writes an amount with cents, or where it is less than a dollar with three
// digits behind its zeros: 0.000003 is neither 0.00 nor 3e-06.
func dollars(v float64) string {
	if v == 0 {
		return "0"
	}
	if cents := math.Round(v * 100); cents >= 100 && cents < 1e17 {
		return fmt.Sprintf("%s.%02d", units.Count(int64(cents)/100), int64(cents)%100)
	}
	digits := max(2, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	text := strconv.FormatFloat(v, 'f', digits, 64)
	for strings.HasSuffix(text, "0") && len(text)-strings.IndexByte(text, '.') > 3 {
		text = text[:len(text)-1]
	}
	return text
}
