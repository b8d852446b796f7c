package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func exampleRun() Run {
	steal := 0.07
	plain := UnknownSample()
	plain.At, plain.Running, plain.Waiting, plain.KVUsage, plain.PromptTokens, plain.GenerationTokens = time.Second, 1, 0, 0.5, 10, 20
	full := UnknownSample()
	for i, n := range Numbers {
		*n.Of(&full) = float64(i)
	}
	for i, timing := range Timings {
		*timing.Of(&full) = &Histogram{Bounds: []float64{0.1, 1, math.Inf(1)}, Counts: []float64{1, 2, float64(i + 2)}, Sum: 3.5}
	}
	full.Page, full.Finished = "http://b/metrics", map[string]float64{"stop": 3}
	hot := UnknownGPU()
	hot.At, hot.PowerW, hot.EnergyJ = time.Second, 350, 0
	return Run{
		Kind: "bench", ID: "r1", Scenario: json.RawMessage(`{"model":"builtin"}`), Asked: "chat at 4/s",
		Target:      Target{Endpoint: "http://x", Model: "m", Bundled: true, Device: "cpu"},
		Environment: Environment{Version: "v1", Host: "h", OS: "linux", CPU: "c", Cores: 2, GPUs: []string{"g"}, Start: time.Unix(5, 0).UTC()},
		Window:      Window{time.Second, time.Minute},
		SLO:         []SLO{{TTFT: 500 * time.Millisecond, TPOT: 50 * time.Millisecond, Attainment: 0.99}, {Class: "batch", E2E: time.Minute}},
		SLODefault:  true, Cost: Cost{2.5, "list"},
		Client: Client{CPUFraction: 0, GCPauseP99: time.Microsecond, MaxLag: time.Millisecond, SchedLatencyP99: At(0),
			PeakRSSBytes: Counted(1), PeakHeapBytes: Counted(2), PeakGoroutines: Counted(3), CPUSteal: &steal},
		Server:      []ServerSample{plain, full},
		GPUs:        []GPUSeries{{Name: "g", Samples: []GPUSample{{1, 2, 3, 4, 5, 6, 7, 8}, hot}}, {Name: "mute"}},
		Interrupted: true, Warnings: []Warning{{"c", "t"}}, ClosedLoop: true, SharedPrefix: true, MaxFailures: 0.05, Asserts: []string{"p99(ttft) < 1s"},
		Records: Counted(0), Shard: 0, Shards: 4, StartAt: time.Unix(60, 0).UTC(),
	}
}

func TestRunRoundTrip(t *testing.T) {
	for name, want := range map[string]Run{"full": exampleRun(), "empty": {Kind: "other", Client: Client{CPUFraction: -1}}} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got Run
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// save makes a finished run of n records and returns its directory.
func save(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run")
	d, err := CreateDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := full()
		r.ID = int64(i)
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	doc := json.RawMessage(`{"schema":"llmctl/run/v1","kind":"bench","n":[1,2]}`)
	if err := d.WriteRun(exampleRun(), doc); err != nil {
		t.Fatal(err)
	}
	return path
}

func collect(s *Saved) (ids []int64) {
	for r := range s.Records() {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestSaveAndOpen(t *testing.T) {
	path := save(t, 3)
	s, err := Open(filepath.Join(path, RunFile))
	if err != nil {
		t.Fatal(err)
	}
	wantRun := exampleRun()
	wantRun.Records = Counted(3)
	if diff := cmp.Diff(wantRun, s.Run, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if got, want := string(s.Report), `{"schema":"llmctl/run/v1","kind":"bench","n":[1,2]}`; got != want {
		t.Errorf("report = %s, want %s", got, want)
	}
	if got := collect(s); !slices.Equal(got, []int64{0, 1, 2}) || s.Err() != nil || s.Warnings() != nil {
		t.Errorf("records %v, error %v, warnings %v", got, s.Err(), s.Warnings())
	}
	for r := range s.Records() {
		want := full()
		want.ID = 0
		want.Clean()
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
		break
	}
	names, err := os.ReadDir(path)
	if err != nil || len(names) != 2 {
		t.Errorf("directory holds %v (%v), want two files", names, err)
	}
}

func TestRunIsNeverOverwritten(t *testing.T) {
	path := save(t, 1)
	_, err := CreateDir(path)
	if err == nil || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("error = %v, want a refusal", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateDir(file); err == nil {
		t.Error("a file was accepted as a directory")
	}
}

func TestKilledRunIsReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	d, err := CreateDir(path)
	if err != nil {
		t.Fatal(err)
	}
	run := exampleRun()
	run.Interrupted = false
	if err := d.WriteRun(run, nil); err != nil {
		t.Fatal(err)
	}
	for id := range int64(20) {
		if err := d.Add(&Record{ID: id, Outcome: OK, Sent: At(time.Duration(id+1) * time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Run.Interrupted || s.Report != nil || s.Run.Window.End != 20*time.Second {
		t.Errorf("interrupted %v, report %s, window %v; want an interrupted run of 20 s", s.Run.Interrupted, s.Report, s.Run.Window)
	}
	if len(s.Warnings()) != 1 || s.Warnings()[0].Code != "unfinished" {
		t.Errorf("warnings = %v, want unfinished", s.Warnings())
	}
}

// Every prefix of a records file must be readable: the whole frames before the
// cut, and a warning unless the cut is between two frames.
func TestTruncatedRecords(t *testing.T) {
	file := &memoryFile{limit: math.MaxInt}
	var first int
	synctest.Test(t, func(t *testing.T) {
		w := NewWriter(file)
		add(t, w, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		first = len(file.data)
		add(t, w, 2)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
	whole := file.data
	for cut := range len(whole) + 1 {
		file.data = whole[:cut]
		ids, truncated := file.ids(t)
		wantIDs, wantTruncated := []int64(nil), cut > 0
		if cut >= first {
			wantIDs, wantTruncated = []int64{1}, cut > first
		}
		if cut == len(whole) {
			wantIDs, wantTruncated = []int64{1, 2}, false
		}
		if !slices.Equal(ids, wantIDs) || truncated != wantTruncated {
			t.Fatalf("cut at %d of %d: records %v, truncated %v; want %v, %v", cut, len(whole), ids, truncated, wantIDs, wantTruncated)
		}
	}
}

func TestForeignFiles(t *testing.T) {
	for _, tc := range []struct {
		name, run, records, want string
	}{
		{"no run", "", "", "no run.json"},
		{"not JSON", "hello", "", "parsing"},
		{"foreign", `{"a":1}`, "", "not a run of llmctl"},
		{"newer", `{"schema":"llmctl/run/v2"}`, "", "llmctl/run/v2"},
		{"a report", `{"schema":"llmctl/run/v1"}`, "", `no "facts"`},
		{"facts are null", `{"schema":"llmctl/run/v1","facts":null}`, "", `no "facts"`},
		{"records are not zstd", `{"schema":"llmctl/run/v1","facts":{}}`, "hello, world", "not zstd"},
		{"records are missing", `{"schema":"llmctl/run/v1","facts":{}}`, "", "no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := t.TempDir()
			for name, text := range map[string]string{RunFile: tc.run, RecordsFile: tc.records} {
				if text != "" {
					if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			s, err := Open(path)
			if err == nil {
				collect(s)
				err = s.Err()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error = %v, want one line with %q", err, tc.want)
			}
		})
	}
}

func FuzzReadRecords(f *testing.F) {
	file := &memoryFile{limit: math.MaxInt}
	w := NewWriter(file)
	for range 3 {
		w.Add(full()) //nolint:errcheck // memory
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(file.data)
	f.Add(append(slices.Clone(file.data), "tail"...))
	f.Add(file.data[:len(file.data)-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		_, err := ReadRecords(bytes.NewReader(data), func(r *Record) bool {
			n++
			return n < 1000 && r.Outcome != ""
		})
		if errors.Is(err, io.EOF) {
			t.Fatalf("end of input is no error: %v", err)
		}
	})
}
