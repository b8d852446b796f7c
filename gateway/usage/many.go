package usage

import (
	"context"
	"database/sql"
	"math/bits"
	"runtime"
)

// rowsPerInsert are at most written at once, each time a round trip to Postgres.
const rowsPerInsert = 64

// many is a statement for any number of rows. It is prepared for 1, 2, 4, … and
// rowsPerInsert rows when they are first needed, for parsing it takes longer than
// running it. Nothing runs twice at once.
type many struct {
	statement func(rows int) string
	prepared  [8]*sql.Stmt // by the logarithm of their rows
}

// power is how many of n rows are written at once: the exponent of a power of 2.
func power(n int) int { return bits.Len(uint(min(n, rowsPerInsert))) - 1 }

// prepare prepares what n rows need. It comes before the transaction: within it,
// another connection would be taken to prepare them.
func (m *many) prepare(ctx context.Context, db *sql.DB, n int) (err error) {
	for n > 0 {
		p := power(n)
		if m.prepared[p] == nil {
			if m.prepared[p], err = db.PrepareContext(ctx, m.statement(1<<p)); err != nil {
				return err
			}
		}
		n -= 1 << p
	}
	return nil
}

// write runs the prepared statement for all rows, of which add appends the columns.
func write[T any](ctx context.Context, tx *sql.Tx, m *many, rows []T, add func([]any, *T) []any) error {
	var args []any
	for len(rows) > 0 {
		p := power(len(rows))
		args = args[:0]
		for i := range 1 << p {
			args = add(args, &rows[i])
		}
		if _, err := tx.StmtContext(ctx, m.prepared[p]).ExecContext(ctx, args...); err != nil {
			return err
		}
		rows = rows[1<<p:]
		runtime.Gosched() // SQLite computes for milliseconds, in which requests wait
	}
	return nil
}
