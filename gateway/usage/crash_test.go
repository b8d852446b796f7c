package usage

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeUntilKilled appends records and says how many of them the ledger has called
// written.
func writeUntilKilled(path string) {
	l, err := Open(context.Background(), "sqlite:"+path, Options{Keep: forever})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		l.Append(sample())
		s := l.Stats()
		if s.Appended-s.Written > 2*batchSize { // it outruns any disk
			_ = l.Flush(context.Background())
			fmt.Println(l.Stats().Written)
		}
	}
}

// Of a gateway that is killed, everything is kept that the ledger called written,
// and TestRecordsReachTheStoreWithinASecond says how long that takes. The file can
// be used at once, and the sums are those of the requests.
func TestKilledProcessLosesNothingThatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage.db")
	for round := range 3 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-doomed-file", path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines, written := bufio.NewScanner(out), int64(0)
		for written < 4*batchSize && lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &written); err != nil {
				t.Fatalf("the child says %q", lines.Text())
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // killed
		l := reopen(t, path, Options{})
		kept := len(everything(t, l.store))
		if int64(kept) < written || written < 4*batchSize {
			t.Errorf("round %d: %d requests are kept of %d that were written", round, kept, written)
		}
		if sums := mustSums(t, l, month()); sums[0].Requests != int64(kept) || sums[0].Input != 100*int64(kept) {
			t.Errorf("round %d: sums of %d requests, want %d", round, sums[0].Requests, kept)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// single gives a ledger over SQLite one connection, whose settings a test changes.
func single(t *testing.T) (*Ledger, *sql.DB) {
	t.Helper()
	l, _ := openTest(t, Options{})
	db := l.store.(*file).db.db
	db.SetMaxOpenConns(1)
	return l, db
}

func exec1(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestFullDiskIsSurvived(t *testing.T) {
	l, db := single(t)
	exec1(t, db, "PRAGMA max_page_count = 1") // SQLite makes that the pages there are
	for range batchSize {
		l.Append(sample())
	}
	if err := l.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("error %v", err)
	}
	if s := l.Stats(); s.Written != 0 || s.Lost != 0 || !s.Failing {
		t.Errorf("%+v", s)
	}
	exec1(t, db, "PRAGMA max_page_count = 100000")
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := mustSums(t, l, month()); got[0].Requests != batchSize {
		t.Errorf("%d requests, want %d", got[0].Requests, batchSize)
	}
}

func TestLockedFileIsSurvived(t *testing.T) {
	l, db := single(t)
	exec1(t, db, "PRAGMA busy_timeout = 0")
	var seq int
	var name, path string
	if err := db.QueryRowContext(t.Context(), "PRAGMA database_list").Scan(&seq, &name, &path); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	other.SetMaxOpenConns(1)
	exec1(t, other, "BEGIN EXCLUSIVE")
	l.Append(sample())
	if err := l.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("error %v", err)
	}
	exec1(t, other, "ROLLBACK")
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := mustSums(t, l, month()); got[0].Requests != 1 {
		t.Errorf("%d requests, want 1", got[0].Requests)
	}
}

// A clock that jumps puts records where it says, loses none, and deletes none.
func TestClockThatJumpsLosesNothing(t *testing.T) {
	l, _ := openTest(t, Options{})
	l.Append(sample())
	l.Append(sample(func(r *Record) { r.At = noon.AddDate(73, 0, 0) }))
	l.Append(sample(func(r *Record) { r.At = time.Unix(-5000, 0) }))
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(brief(mustSums(t, l, Query{By: []Dimension{Day}, From: time.Unix(-7200, 0), To: noon.AddDate(100, 0, 0)})))
	if want := "[[1970-01-01] 1 100/20 $0.00008 [2026-03-14] 1 100/20 $0.00008 [2099-03-14] 1 100/20 $0.00008]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
