package simulator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

// scaledToTwo is a cluster that asks for a second replica after a second, which
// starts for five; things go wrong with it.
func scaledToTwo(t *testing.T, length time.Duration, failures ...profiles.Failure) Config {
	return Config{
		Pools:   []Pool{{Replicas: 1, Kind: steady("")}},
		Streams: []*workload.Stream{stream(t, constant(4), 10, 11)},
		Cluster: profiles.Cluster{
			Autoscale: profiles.Autoscale{Metric: "kv_usage", Target: 0.7, Min: 2, Max: 2, Interval: time.Second, StartDelay: 5 * time.Second},
			Failures:  failures,
		},
		Duration: length,
	}
}

// TestSlowPlace: a replica that is born while its place is slow is slow as long as
// that lasts, and as fast as others after it.
func TestSlowPlace(t *testing.T) {
	records, _ := run(t, scaledToTwo(t, 20*time.Second,
		profiles.Failure{Kind: "slow", Replica: 1, For: 12 * time.Second, Factor: 3}))
	seen := map[time.Duration]int{}
	for i := range records {
		if n, _ := records[i].Endpoint.Value(); n != 1 {
			continue
		}
		tpot, _ := records[i].TPOT()
		want := 10 * ms
		if sent := at(records[i].Sent); sent < 11*time.Second {
			want = 30 * ms
		} else if sent < 12*time.Second {
			continue
		}
		if seen[want]++; tpot != want {
			t.Errorf("request %d, sent at %v, has a TPOT of %v, want %v", i, at(records[i].Sent), tpot, want)
		}
	}
	if seen[10*ms] < 2 || seen[30*ms] < 2 {
		t.Errorf("the second replica answered %v", seen)
	}
}

// TestManySlow: however many failures come together, steps take some time, and an end.
func TestManySlow(t *testing.T) {
	for name, tc := range map[string]struct {
		count  int
		factor float64
		want   time.Duration
	}{
		"fast": {200, 0.01, time.Microsecond}, "slow": {5, 1000, 10_000 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var failures []profiles.Failure
			for range tc.count {
				failures = append(failures, profiles.Failure{Kind: "slow", Factor: tc.factor})
			}
			records, _ := run(t, Config{
				Pools: []Pool{{Replicas: 1, Kind: steady("")}}, Streams: []*workload.Stream{stream(t, constant(1), 10, 3)},
				Cluster: profiles.Cluster{Failures: failures}, Duration: 2 * time.Second, Drain: 1000 * time.Hour,
			})
			if tpot, _ := records[0].TPOT(); tpot != tc.want {
				t.Errorf("TPOT %v, want %v", tpot, tc.want)
			}
		})
	}
}

// TestCrashWhileStarting: a replica that dies before it serves has to start again.
func TestCrashWhileStarting(t *testing.T) {
	_, result := run(t, scaledToTwo(t, 20*time.Second,
		profiles.Failure{Kind: "crash", Replica: 1, At: 3 * time.Second, For: 4 * time.Second}))
	want := []FleetChange{
		{At: 0, Serving: 1},
		{At: time.Second, Serving: 1, Starting: 1},
		{At: 3 * time.Second, Serving: 1, Down: 1},
		{At: 7 * time.Second, Serving: 1, Starting: 1},
		{At: 12 * time.Second, Serving: 2},
	}
	if diff := cmp.Diff(want, result.Fleet); diff != "" {
		t.Errorf("fleet (-want +got):\n%s", diff)
	}
}
