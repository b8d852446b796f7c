package usage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/storeurl"
)

// Open opens the ledger that a configuration names as its store of usage:
// sqlite:FILE, a postgres:// URL, or none, which keeps sums in memory and no
// requests. Files and tables that are not there are created. Errors never hold a
// password.
func Open(ctx context.Context, spec string, o Options) (*Ledger, error) {
	s, err := openStore(ctx, spec, o, true)
	if err != nil {
		return nil, err
	}
	return newLedger(s, o), nil
}

// NewMemory returns a ledger that keeps sums in memory.
func NewMemory(o Options) *Ledger { return newLedger(newMemory(), o) }

// Reader reads what ledgers wrote, also while they write.
type Reader struct{ store store }

// OpenReader opens a store as Open does, and creates nothing.
func OpenReader(ctx context.Context, spec string, o Options) (*Reader, error) {
	s, err := openStore(ctx, spec, o, false)
	if err != nil {
		return nil, err
	}
	return &Reader{s}, nil
}

// Close closes the store.
func (r *Reader) Close() error { return r.store.close() }

// Sums adds up what records say.
func (r *Reader) Sums(ctx context.Context, q Query) ([]Group, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	rows, err := r.store.sums(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("reading usage: %w", err)
	}
	return gather(rows), nil
}

// Requests calls each for every record from a time until before another that the
// store still has, in the order in which they ended. The record is valid until
// each returns.
func (r *Reader) Requests(ctx context.Context, from, to time.Time, each func(*Record) error) error {
	if err := r.store.requests(ctx, from, to, each); err != nil {
		return fmt.Errorf("reading requests: %w", err)
	}
	return nil
}

// CheckSpec checks the form of a store of usage. The error does not quote a URL,
// which could hold a password.
func CheckSpec(spec string) error {
	file, isFile := strings.CutPrefix(spec, "sqlite:")
	switch {
	case spec == "none", storeurl.IsPostgres(spec):
		return nil
	case isFile && file == "":
		return errors.New("expected sqlite:FILE, got no file")
	case isFile:
		return nil
	}
	return errors.New("expected sqlite:FILE, a URL like postgres://user@host/database, or none")
}

// Place names where usage is kept, for people: a file's whole path, a database without
// user and password, or memory.
func Place(spec string) string {
	switch path, isFile := strings.CutPrefix(spec, "sqlite:"); {
	case isFile:
		if whole, err := filepath.Abs(path); err == nil {
			return whole
		}
		return path
	case storeurl.IsPostgres(spec):
		if u, err := storeurl.Postgres(spec); err == nil {
			return "postgres://" + u.Host + u.Path
		}
		return "postgres"
	}
	return "memory"
}

func openStore(ctx context.Context, spec string, o Options, create bool) (store, error) {
	if err := CheckSpec(spec); err != nil {
		return nil, err
	}
	if spec == "none" {
		if !create {
			return nil, errors.New("usage is kept in the gateway's memory only: ask its admin listener for /admin/usage")
		}
		return newMemory(), nil
	}
	if storeurl.IsPostgres(spec) {
		return openPostgres(ctx, spec, o.Password, create)
	}
	path := strings.TrimPrefix(spec, "sqlite:")
	if !create {
		return openSQLite(ctx, path, false)
	}
	return openFile(ctx, path, o.Logger)
}
