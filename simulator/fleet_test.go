package simulator

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// TestCrash: a replica that dies takes its requests with it, is not there for a
// while, and comes back with an empty cache.
func TestCrash(t *testing.T) {
	const down, back = 2 * time.Second, 3 * time.Second
	records, result := run(t, Config{
		Pools: []Pool{{Replicas: 1, Kind: steady("")}},
		Streams: []*workload.Stream{stream(t, constant(10), 100, 15, func(w *profiles.Workload) {
			w.Prefix = profiles.Prefix{Groups: 1, Tokens: 64}
		})},
		Cluster:  profiles.Cluster{Failures: []profiles.Failure{{Kind: "crash", At: down, For: back - down}}},
		Duration: 5 * time.Second,
	})
	broken, refused, firstBack := 0, 0, true
	for _, r := range records {
		sent := at(r.Sent)
		cached, _ := r.Cached.Value()
		switch {
		case sent < down-160*ms || sent >= back:
			if r.Outcome != record.OK {
				t.Errorf("request %d, sent at %v, ended as %s %s", r.ID, sent, r.Outcome, r.Failure)
			}
			cold := sent >= back && firstBack
			if sent >= back {
				firstBack = false
			}
			if want := map[bool]int{true: 0, false: 64}[cold || r.ID == 0]; cached != want {
				t.Errorf("request %d, sent at %v, found %d tokens in the cache, want %d", r.ID, sent, cached, want)
			}
		case r.Failure == record.Truncated && at(r.Closed) == down:
			broken++
		case r.Failure == record.Connect && sent >= down:
			refused++
		default:
			t.Errorf("request %d, sent at %v, ended as %s %s at %v", r.ID, sent, r.Outcome, r.Failure, at(r.Closed))
		}
	}
	if broken < 1 || refused != 10 {
		t.Errorf("%d requests broke off and %d were refused, want some and 10", broken, refused)
	}
	want := []FleetChange{{At: 0, Serving: 1}, {At: down, Down: 1}, {At: back, Serving: 1}}
	if diff := cmp.Diff(want, result.Fleet); diff != "" {
		t.Errorf("fleet (-want +got):\n%s", diff)
	}
	if result.ReplicaSeconds != 5 || result.USDPerHour != 3600 {
		t.Errorf("%g replica-seconds at $%g per hour, want 5 at 3600: a machine is paid for while its process is down", result.ReplicaSeconds, result.USDPerHour)
	}
	checkPages(t, result.Server)
}

// checkPages requires that no counter ever falls, and that a page says nothing
// while its replica is down.
func checkPages(t *testing.T, samples []record.ServerSample) {
	t.Helper()
	unknown, last := 0, record.ServerSample{}
	for _, s := range samples {
		if s.Empty() {
			unknown++
			continue
		}
		if s.PromptTokens < last.PromptTokens || s.PrefixQueries < last.PrefixQueries || s.GenerationTokens < last.GenerationTokens {
			t.Errorf("counters fell from %+v to %+v", last, s)
		}
		if s.At > 2*time.Second && s.At < 3*time.Second {
			t.Errorf("a replica that is down says %+v", s)
		}
		last = s
	}
	if unknown != 1 {
		t.Errorf("%d samples say that nothing is known, want 1", unknown)
	}
}

// TestCrashesForGood: what arrives after the only replica has died is refused; one
// that was to come back from another crash does not come twice.
func TestCrashesForGood(t *testing.T) {
	records, result := run(t, Config{
		Pools:   []Pool{{Replicas: 2, Kind: steady("")}},
		Streams: []*workload.Stream{stream(t, constant(20), 10, 2)},
		Cluster: profiles.Cluster{Failures: []profiles.Failure{
			{Kind: "crash", Replica: 0, At: time.Second, For: 2 * time.Second},
			{Kind: "crash", Replica: 0, At: 2 * time.Second}, // it is down already
			{Kind: "crash", Replica: 1, At: 4 * time.Second},
		}},
		Duration: 5 * time.Second,
	})
	want := []FleetChange{{At: 0, Serving: 2}, {At: time.Second, Serving: 1, Down: 1}, {At: 3 * time.Second, Serving: 2}, {At: 4 * time.Second, Serving: 1, Down: 1}}
	if diff := cmp.Diff(want, result.Fleet); diff != "" {
		t.Errorf("fleet (-want +got):\n%s", diff)
	}
	for _, r := range records {
		if n, _ := r.Endpoint.Value(); n == 1 && at(r.Sent) > 4*time.Second {
			t.Errorf("request %d went to a dead replica at %v", r.ID, at(r.Sent))
		}
	}
}

// TestSlow: a slow replica's steps take longer by its factor, while it lasts; two
// reasons multiply.
func TestSlow(t *testing.T) {
	k := steady("")
	k.Slowdown = 2
	records, _ := run(t, Config{
		Pools:   []Pool{{Replicas: 1, Kind: k}},
		Streams: []*workload.Stream{stream(t, constant(1), 10, 11)},
		Cluster: profiles.Cluster{Failures: []profiles.Failure{
			{Kind: "slow", At: 2500 * ms, For: 2 * time.Second, Factor: 3},
			{Kind: "slow", At: 3800 * ms, For: 1500 * ms, Factor: 1.5},
		}},
		Duration: 6 * time.Second,
	})
	got := map[time.Duration]time.Duration{}
	for i := range records {
		tpot, _ := records[i].TPOT()
		got[at(records[i].Sent)] = tpot
	}
	// Of the one sent at 4 s, five steps begin under both, and five under the second
	// alone; of the one sent at 5 s, the last one begins after it.
	want := map[time.Duration]time.Duration{0: 20 * ms, 1000 * ms: 20 * ms, 2000 * ms: 20 * ms, 3000 * ms: 60 * ms, 4000 * ms: 60 * ms, 5000 * ms: 29 * ms}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("TPOT by the time of sending (-want +got):\n%s", diff)
	}
}

// TestCost: what is paid is the time of replicas in the window, whatever they do.
func TestCost(t *testing.T) {
	cheap := steady("")
	cheap.USDPerHour, cheap.Accelerators = 100, 4
	_, result := run(t, Config{
		Pools:   []Pool{{Replicas: 2, Kind: steady("")}, {Replicas: 1, Kind: cheap}},
		Streams: []*workload.Stream{stream(t, constant(1), 10, 2)},
		Warmup:  3 * time.Second, Duration: 10 * time.Second,
	})
	if result.ReplicaSeconds != 30 || result.AcceleratorSeconds != 60 || math.Abs(result.USDPerHour-7300) > 1e-9 {
		t.Errorf("%g replica-seconds, %g accelerator-seconds, $%g per hour; want 30, 60 and 7300", result.ReplicaSeconds, result.AcceleratorSeconds, result.USDPerHour)
	}
}

// TestLongRun: samples stay few however long a run is, and those of moments at
// which replicas come and go are kept.
func TestLongRun(t *testing.T) {
	_, result := run(t, Config{
		Pools:    []Pool{{Replicas: 2, Kind: steady("")}},
		Streams:  []*workload.Stream{stream(t, constant(0.01), 10, 2)},
		Cluster:  profiles.Cluster{Failures: []profiles.Failure{{Kind: "crash", Replica: 1, At: 1234567 * ms, For: time.Second}}},
		Duration: 5 * time.Hour,
	})
	crash := false
	for _, s := range result.Server {
		crash = crash || s.At == 1234567*ms && s.Empty() && s.Page == "replica 1"
	}
	if n := len(result.Server); n > 2*mostRounds+8 || n < mostRounds/2 || !crash {
		t.Errorf("%d samples, that of the crash among them: %t", n, crash)
	}
}
