package record

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func idsBack(t *testing.T, readBack func(func(*Record) bool) error) (ids []int64) {
	t.Helper()
	if err := readBack(func(r *Record) bool { ids = append(ids, r.ID); return true }); err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestSpool: what goes in comes back whole, more than once, and nothing stays.
func TestSpool(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T){
		"in a file": func(t *testing.T) { t.Setenv("TMPDIR", t.TempDir()) },
		"in memory": func(t *testing.T) { t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent")) },
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			s := NewSpool()
			want := full()
			want.Clean()
			if err := s.Add(want); err != nil {
				t.Fatal(err)
			}
			add(t, s.Writer, 8, 9)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				var back []*Record
				if err := s.ReadBack(func(r *Record) bool { back = append(back, r); return len(back) < 2 }); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, back[0]); diff != "" || len(back) != 2 || back[1].ID != 8 {
					t.Errorf("%d records (-want +got):\n%s", len(back), diff)
				}
			}
			s.Remove()
			s.Remove()
			if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// TestReadBackFromFullDisk: records that found no room on disk come back too.
func TestReadBackFromFullDisk(t *testing.T) {
	file := &memoryFile{limit: 0}
	w := NewWriter(file)
	add(t, w, 1, 2)
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "bytes of records wait in memory") {
		t.Fatalf("closed with %v", err)
	}
	back := idsBack(t, func(yield func(*Record) bool) error { return w.readBack(bytes.NewReader(file.data), yield) })
	if !slices.Equal(back, []int64{1, 2}) {
		t.Errorf("records %v came back", back)
	}
}

func TestReadBackFromDir(t *testing.T) {
	dir, err := CreateDir(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	add(t, dir.Writer, 3, 4)
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if back := idsBack(t, dir.ReadBack); !slices.Equal(back, []int64{3, 4}) {
		t.Errorf("records %v came back", back)
	}
	if err := os.WriteFile(filepath.Join(dir.Path(), RecordsFile), []byte("no zstd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dir.ReadBack(func(*Record) bool { return true }); err == nil {
		t.Error("a file of something else was read")
	}
}
