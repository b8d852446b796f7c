package usage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/optional"
)

func everything(t *testing.T, s store) []Record {
	t.Helper()
	var all []Record
	err := s.requests(t.Context(), time.Unix(0, 0), noon.AddDate(10, 0, 0), func(r *Record) error { all = append(all, *r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// batchOf numbers records as the ledger does.
func batchOf(first int, records ...*Record) []Record {
	batch := make([]Record, len(records))
	for i, r := range records {
		batch[i] = *r
		batch[i].id = fmt.Sprintf("id-%05d", first+i)
	}
	return batch
}

// testDatabase is what SQLite and Postgres both have to do.
func testDatabase(t *testing.T, open func(*testing.T) store) {
	t.Run("a request comes back as it was", func(t *testing.T) {
		s := open(t)
		bare := &Record{RequestID: "r2", At: noon.Add(time.Hour), Tenant: "t", Tokens: Tokens{Input: 3, Estimated: true}, Fallback: true}
		batch := batchOf(1, sample(func(r *Record) {
			r.EngineQueue = optional.Measured(0)
			r.Saved = Saved{By: Cancellation, Output: 9, Cost: Known(7)}
		}), bare)
		if err := s.write(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(batch, everything(t, s), cmp.AllowUnexported(Record{}, Amount{})); diff != "" {
			t.Errorf("(-wrote +read)\n%s", diff)
		}
	})
	t.Run("a batch that is written twice counts once", func(t *testing.T) {
		s := open(t)
		batch := batchOf(1, sample(), sample())
		for range 2 {
			if err := s.write(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(everything(t, s)); got != 2 {
			t.Errorf("%d requests, want 2", got)
		}
		if got := mustSums(t, &Reader{s}, month()); got[0].Requests != 2 {
			t.Errorf("sums of %d requests, want 2", got[0].Requests)
		}
	})
	t.Run("a batch that fails leaves nothing", func(t *testing.T) {
		s := open(t)
		clash := batchOf(1, sample(), sample())
		clash[1].id = clash[0].id
		if err := s.write(t.Context(), clash); err == nil {
			t.Fatal("two requests of one id were kept")
		}
		if got := everything(t, s); len(got) != 0 {
			t.Errorf("%d requests are left", len(got))
		}
		if got := mustSums(t, &Reader{s}, month()); len(got) != 0 {
			t.Errorf("sums are left: %v", brief(got))
		}
	})
	t.Run("sums outlive the requests", func(t *testing.T) {
		s := open(t)
		if err := s.write(t.Context(), batchOf(1, sample(), sample(func(r *Record) { r.At = noon.Add(time.Hour) }))); err != nil {
			t.Fatal(err)
		}
		if more, err := s.prune(t.Context(), noon.Add(time.Minute)); more || err != nil {
			t.Fatalf("more %v, error %v", more, err)
		}
		if got := everything(t, s); len(got) != 1 || !got[0].At.Equal(noon.Add(time.Hour)) {
			t.Errorf("left: %+v", got)
		}
		if got := mustSums(t, &Reader{s}, month()); got[0].Requests != 2 {
			t.Errorf("sums of %d requests, want 2", got[0].Requests)
		}
	})
	t.Run("text that databases refuse", func(t *testing.T) {
		s := open(t)
		if err := s.write(t.Context(), batchOf(1, sample(func(r *Record) { r.Model = "a\x00b\xff" }))); err != nil {
			t.Fatal(err)
		}
		if got := everything(t, s)[0].Model; got != "a\uFFFDb\uFFFD" {
			t.Errorf("model %q", got)
		}
	})
	t.Run("by every dimension", func(t *testing.T) { testSums(t, open(t)) })
	t.Run("large batches", func(t *testing.T) {
		s := open(t)
		var many []*Record
		for range 3*rowsPerInsert + 7 {
			many = append(many, sample())
		}
		if err := s.write(t.Context(), batchOf(1, many...)); err != nil {
			t.Fatal(err)
		}
		if got := len(everything(t, s)); got != len(many) {
			t.Errorf("%d requests, want %d", got, len(many))
		}
	})
}

// testSums is what every store has to do.
func testSums(t *testing.T, s store) {
	t.Helper()
	other := func(r *Record) {
		r.Tenant, r.Key, r.Alias, r.Provider, r.Model = "chat", "key-2", "large", "vendor", "big"
		r.Arm, r.Class, r.At = "canary", "batch", noon.AddDate(0, 0, 1)
	}
	saved := func(r *Record) { r.Saved = Saved{By: ExactCache, Input: 100, Output: 20, Cost: Known(80_000)} }
	batch := batchOf(1, sample(), sample(saved), sample(other), sample(func(r *Record) { r.Cost = Cost{} }),
		sample(func(r *Record) { r.At = noon.AddDate(0, -1, 0) }))
	if err := s.write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	first, second := " 3 300/60 $0.00016]", " 1 100/20 $0.00008]"
	for _, test := range []struct {
		name string
		q    Query
		want string
	}{
		{"all", month(), "[[] 4 400/80 $0.00024]"},
		{"tenant", month(Tenant), "[[chat]" + strings.TrimSuffix(second, "]") + " [search]" + first},
		{"key within tenant", month(Tenant, Key), "[[chat key-2]" + strings.TrimSuffix(second, "]") + " [search key-1]" + first},
		{"tenant and alias", month(Tenant, Alias), "[[chat large]" + strings.TrimSuffix(second, "]") + " [search small]" + first},
		{"deployment", month(Deployment), "[[cluster/real-model]" + strings.TrimSuffix(first, "]") + " [vendor/big]" + second},
		{"provider and model", month(Provider, Model), "[[cluster real-model]" + strings.TrimSuffix(first, "]") + " [vendor big]" + second},
		{"arm", month(Arm), "[[canary]" + strings.TrimSuffix(second, "]") + " [stable]" + first},
		{"class", month(Class), "[[batch]" + strings.TrimSuffix(second, "]") + " [interactive]" + first},
		{"day", month(Day), "[[2026-03-14]" + strings.TrimSuffix(first, "]") + " [2026-03-15]" + second},
		{"of one tenant", where(month(Alias), Tenant, "chat"), "[[large]" + second},
		{"of one deployment", where(month(Tenant), Deployment, "vendor/big"), "[[chat]" + second},
		{"of nobody", where(month(Alias), Tenant, "nobody"), "[]"},
		{"the second day", Query{By: []Dimension{Tenant}, From: noon.AddDate(0, 0, 1).Truncate(24 * time.Hour), To: month().To}, "[[chat]" + second},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := fmt.Sprint(brief(mustSums(t, &Reader{s}, test.q))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	g := mustSums(t, &Reader{s}, month(Tenant))[1]
	if g.Unpriced != 1 || g.Priced != 2*120 || g.Cost != 160_000 || g.Cached != 120 || g.CachedKnown != 3 {
		t.Errorf("sums %+v", g.Sums)
	}
	if s := g.Saved[ExactCache]; s == nil || s.Requests != 1 || s.SavedInput != 100 || s.SavedCost != 80_000 {
		t.Errorf("saved %+v", g.Saved)
	}
}

func where(q Query, d Dimension, value string) Query {
	q.Where = map[Dimension]string{d: value}
	return q
}

func TestSQLite(t *testing.T) {
	testDatabase(t, func(t *testing.T) store {
		s, err := openSQLite(t.Context(), filepath.Join(t.TempDir(), "usage.db"), true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.close() })
		return s
	})
}

func TestMemory(t *testing.T) {
	s := newMemory()
	testSums(t, s)
	if _, err := (&Reader{s}).Sums(t.Context(), month(Hour)); err == nil {
		t.Error("sums by the hour came from sums by the day")
	}
	if _, err := s.prune(t.Context(), noon.AddDate(0, 0, keptDays).Truncate(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := mustSums(t, &Reader{s}, Query{From: noon.AddDate(-1, 0, 0).Truncate(24 * time.Hour), To: month().To}); got[0].Requests != 4 {
		t.Errorf("%d requests are left, want the 4 of the last days", got[0].Requests)
	}
}

func TestHoursAreThoseOfUTC(t *testing.T) {
	l, _ := openTest(t, Options{})
	for _, at := range []string{"2026-03-14T12:59:59.999999Z", "2026-03-14T15:00:00+02:00", "2026-03-14T13:59:59Z"} {
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		l.Append(sample(func(r *Record) { r.At = when }))
	}
	got := fmt.Sprint(brief(mustSums(t, l, month(Hour))))
	if want := "[[2026-03-14T12:00Z] 1 100/20 $0.00008 [2026-03-14T13:00Z] 2 200/40 $0.00016]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFilesThatAreNoLedgerAreRefused(t *testing.T) {
	foreign := func(t *testing.T, statements ...string) string {
		l, path := openTest(t, Options{})
		for _, s := range statements {
			if _, err := l.store.(*file).db.db.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name string
		file func(*testing.T) string
		want string
	}{
		{"of a newer llmctl", func(t *testing.T) string { return foreign(t, "UPDATE llmctl_usage_schema SET version = 99") }, "newer llmctl (version 99"},
		{"of somebody else", func(t *testing.T) string {
			return foreign(t, "DROP TABLE llmctl_usage_schema", "CREATE TABLE recipes (name TEXT)")
		}, "something else"},
		{"damaged", func(t *testing.T) string { return written(t, strings.Repeat("no database", 1000)) }, "damaged or no SQLite database"},
		{"a folder", func(t *testing.T) string { return t.TempDir() }, "is a directory"},
		{"below a file", func(t *testing.T) string { return filepath.Join(written(t, "x"), "usage.db") }, "not a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := test.file(t)
			l, err := Open(t.Context(), "sqlite:"+path, Options{})
			if err == nil {
				_ = l.Close()
				t.Fatal("it was opened")
			}
			if text := err.Error(); !strings.Contains(text, test.want) || !strings.Contains(text, path) || strings.Contains(text, "\n") {
				t.Errorf("error %q, want one line with %q and the path", text, test.want)
			}
		})
	}
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are those of Unix")
	}
	l, path := openTest(t, Options{})
	l.Append(sample())
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) < 2 {
		t.Fatalf("%d files, error %v", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, error %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, error %v", info.Mode(), err)
	}
}

func TestReaderReadsWhileTheLedgerWrites(t *testing.T) {
	l, path := openTest(t, Options{})
	r, err := OpenReader(t.Context(), "sqlite:"+path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for i := range 3 {
		l.Append(sample())
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := mustSums(t, r, month()); got[0].Requests != int64(i+1) {
			t.Errorf("%d requests, want %d", got[0].Requests, i+1)
		}
	}
}

func TestReaderCreatesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage.db")
	for _, spec := range []string{"sqlite:" + path, "sqlite:" + written(t, ""), "none"} {
		if r, err := OpenReader(t.Context(), spec, Options{}); err == nil {
			_ = r.Close()
			t.Errorf("%s: opened", spec)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made")
	}
}

func TestCheckSpec(t *testing.T) {
	for spec, ok := range map[string]bool{
		"none": true, "sqlite:usage.db": true, "postgres://u@h/d": true, "postgresql://h/d": true,
		"": false, "sqlite:": false, "usage.db": false, "mysql://root:secret@h/d": false,
	} {
		err := CheckSpec(spec)
		if (err == nil) != ok {
			t.Errorf("%q: error %v", spec, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error holds the password: %v", err)
		}
	}
}

func TestPasswordsAreNotInErrors(t *testing.T) {
	for _, url := range []string{"postgres://u:s3cret@127.0.0.1:1/d", "postgres://u:s3cret@%zz/d", "postgres://u:s3cret@127.0.0.1:1/d?sslmode=strange"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := Open(ctx, url, Options{Password: "0ther"})
		cancel()
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "0ther") || !strings.Contains(err.Error(), "opening the usage database") {
			t.Errorf("%v", err)
		}
	}
}
