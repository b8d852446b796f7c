package usage

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file that somebody removes, or puts another one in the place of, is noticed: the
// log says so, and what is written from then on is in the file under the name.
func TestFileThatIsRemovedIsBegunAnew(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"removed": func(path string) error {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Remove(path + suffix); err != nil && !os.IsNotExist(err) {
					return err
				}
			}
			return nil
		},
		"moved away": func(path string) error { return os.Rename(path, path+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "usage.db")
			var logs strings.Builder
			l, err := Open(t.Context(), "sqlite:"+path, Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
			if err != nil {
				t.Fatal(err)
			}
			append1 := func(id string) {
				l.Append(&Record{RequestID: id, At: time.Now(), Tenant: "a", Alias: "b", Outcome: "ok", OK: true})
			}
			append1("before")
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			append1("after")
			if err := l.Flush(t.Context()); err == nil { // the ticker may have found it first
				t.Log("found by the ticker")
			}
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(logs.String(), "removed or replaced") || !strings.Contains(logs.String(), "written again") {
				t.Errorf("log %s", logs.String())
			}
			r, err := OpenReader(t.Context(), "sqlite:"+path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			var ids []string
			err = r.Requests(t.Context(), time.Time{}, time.Now().Add(time.Hour), func(r *Record) error {
				ids = append(ids, r.RequestID)
				return nil
			})
			if err != nil || len(ids) != 1 || ids[0] != "after" {
				t.Errorf("the file holds %v, error %v", ids, err)
			}
		})
	}
}
