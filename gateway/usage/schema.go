package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// schemaVersion is that of the tables below. A database of a higher one was
// written by a newer llmctl.
const schemaVersion = 1

// schema creates the tables of schemaVersion.
func schema() []string {
	requests := make([]string, len(requestColumns))
	for i, c := range requestColumns {
		requests[i] = c.name + " " + c.declared
	}
	var hours []string
	for _, name := range binColumns {
		declared := textType
		if name == "hour" {
			declared = numberType
		}
		hours = append(hours, name+" "+declared)
	}
	for _, c := range columns {
		hours = append(hours, c.name+" "+numberType)
	}
	hours = append(hours, "PRIMARY KEY ("+strings.Join(binColumns, ", ")+")")
	return []string{
		"CREATE TABLE llmctl_requests (" + strings.Join(requests, ", ") + ")",
		"CREATE INDEX llmctl_requests_at ON llmctl_requests (at_us)",
		"CREATE TABLE llmctl_usage (" + strings.Join(hours, ", ") + ")",
		"CREATE TABLE llmctl_usage_schema (version BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO llmctl_usage_schema (version) VALUES (%d)", schemaVersion),
	}
}

// setUp is what differs between databases when tables are created and checked.
type setUp struct {
	lock   string // makes others wait who do the same; empty where a transaction does
	ours   string // counts tables of ours
	others string // counts all tables, where none but ours may be; else empty
	create bool
}

// setUp creates the tables in a database that has none yet, and checks the version
// of those that are there.
func (d *database) setUp(ctx context.Context, s setUp) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if s.lock != "" {
		if _, err := tx.ExecContext(ctx, s.lock); err != nil {
			return d.explain(err)
		}
	}
	ours, others := 0, 0
	if err := tx.QueryRowContext(ctx, s.ours).Scan(&ours); err != nil {
		return d.explain(err)
	}
	if ours > 0 {
		return d.explain(checkVersion(ctx, tx))
	}
	if !s.create {
		return errors.New("no gateway has kept usage there yet")
	}
	if s.others != "" {
		if err := tx.QueryRowContext(ctx, s.others).Scan(&others); err != nil {
			return d.explain(err)
		}
	}
	if others > 0 {
		return errors.New("it is the database of something else, expected a new file or one of llmctl's usage")
	}
	for _, statement := range schema() {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return d.explain(err)
		}
	}
	return d.explain(tx.Commit())
}

func checkVersion(ctx context.Context, tx *sql.Tx) error {
	var version int
	if err := tx.QueryRowContext(ctx, "SELECT version FROM llmctl_usage_schema").Scan(&version); err != nil {
		return err
	}
	if version > schemaVersion {
		return fmt.Errorf("the usage was written by a newer llmctl (version %d of its tables, this one knows %d): use that, or another database", version, schemaVersion)
	}
	if version < schemaVersion {
		return fmt.Errorf("version %d of the tables is none of llmctl's", version)
	}
	return nil
}
