package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// file is a store in a SQLite file that stays the one under its name. A file that
// was removed or replaced goes on to exist for whoever has it open, so that
// everything written to it would be gone at the end without an error; before each
// batch it is looked at, and opened anew.
type file struct {
	path  string
	owner owner // used by the one that writes

	mu   sync.RWMutex // held for writing while the database is exchanged
	same os.FileInfo  // of the file that is open
	db   *database
}

var errReplaced = errors.New("the file was removed or replaced; the one under its name now is used from here on")

// openFile opens the file, and tells the log when another process has it, too.
func openFile(ctx context.Context, path string, log *slog.Logger) (*file, error) {
	f := &file{path: path}
	if err := f.open(ctx); err != nil {
		return nil, err
	}
	var other string
	if f.owner, other = own(path); other != "" && log != nil {
		log.Warn("usage is also kept there by another process, and each counts limits and budgets for itself: unless that one is about to end, "+
			"give each gateway a file of its own, or share store.usage on Postgres and store.limits on Redis", "file", path, "other", other)
	}
	return f, nil
}

func (f *file) open(ctx context.Context) error {
	db, err := openSQLite(ctx, f.path, true)
	if err != nil {
		return err
	}
	same, err := os.Stat(f.path)
	if err != nil {
		return errors.Join(fmt.Errorf("opening the usage file: %w", err), db.close())
	}
	f.db, f.same = db, same
	return nil
}

// write fails once when it finds another file, which the ledger tells people, and
// goes on with that one.
func (f *file) write(ctx context.Context, batch []Record) error {
	f.owner.take() // once the other process has ended
	now, err := os.Stat(f.path)
	if err == nil && os.SameFile(now, f.same) {
		return f.db.write(ctx, batch)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.db
	if err := f.open(ctx); err != nil {
		return err
	}
	_ = old.close() // nothing waits there to be written
	return errReplaced
}

func (f *file) prune(ctx context.Context, before time.Time) (bool, error) {
	return f.db.prune(ctx, before) // by the one that writes
}

func (f *file) sums(ctx context.Context, q Query) ([]row, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.db.sums(ctx, q)
}

func (f *file) requests(ctx context.Context, from, to time.Time, each func(*Record) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.db.requests(ctx, from, to, each)
}

func (f *file) close() error {
	f.owner.close()
	return f.db.close()
}
