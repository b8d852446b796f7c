package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Check is one comparison of planned with published figures, over all rows that
// state enough for it.
type Check struct {
	Name     string      // what is compared
	Bar      string      // what must hold, in words; empty when it is shown for the reader only
	Held     bool        // whether it did; exclusions above MaxExcluded break it too
	Summary  string      // what was reached
	Rows     []Row       // all rows that were compared
	Excluded []Exclusion // runnable rows that were not, each by a stated rule
}

// Row is one figure that was compared.
type Row struct {
	ID      string // of the row in its file
	Subject string // model, accelerator and engine, for a reader
	Got     float64
	Want    float64
	Error   float64 // |Got ÷ Want − 1|
	Note    string  // why it is off, where that is known
}

// Exclusion is a row that a rule left out.
type Exclusion struct {
	ID      string
	Subject string
	Reason  string
}

// MaxExcluded is the largest share of the runnable rows that rules may leave
// out.
const MaxExcluded = 0.05

// relative is the error of got against want.
func relative(got, want float64) float64 { return math.Abs(got/want - 1) }

// Quantile is the p-quantile of the rows' errors (linear between ranks, type 7);
// NaN without rows.
func (c Check) Quantile(p float64) float64 {
	errors := c.errors()
	if len(errors) == 0 {
		return math.NaN()
	}
	at := p * float64(len(errors)-1)
	low := int(at)
	if low == len(errors)-1 {
		return errors[low]
	}
	return errors[low] + (at-float64(low))*(errors[low+1]-errors[low])
}

// errors are the rows' errors in ascending order.
func (c Check) errors() []float64 {
	var errors []float64
	for _, r := range c.Rows {
		errors = append(errors, r.Error)
	}
	slices.Sort(errors)
	return errors
}

// Worst are the n rows with the largest errors, largest first; rows of equal
// error keep their order.
func (c Check) Worst(n int) []Row {
	rows := slices.Clone(c.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Error, a.Error) })
	return rows[:min(n, len(rows))]
}

// ExcludedShare is the share of runnable rows that were left out. A row that
// gives several figures counts once.
func (c Check) ExcludedShare() float64 {
	out, all := map[string]bool{}, map[string]bool{}
	for _, e := range c.Excluded {
		out[e.ID], all[e.ID] = true, true
	}
	for _, r := range c.Rows {
		all[r.ID] = true
	}
	if len(all) == 0 {
		return 0
	}
	return float64(len(out)) / float64(len(all))
}

// within counts the rows whose error is at most bound, and those above it that
// have no explanation.
func (c Check) within(bound float64) (inside, unexplained int) {
	for _, r := range c.Rows {
		switch {
		case r.Error <= bound:
			inside++
		case r.Note == "":
			unexplained++
		}
	}
	return inside, unexplained
}

// settle sets Held: what the comparison found, and few enough exclusions.
func (c *Check) settle(held bool) {
	c.Held = held && len(c.Rows) > 0 && c.ExcludedShare() <= MaxExcluded
}

// Broken reports whether there was something to compare and the bar did not hold.
func (c Check) Broken() bool {
	return c.Bar != "" && !c.Held && len(c.Rows)+len(c.Excluded) > 0
}

// verdict words whether the bar holds; a check without one has none.
func (c Check) verdict() string {
	switch {
	case len(c.Rows) == 0:
		return "no rows"
	case c.Bar == "":
		return "shown"
	case c.Held:
		return "held"
	}
	return "not held"
}

// bar is Bar for a table.
func (c Check) bar() string { return cmp.Or(c.Bar, "none; shown for the reader") }

// reached is Summary for a table.
func (c Check) reached() string {
	if len(c.Rows) == 0 {
		return "–"
	}
	return c.Summary
}

// percent words a share with as many digits as a bar needs.
func percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v != 0 && v < 0.0095:
		return fmt.Sprintf("%.2f %%", 100*v)
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}
