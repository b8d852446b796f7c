package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// good is a line of records.jsonl without its end.
func good(id int) string {
	r := full()
	r.ID = int64(id)
	r.Clean()
	return string(r.AppendJSON(nil))
}

// with is a good line in which one text stands for another.
func with(t *testing.T, id int, old, replacement string) string {
	t.Helper()
	line := good(id)
	if strings.Count(line, old) != 1 {
		t.Fatalf("%s holds %q %d times", line, old, strings.Count(line, old))
	}
	return strings.Replace(line, old, replacement, 1)
}

func frame(lines ...string) []byte {
	encoder, _ := zstd.NewWriter(nil)
	return encoder.EncodeAll([]byte(strings.Join(lines, "\n")+"\n"), nil)
}

// Whatever happens to the records of a run, a reader is told, and counts each
// request at most once.
func TestDamagedRecords(t *testing.T) {
	a, b, c := frame(good(0), good(1)), frame(good(2), good(3)), frame(good(4), good(5))
	whole := slices.Concat(a, b, c)
	flipped := slices.Clone(whole)
	flipped[len(a)+len(b)/2] ^= 0xff
	replaced := func(line string) []byte { return slices.Concat(a, b, frame(line, good(5))) }
	all, but4 := []int64{0, 1, 2, 3, 4, 5}, []int64{0, 1, 2, 3, 5}
	for _, tc := range []struct {
		name  string
		file  []byte
		ids   []int64
		codes string
	}{
		{"whole", whole, all, ""},
		{"frames in another order", slices.Concat(c, a, b), []int64{4, 5, 0, 1, 2, 3}, ""},
		{"empty", nil, nil, RecordsMissing},
		{"cut between two frames", slices.Concat(a, b), []int64{0, 1, 2, 3}, RecordsMissing},
		{"first frame dropped", slices.Concat(b, c), []int64{2, 3, 4, 5}, RecordsMissing},
		{"frame in the middle dropped", slices.Concat(a, c), []int64{0, 1, 4, 5}, RecordsMissing},
		{"last frame twice", slices.Concat(whole, c), all, RecordsRepeated},
		{"all of it twice", slices.Concat(whole, whole), all, RecordsRepeated},
		{"one frame for another", slices.Concat(a, b, b), []int64{0, 1, 2, 3}, RecordsMissing + " " + RecordsRepeated},
		{"records of another run", slices.Concat(whole, frame(good(6))), []int64{0, 1, 2, 3, 4, 5, 6}, RecordsDamaged},
		{"cut in a frame", whole[:len(whole)-5], []int64{0, 1, 2, 3}, RecordsTruncated + " " + RecordsMissing},
		{"last line without its end", slices.Concat(a, b, frame(good(4)), mustTrim(good(5))), []int64{0, 1, 2, 3, 4}, RecordsTruncated + " " + RecordsMissing},
		{"bit flipped", flipped, []int64{0, 1}, RecordsDamaged + " " + RecordsMissing},
		{"something else after it", slices.Concat(whole, []byte("hello, world")), all, RecordsDamaged},
		{"line that is no JSON", replaced("hello"), but4, RecordsDamaged},
		{"empty line", replaced(""), but4, RecordsDamaged},
		{"no outcome", replaced(`{"id":4}`), but4, RecordsDamaged},
		{"unknown outcome", replaced(with(t, 4, `"outcome":"failed"`, `"outcome":"fine"`)), but4, RecordsDamaged},
		{"negative time", replaced(with(t, 4, `"scheduled_s":0`, `"scheduled_s":-1`)), but4, RecordsDamaged},
		{"sent before it was due", replaced(with(t, 4, `"scheduled_s":0`, `"scheduled_s":0.5`)), but4, RecordsDamaged},
		{"written before it was sent", replaced(with(t, 4, `"wrote_s":0.0015`, `"wrote_s":0`)), but4, RecordsDamaged},
		{"first token before the first byte", replaced(with(t, 4, `"first_byte_s":1,`, `"first_byte_s":1.15,`)), but4, RecordsDamaged},
		{"last token before the first", replaced(with(t, 4, `"last_s":90,`, `"last_s":1,`)), but4, RecordsDamaged},
		{"closed before the end", replaced(with(t, 4, `"closed_s":91`, `"closed_s":90`)), but4, RecordsDamaged},
		{"finished before it was sent", replaced(with(t, 4, `"finished_s":90.000000001`, `"finished_s":0`)), but4, RecordsDamaged},
		{"chunks in another order", replaced(with(t, 4, `[[1.1,3],[90,1]]`, `[[90,1],[1.1,3]]`)), but4, RecordsDamaged},
		{"negative chunk", replaced(with(t, 4, `[[1.1,3],[90,1]]`, `[[-1.1,3],[90,1]]`)), but4, RecordsDamaged},
		{"more cached than prompt", replaced(with(t, 4, `"cached_tokens":0`, `"cached_tokens":9999`)), but4, RecordsDamaged},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := save(t, 6)
			if err := os.WriteFile(filepath.Join(path, RecordsFile), tc.file, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // reading again tells nothing twice
				if ids := collect(s); !slices.Equal(ids, tc.ids) {
					t.Errorf("records %v, want %v", ids, tc.ids)
				}
			}
			if got := codesOf(s.Warnings()); got != tc.codes {
				t.Errorf("warnings %v, want %q", s.Warnings(), tc.codes)
			}
			for _, w := range s.Warnings() {
				if !w.Damage() || Printable(w.Text) != w.Text {
					t.Errorf("%+v is no damage, or not printable", w)
				}
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		path := save(t, 6)
		if err := os.Remove(filepath.Join(path, RecordsFile)); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if ids := collect(s); ids != nil || s.Err() == nil || codesOf(s.Warnings()) != RecordsDamaged+" "+RecordsMissing {
			t.Errorf("records %v, error %v, warnings %v", ids, s.Err(), s.Warnings())
		}
	})
	t.Run("reader that stops early", func(t *testing.T) {
		s, err := Open(save(t, 6))
		if err != nil {
			t.Fatal(err)
		}
		for range s.Records() {
			break
		}
		if s.Warnings() != nil || s.Err() != nil {
			t.Errorf("warnings %v, error %v", s.Warnings(), s.Err())
		}
	})
}

// mustTrim is a frame of one line without its end.
func mustTrim(line string) []byte {
	encoder, _ := zstd.NewWriter(nil)
	return encoder.EncodeAll([]byte(line), nil)
}

func codesOf(warnings []Warning) string {
	var codes []string
	for _, w := range warnings {
		codes = append(codes, w.Code)
	}
	return strings.Join(codes, " ")
}

// A killed run lost what it lost: that is told once, and is no damage.
func TestKilledRunIsNotDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	d, err := CreateDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteRun(exampleRun(), nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	file := slices.Concat(frame(good(0)), frame(good(1)))
	if err := os.WriteFile(filepath.Join(path, RecordsFile), file[:len(file)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if ids := collect(s); !slices.Equal(ids, []int64{0}) || s.Run.Records.Known() || codesOf(s.Warnings()) != Unfinished+" "+RecordsTruncated {
		t.Errorf("records %v of %v, warnings %v", ids, s.Run.Records, s.Warnings())
	}
}

// What was measured must pass the check, whatever moments are absent.
func TestCheckAccepts(t *testing.T) {
	for _, r := range []*Record{
		{Outcome: Dropped},
		{Outcome: Dropped, Scheduled: At(time.Second)},
		{Outcome: Cut, Sent: At(time.Second), FirstByte: At(3 * time.Second), Closed: At(2 * time.Second)}, // the first byte came while it was cut
		{Outcome: OK, Sent: At(0), Wrote: At(5 * time.Second), First: At(time.Second), Last: At(2 * time.Second)},
		{Outcome: OK, Sent: At(0), First: At(time.Second), Finished: At(time.Second), Last: At(2 * time.Second), Closed: At(2 * time.Second)},
	} {
		if err := r.check(); err != nil {
			t.Errorf("%s: %v", r.AppendJSON(nil), err)
		}
	}
}

func TestIDSet(t *testing.T) {
	s := idSet{}
	ids := []int64{0, 1, 63, 64, 4095, 4096, -1, -4096, 1 << 62, -1 << 63}
	for round := range 2 {
		for _, id := range ids {
			if s.add(id) != (round == 0) {
				t.Errorf("round %d: id %d", round, id)
			}
		}
	}
	if s.add(2) != true {
		t.Error("2 was never added")
	}
}

// A reader must find every run.json that says less than it should.
func TestFactsAreNeeded(t *testing.T) {
	for _, facts := range []string{`null`, ` null `, `[]`, `"facts"`, `7`, `{"records":-1}`} {
		path := t.TempDir()
		text := bytes.NewBufferString(fmt.Sprintf(`{"schema":%q,"facts":%s}`, RunSchema, facts))
		if err := os.WriteFile(filepath.Join(path, RunFile), text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil {
			t.Errorf("facts %s were accepted", facts)
		}
	}
}
