package usage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPostgres opens a database by its URL; a password that is given apart takes
// the place of one in the URL.
func openPostgres(ctx context.Context, address, password string, create bool) (store, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("opening the usage database: expected a URL like postgres://user@host:5432/database") // the cause may quote it
	}
	if password != "" {
		c.Password = password
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "llmctl-gateway"
	}
	where := fmt.Sprintf("opening the usage database %s at %s:%d", c.Database, c.Host, c.Port)
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(4)
	db.SetConnMaxIdleTime(time.Minute)
	d := newDatabase(db, func(n int) string { return "$" + strconv.Itoa(n) }, func(err error) error { return err })
	// The lock is any number that nobody else uses: the letters "llmctl".
	err = d.setUp(ctx, setUp{
		lock:   "SELECT pg_advisory_xact_lock(119212947502188)",
		ours:   "SELECT CASE WHEN to_regclass('llmctl_usage_schema') IS NULL THEN 0 ELSE 1 END",
		create: create,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", where, err), db.Close())
	}
	return d, nil
}
