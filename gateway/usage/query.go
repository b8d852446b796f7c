package usage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// Dimension is something that sums can be made by.
type Dimension string

// The dimensions. Hour and Day are of UTC, written like 2006-01-02T15:04Z and
// 2006-01-02; Deployment is provider/model.
const (
	Tenant     Dimension = "tenant"
	Key        Dimension = "key" // with its tenant before it: names of keys are the tenant's own
	Alias      Dimension = "alias"
	Provider   Dimension = "provider"
	Model      Dimension = "model"
	Deployment Dimension = "deployment"
	Arm        Dimension = "arm"
	Class      Dimension = "class"
	Day        Dimension = "day"
	Hour       Dimension = "hour"
)

// Dimensions are all of them.
var Dimensions = []Dimension{Tenant, Key, Alias, Provider, Model, Deployment, Arm, Class, Day, Hour}

// ParseDimensions reads a list like tenant,alias.
func ParseDimensions(text string) ([]Dimension, error) {
	var by []Dimension
	for name := range strings.SplitSeq(text, ",") {
		d, err := ParseDimension(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if slices.Contains(by, d) {
			return nil, fmt.Errorf("by: %s appears twice", d)
		}
		by = append(by, d)
	}
	return by, nil
}

// ParseDimension reads the name of one.
func ParseDimension(name string) (Dimension, error) {
	if slices.Contains(Dimensions, Dimension(name)) {
		return Dimension(name), nil
	}
	known := make([]string, len(Dimensions))
	for i, d := range Dimensions {
		known[i] = string(d)
	}
	if near := profiles.DidYouMean(name, known); near != "" {
		return "", fmt.Errorf("by: unknown %q%s", name, near)
	}
	return "", fmt.Errorf("by: unknown %q, known: %s", name, strings.Join(known, ", "))
}

// Query asks for sums.
type Query struct {
	By    []Dimension          // none: one sum of all
	From  time.Time            // whole hours of UTC: the first one that counts
	To    time.Time            // and the first one that does not
	Where map[Dimension]string // only what has these values; no Day and no Hour
}

// Validate checks what the fields cannot say.
func (q Query) Validate() error {
	if err := q.checkSpan(); err != nil {
		return err
	}
	for _, t := range []time.Time{q.From, q.To} {
		if !t.Equal(t.Truncate(time.Hour)) {
			return fmt.Errorf("sums are kept by the hour of UTC, and %s is none", t.UTC().Format(time.RFC3339Nano))
		}
	}
	for d := range q.Where {
		if d == Day || d == Hour {
			return fmt.Errorf("expected from and to instead of %s", d)
		}
	}
	return nil
}

func (q Query) checkSpan() error {
	if !q.From.Before(q.To) {
		return fmt.Errorf("from %s is not before to %s", stamp(q.From), stamp(q.To))
	}
	return nil
}

// Group is the sum of one combination of values.
type Group struct {
	Values []string // of Query.By, in its order
	Sums            // of all of its requests
	Saved  map[Saving]*Sums
}

// row is a part of a group as a store has it: by what was saved, too.
type row struct {
	values []string
	saved  Saving
	sums   Sums
}

// gather joins rows that differ in savings only, in the order of their values.
func gather(rows []row) []Group {
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(slices.Compare(a.values, b.values), cmp.Compare(a.saved, b.saved))
	})
	var groups []Group
	for i := range rows {
		r := &rows[i]
		if last := len(groups) - 1; last < 0 || !slices.Equal(groups[last].Values, r.values) {
			groups = append(groups, Group{Values: r.values, Saved: map[Saving]*Sums{}})
		}
		g := &groups[len(groups)-1]
		g.Add(&r.sums)
		if r.saved == "" {
			continue
		}
		if g.Saved[r.saved] == nil {
			g.Saved[r.saved] = &Sums{}
		}
		g.Saved[r.saved].Add(&r.sums)
	}
	return groups
}

// text writes the value of a dimension that a store keeps as a number.
func (d Dimension) text(number int64) string {
	if d == Day {
		return time.Unix(number*24*3600, 0).UTC().Format(time.DateOnly)
	}
	return time.Unix(number*3600, 0).UTC().Format("2006-01-02T15:04Z")
}

// numeric tells whether a store keeps the dimension as a number.
func (d Dimension) numeric() bool { return d == Day || d == Hour }
