package simulator

import (
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

// TestOneInstant: requests that arrive at an idle replica at one instant are in its
// first step together; the next one waits for the end of the step that runs.
func TestOneInstant(t *testing.T) {
	o := newSolo(t, plainKind())
	var first []*request
	for range 3 {
		first = append(first, o.ask(10, 1, workload.NoGroup, 0))
	}
	o.until(step / 2)
	next := o.ask(10, 1, workload.NoGroup, 0)
	o.until(time.Minute)
	for i, r := range first {
		if got := ended(t, o.recordOf(t, r)); got != step {
			t.Errorf("request %d ended at %v, want %v", i, got, step)
		}
	}
	if got := ended(t, o.recordOf(t, next)); got != 2*step {
		t.Errorf("the next one ended at %v, want %v", got, 2*step)
	}
}

// TestMeterIsFine: even a short run is looked at often, and a long one not more.
func TestMeterIsFine(t *testing.T) {
	for length, want := range map[time.Duration][2]int{10 * time.Second: {100, 110}, 10 * time.Hour: {500, 1100}} {
		o := newSolo(t, plainKind())
		o.agenda.plan(0, o.meter)
		o.until(length - 1)
		if n := len(o.meter.samples); n < want[0] || n > want[1] {
			t.Errorf("%d samples of %v, want %d to %d", n, length, want[0], want[1])
		}
	}
}

// TestClientsPause: a client that gets no answer does not come again within the same
// millisecond; the time of one that does is its own.
func TestClientsPause(t *testing.T) {
	const clients, length = 3, 100 * time.Millisecond
	closed := profiles.Arrival{Process: profiles.Closed, Concurrency: clients}
	records, _ := run(t, Config{
		Pools: []Pool{{Replicas: 1, Kind: steady("")}},
		Streams: []*workload.Stream{stream(t, closed, 10, 5, func(w *profiles.Workload) {
			w.Cancel = profiles.Cancel{Fraction: 1, After: profiles.Delay{Kind: profiles.Fixed, Mean: 1}}
		})},
		Duration: length,
	})
	if n, most := len(records), int(clients*(length/noticed+1)); n < most/2 || n > most {
		t.Errorf("%d requests of %d clients that leave at once, want nearly %d", n, clients, most)
	}
}
