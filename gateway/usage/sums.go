package usage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// expression is a dimension over the columns of llmctl_usage.
func (d Dimension) expression() string {
	switch d {
	case Key:
		return "key_name"
	case Deployment:
		return "provider || '/' || model"
	case Day:
		return "hour / 24"
	}
	return string(d)
}

func (d *database) sums(ctx context.Context, q Query) ([]row, error) {
	statement, args := d.sumStatement(q)
	result, err := d.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, d.explain(err)
	}
	defer func() { _ = result.Close() }() // Err tells
	var rows []row
	for result.Next() {
		r := row{values: make([]string, len(q.By))}
		var targets []any
		for i, dimension := range q.By {
			if dimension.numeric() {
				targets = append(targets, scanner(func(v int64) { r.values[i] = dimension.text(v) }))
			} else {
				targets = append(targets, &r.values[i])
			}
		}
		targets = append(targets, &r.saved)
		for _, c := range columns {
			targets = append(targets, c.of(&r.sums))
		}
		if err := result.Scan(targets...); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, d.explain(result.Err())
}

// sumStatement is the query for rows of sums, and its arguments.
func (d *database) sumStatement(q Query) (string, []any) {
	keys := make([]string, 0, len(q.By)+1)
	for _, dimension := range q.By {
		keys = append(keys, dimension.expression())
	}
	keys = append(keys, "saved_by")
	selected := slices.Clone(keys)
	for _, c := range columns {
		selected = append(selected, "CAST(SUM("+c.name+") AS BIGINT)") // Postgres sums to numeric
	}
	args := []any{hourOf(q.From), hourOf(q.To)}
	where := "hour >= " + d.placeholder(1) + " AND hour < " + d.placeholder(2)
	for _, dimension := range slices.Sorted(maps.Keys(q.Where)) {
		args = append(args, clean(q.Where[dimension]))
		where += fmt.Sprintf(" AND %s = %s", dimension.expression(), d.placeholder(len(args)))
	}
	positions := make([]string, len(keys))
	for i := range keys {
		positions[i] = fmt.Sprint(i + 1)
	}
	list := strings.Join(positions, ", ")
	return "SELECT " + strings.Join(selected, ", ") + " FROM llmctl_usage WHERE " + where +
		" GROUP BY " + list, args
}

// Spent is what a day and a month have cost so far.
type Spent struct{ Day, Month NanoUSD }

// KeyName is a key within its tenant.
type KeyName struct{ Tenant, Key string }

// Spending is what tenants and keys have spent in the UTC day and month of a time.
// Costs that are unknown count for nothing.
type Spending struct {
	Tenants map[string]Spent
	Keys    map[KeyName]Spent
}

// Spending adds up the day and the month that now lies in, for budgets.
func (l *Ledger) Spending(ctx context.Context, now time.Time) (Spending, error) {
	now = now.UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	groups, err := l.Sums(ctx, Query{By: []Dimension{Tenant, Key, Day}, From: month, To: month.AddDate(0, 1, 0)})
	if err != nil {
		return Spending{}, err
	}
	s := Spending{Tenants: map[string]Spent{}, Keys: map[KeyName]Spent{}}
	today := now.Format(time.DateOnly)
	for _, g := range groups {
		cost := Spent{Month: NanoUSD(g.InputCost + g.OutputCost)}
		if g.Values[2] == today {
			cost.Day = cost.Month
		}
		key := KeyName{g.Values[0], g.Values[1]}
		s.Tenants[key.Tenant] = s.Tenants[key.Tenant].plus(cost)
		s.Keys[key] = s.Keys[key].plus(cost)
	}
	return s, nil
}

func (s Spent) plus(o Spent) Spent { return Spent{s.Day + o.Day, s.Month + o.Month} }
