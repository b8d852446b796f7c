package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// openSQLite opens a file. Write-ahead logging lets others read while the ledger
// writes; with synchronous=FULL a commit is on the disk, which costs two syncs a
// second and is what makes "at most the last second" true for a crash of the whole
// machine, too.
func openSQLite(ctx context.Context, path string, create bool) (*database, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the usage file %s: %w", path, err)
	}
	if err := provide(path, create); err != nil {
		return nil, fmt.Errorf("opening the usage file %s: %w", path, err)
	}
	settings := "_busy_timeout=2000&_synchronous=FULL&_txlock=immediate"
	if !create {
		settings = "_busy_timeout=2000&_query_only=1"
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: settings}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("opening the usage file %s: %w", path, err)
	}
	db.SetMaxOpenConns(4) // one writes, the others read
	d := newDatabase(db, func(int) string { return "?" }, explainSQLite)
	if err := d.setUpSQLite(ctx, create); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the usage file %s: %w", path, err), db.Close())
	}
	return d, nil
}

// provide makes a file that is not there, with its folder, for the owner alone.
// SQLite gives the files that it makes beside it the same mode.
func provide(path string, create bool) error {
	if !create {
		_, err := os.Stat(path)
		return bare(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return bare(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return bare(err)
	}
	return file.Close()
}

// bare is an error of the file system without the path, which the caller names.
func bare(err error) error {
	if where, ok := errors.AsType[*fs.PathError](err); ok && where.Op != "mkdir" {
		return where.Err
	}
	return err
}

func (d *database) setUpSQLite(ctx context.Context, create bool) error {
	const ours = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'llmctl_usage_schema'"
	const others = "SELECT COUNT(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
	if err := d.setUp(ctx, setUp{ours: ours, others: others, create: create}); err != nil {
		return err
	}
	if !create {
		return nil
	}
	_, err := d.db.ExecContext(ctx, "PRAGMA journal_mode = WAL") // the file keeps it
	return d.explain(err)
}

// explainSQLite says what to do about the errors that people meet.
func explainSQLite(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	text := ""
	switch e.Code() & 0xff { // the rest is detail
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		text = "the file is damaged or no SQLite database; move it away, and a new one is begun"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		text = "another program has locked the file"
	case sqlite3.SQLITE_FULL:
		text = "the disk is full"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		text = "the file or its folder is not writable"
	case sqlite3.SQLITE_CANTOPEN:
		text = "the file cannot be opened"
	case sqlite3.SQLITE_IOERR:
		text = "the disk failed"
	default:
		return err
	}
	return fmt.Errorf("%s (%w)", text, err)
}
