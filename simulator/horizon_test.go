package simulator

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// TestLater: sums and products of times end at the horizon.
func TestLater(t *testing.T) {
	for name, tc := range map[string][2]time.Duration{
		"fits":             {later(2, 3), 5},
		"sum":              {later(horizon-1, 1), horizon},
		"never":            {later(5, workload.Never), horizon},
		"product":          {times(7, 3), 21},
		"product of never": {times(math.MaxInt32, time.Hour), horizon},
		"none":             {times(5, 0), 0},
	} {
		if tc[0] != tc[1] {
			t.Errorf("%s: got %d, want %d", name, tc[0], tc[1])
		}
	}
}

// TestTransfersThatNeverEnd: what does not arrive within all of virtual time is cut,
// and no moment lies before another.
func TestTransfersThatNeverEnd(t *testing.T) {
	records, result := run(t, Config{
		Pools:   []Pool{{Replicas: 1, Kind: steady(prefill)}, {Replicas: 1, Kind: steady(decode)}},
		Streams: []*workload.Stream{stream(t, constant(4), 10, 5)},
		Cluster: profiles.Cluster{Link: profiles.Link{BandwidthPerS: 1e-9}}, Duration: 5 * time.Second,
	})
	if len(records) != 20 || result.End > time.Hour {
		t.Errorf("%d requests until %v", len(records), result.End)
	}
	for _, r := range records {
		if _, ok := r.TTFT(); r.Outcome != record.Cut || ok {
			t.Errorf("request %d ended as %s", r.ID, r.Outcome)
		}
	}
}

// TestEndOfTime: a run without an end in sight ends with virtual time.
func TestEndOfTime(t *testing.T) {
	records, result := run(t, Config{
		Pools:    []Pool{{Replicas: 1, Kind: steady("")}},
		Streams:  []*workload.Stream{stream(t, constant(1e-6), 10, 5)},
		Requests: 10_000,
	})
	if n := len(records); n < 3100 || n > 3200 || result.End < horizon-time.Hour {
		t.Errorf("%d requests until %v", n, result.End)
	}
}

// TestTooManyReplicas: what memory can not hold is refused before anything is made.
func TestTooManyReplicas(t *testing.T) {
	for name, c := range map[string]Config{
		"at the start": {Pools: []Pool{{Replicas: mostReplicas, Kind: steady("")}, {Replicas: 1, Kind: steady("")}}},
		"when scaled": {
			Pools:   []Pool{{Replicas: 1, Kind: steady("")}},
			Cluster: profiles.Cluster{Autoscale: profiles.Autoscale{Metric: "kv_usage", Target: 0.5, Max: mostReplicas + 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.Streams, c.Duration = []*workload.Stream{stream(t, constant(1), 1, 1)}, time.Second
			if err := c.Check(); err == nil || !strings.Contains(err.Error(), "16001 replicas") {
				t.Errorf("got %v, want it to be refused", err)
			}
		})
	}
}
