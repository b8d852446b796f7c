package simulator_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/simulator"
)

// traceEvent is an event as viewers read it.
type traceEvent struct {
	Phase string         `json:"ph"`
	Name  string         `json:"name"`
	PID   int            `json:"pid"`
	ID    int            `json:"id"`
	At    float64        `json:"ts"`
	Took  float64        `json:"dur"`
	Args  map[string]any `json:"args"`
}

func parseTrace(t *testing.T, text []byte) (events []traceEvent) {
	t.Helper()
	if err := json.Unmarshal(text, &events); err != nil {
		t.Fatalf("the trace is no JSON: %v\n%.300s", err, text)
	}
	return events
}

func TestTrace(t *testing.T) {
	var text bytes.Buffer
	trace := simulator.NewTraceFile(&text)
	c := smallCluster(t, 2, 400, 60)
	plain, records := simulateAll(t, c)
	c = smallCluster(t, 2, 400, 60)
	c.Trace = trace
	watched, seen := simulateAll(t, c)
	if err := trace.Close(); err != nil {
		t.Fatal(err)
	}
	if plain.Steps != watched.Steps || plain.End != watched.End || len(records) != len(seen) {
		t.Errorf("being watched changed the run: %d steps to %v and %d records, %d to %v and %d",
			plain.Steps, plain.End, len(records), watched.Steps, watched.End, len(seen))
	}
	events := parseTrace(t, text.Bytes())
	count := map[string]int{}
	open := map[int]traceEvent{}
	last := map[int]float64{} // end of the step before, by replica
	for _, e := range events {
		count[e.Phase+" "+e.Name]++
		switch e.Phase {
		case "X":
			if e.At < last[e.PID]-1e-3 || e.Took <= 0 {
				t.Fatalf("a step of replica %d from %v for %v, the one before ended at %v", e.PID, e.At, e.Took, last[e.PID])
			}
			last[e.PID] = e.At + e.Took
		case "b":
			open[e.ID] = e
		case "e":
			if b, ok := open[e.ID]; !ok || b.Name != e.Name || b.PID != e.PID || b.At >= e.At {
				t.Fatalf("%+v ends %+v", e, b)
			}
			delete(open, e.ID)
		}
	}
	if len(open) > 0 || len(last) != 2 {
		t.Errorf("%d phases have no end, %d replicas have steps", len(open), len(last))
	}
	if int64(count["X step"]) != watched.Steps || count["C KV usage (%)"] != count["X step"] {
		t.Errorf("%d steps and %d counters of %d steps", count["X step"], count["C KV usage (%)"], watched.Steps)
	}
	preempted := 0.0
	for _, s := range watched.Server[max(0, len(watched.Server)-2):] {
		preempted += s.Preemptions
	}
	for _, kind := range []string{"b queued", "b prefill", "b decode", "b preempted", "i preemption", "M process_name"} {
		if count[kind] == 0 {
			t.Errorf("no %s in the trace (%v preemptions)", kind, preempted)
		}
	}
	if count["b decode"] < len(records) {
		t.Errorf("%d times in decode of %d requests", count["b decode"], len(records))
	}
}

// A file is a whole document at any time.
func TestInterruptedTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // of a test
	trace := simulator.NewTraceFile(file)
	batch := &sched.Batch{Tokens: 1, Entries: []sched.Entry{{ID: 1, Tokens: 1, Sample: true}}}
	sizes := map[int]bool{}
	for i := range 20_000 {
		trace.Step(time.Duration(i)*time.Millisecond+123, time.Millisecond, 0, batch, sched.Stats{})
		if i%1999 == 0 {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sizes[len(parseTrace(t, text))] = true
		}
	}
	if err := trace.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events := parseTrace(t, text)
	if len(sizes) < 5 || len(events) != 3*20_000+2 {
		t.Errorf("the file was seen with %v events, and has %d", sizes, len(events))
	}
	if diff := cmp.Diff(0.123, events[2].At); diff != "" {
		t.Errorf("the first step is at (-want +got) µs:\n%s", diff)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestTraceTellsOfAFullDisk(t *testing.T) {
	trace := simulator.NewTraceFile(io.Writer(fullDisk{}))
	trace.Happened(0, 0, simulator.Serves)
	if err := trace.Close(); err == nil {
		t.Error("a trace that could not be written was closed without an error")
	}
}
