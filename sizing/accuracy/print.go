package accuracy

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/llmctl/llmctl/internal/units"
)

// worstShown is how many of the worst rows each view lists.
const worstShown = 10

// All runs every check on the data, in the order of the table. The checks of a file
// that the folder lacks have no rows.
func All(d Data) ([]Check, error) {
	var checks []Check
	for _, run := range []func(Data) ([]Check, error){Pool, Sequences, Parameters, Times} {
		some, err := run(d)
		if err != nil {
			return nil, err
		}
		checks = append(checks, some...)
	}
	return checks, nil
}

// Print writes the table of checks, then the worst rows of each and what was
// left out.
func Print(w io.Writer, checks []Check) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "check\tbar\treached\trows\texcluded\t")
	for _, c := range checks {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\n", c.Name, c.bar(), c.reached(), len(c.Rows), excluded(c), c.verdict())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range checks {
		if len(c.Rows)+len(c.Excluded) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(w, "\n%s: the worst\n", c.Name)
		for _, r := range c.Worst(worstShown) {
			_, _ = fmt.Fprintf(t, "  %s\t%s\tgot %s\twant %s\t%s\n", r.ID, r.Subject, figure(r.Got), figure(r.Want), percent(r.Error))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		for _, e := range c.Excluded {
			if _, err := fmt.Fprintf(w, "  left out: %s %s: %s\n", e.ID, e.Subject, e.Reason); err != nil {
				return err
			}
		}
	}
	return nil
}

// excluded is the number of rows left out, and their share.
func excluded(c Check) string {
	if len(c.Excluded) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", len(c.Excluded), percent(c.ExcludedShare()))
}

// figure writes a value as its log would: whole, or with two decimals.
func figure(v float64) string {
	if v >= 1000 {
		return units.Count(int64(v + 0.5))
	}
	return cmp.Or(strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00"), "0")
}
