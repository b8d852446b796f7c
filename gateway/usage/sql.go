package usage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// database is a store in SQLite or Postgres. Both have the same tables and, but for
// the form of placeholders, get the same statements.
type database struct {
	db          *sql.DB
	placeholder func(n int) string // of the n-th argument, from 1
	explain     func(error) error  // makes the driver's errors clear

	inserts, upserts many // of requests and of sums; only write uses them, which never runs twice at once
}

const pruneSlice = 5000 // requests that are deleted at once

func newDatabase(db *sql.DB, placeholder func(int) string, explain func(error) error) *database {
	d := &database{db: db, placeholder: placeholder, explain: explain}
	d.inserts.statement, d.upserts.statement = d.insert, d.upsert
	return d
}

// insert is the statement that adds n requests.
func (d *database) insert(n int) string {
	names := make([]string, len(requestColumns))
	for i, c := range requestColumns {
		names[i] = c.name
	}
	return "INSERT INTO llmctl_requests (" + strings.Join(names, ", ") + ") VALUES " + d.values(n, len(names))
}

// values is n rows of placeholders.
func (d *database) values(n, width int) string {
	var b strings.Builder
	for i := range n * width {
		switch {
		case i == 0:
			b.WriteByte('(')
		case i%width == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		b.WriteString(d.placeholder(i + 1))
	}
	b.WriteByte(')')
	return b.String()
}

// upsert is the statement that adds n sums to those of their bins.
func (d *database) upsert(n int) string {
	names, updates := slices.Clone(binColumns), make([]string, len(columns))
	for i, c := range columns {
		names = append(names, c.name)
		updates[i] = fmt.Sprintf("%s = llmctl_usage.%[1]s + excluded.%[1]s", c.name)
	}
	return "INSERT INTO llmctl_usage (" + strings.Join(names, ", ") + ") VALUES " + d.values(n, len(names)) +
		" ON CONFLICT (" + strings.Join(binColumns, ", ") + ") DO UPDATE SET " + strings.Join(updates, ", ")
}

func (d *database) write(ctx context.Context, batch []Record) error {
	sums := sumsOf(batch)
	if err := errors.Join(d.inserts.prepare(ctx, d.db, len(batch)), d.upserts.prepare(ctx, d.db, len(sums))); err != nil {
		return d.explain(err)
	}
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	written, err := d.known(ctx, tx, batch[0].id)
	if written || err != nil {
		return d.explain(err)
	}
	if err := d.addRequests(ctx, tx, batch); err != nil {
		return d.explain(err)
	}
	if err := d.addSums(ctx, tx, sums); err != nil {
		return d.explain(err)
	}
	return d.explain(tx.Commit())
}

// known tells whether the request is kept, and so the whole batch that it begins.
func (d *database) known(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	var found int
	err := tx.QueryRowContext(ctx, "SELECT 1 FROM llmctl_requests WHERE id = "+d.placeholder(1), id).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (d *database) addRequests(ctx context.Context, tx *sql.Tx, batch []Record) error {
	return write(ctx, tx, &d.inserts, batch, func(args []any, r *Record) []any {
		for _, c := range requestColumns {
			args = append(args, c.value(r))
		}
		return args
	})
}

func sumsOf(batch []Record) map[bin]*Sums {
	sums := map[bin]*Sums{}
	for i := range batch {
		b := binOf(&batch[i])
		if sums[b] == nil {
			sums[b] = &Sums{}
		}
		sums[b].take(&batch[i])
	}
	return sums
}

// addSums adds the sums of a batch to those of their bins, in one order everywhere:
// two gateways that lock the same rows must not wait for each other.
func (d *database) addSums(ctx context.Context, tx *sql.Tx, sums map[bin]*Sums) error {
	bins := slices.SortedFunc(maps.Keys(sums), bin.compare)
	return write(ctx, tx, &d.upserts, bins, func(args []any, b *bin) []any {
		args = append(args, b.values()...)
		sum := sums[*b]
		for _, c := range columns {
			args = append(args, *c.of(sum))
		}
		return args
	})
}

func (d *database) prune(ctx context.Context, before time.Time) (bool, error) {
	result, err := d.db.ExecContext(ctx, fmt.Sprintf(
		"DELETE FROM llmctl_requests WHERE id IN (SELECT id FROM llmctl_requests WHERE at_us < %s ORDER BY at_us LIMIT %d)",
		d.placeholder(1), pruneSlice), before.UnixMicro())
	if err != nil {
		return false, d.explain(err)
	}
	n, err := result.RowsAffected()
	return n == pruneSlice, d.explain(err)
}

func (d *database) close() error { return d.explain(d.db.Close()) }

// binColumns are the columns of bin, in the order of its values.
var binColumns = []string{"hour", "tenant", "key_name", "alias", "provider", "model", "arm", "class", "saved_by"}

func (b bin) values() []any {
	values := make([]any, 0, len(binColumns)+len(columns))
	return append(values, b.hour, clean(b.tenant), clean(b.key), clean(b.alias), clean(b.provider), clean(b.model), clean(b.arm), clean(b.class), string(b.saved))
}

func (b bin) compare(o bin) int {
	return cmp.Or(
		cmp.Compare(b.hour, o.hour),
		cmp.Compare(b.tenant, o.tenant), cmp.Compare(b.key, o.key), cmp.Compare(b.alias, o.alias),
		cmp.Compare(b.provider, o.provider), cmp.Compare(b.model, o.model),
		cmp.Compare(b.arm, o.arm), cmp.Compare(b.class, o.class), cmp.Compare(b.saved, o.saved),
	)
}

// clean takes out what no database keeps as text.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
