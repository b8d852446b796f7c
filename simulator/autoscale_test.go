package simulator

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// TestDesired follows the examples of the Kubernetes documentation ("Horizontal Pod
// Autoscaling", algorithm details) and of replica_calculator_test.go.
func TestDesired(t *testing.T) {
	for _, test := range []struct {
		name       string
		each       float64 // metric of each replica that serves
		serve, all int
		target     float64
		want       int
	}{
		{"twice the target doubles", 200, 2, 2, 100, 4},
		{"half of it halves", 50, 4, 4, 100, 2},
		{"rounds up", 110.1, 10, 10, 100, 12},
		{"a tenth more is near enough", 110, 10, 10, 100, 10},
		{"a tenth less is near enough", 90, 10, 10, 100, 10},
		{"less than that is not", 89, 10, 10, 100, 9},
		{"idle needs none", 0, 3, 3, 100, 0},
		{"those that start count as idle when more are wanted", 300, 1, 3, 100, 3},
		{"but are not enough for ever", 500, 1, 3, 100, 5},
		{"and never turn more into fewer", 200, 1, 4, 100, 4},
		{"they do not count when fewer are wanted", 50, 2, 3, 100, 1},
		{"nobody serves", 0, 0, 2, 100, 2},
		{"out of all proportion", 1e30, 1, 1, 1, 1<<31 - 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := desired(test.each*float64(test.serve), test.serve, test.all, test.target); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// TestStabilize: less is asked for only when less was enough for all of a time.
func TestStabilize(t *testing.T) {
	sc := &scaler{Autoscale: profiles.Autoscale{ScaleDown: 30 * time.Second}}
	sc.asked = []advice{{0, 4}}
	var got []int
	for i, replicas := range []int{2, 3, 1, 1, 1, 6, 1} {
		got = append(got, sc.stabilize(time.Duration(i+1)*10*time.Second, replicas))
	}
	if want := []int{4, 4, 4, 3, 3, 6, 6}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestScaling: replicas come when more wait than should, serve after their delay,
// and go when fewer have long been enough, ending what they have.
func TestScaling(t *testing.T) {
	k := steady("")
	k.Sched.MaxNumSeqs = 4 // with answers of 1 s: 4 requests/s
	load := profiles.Arrival{Process: profiles.Steps, CV: 0, Curve: &profiles.Curve{Steps: []profiles.Step{
		{RatePerS: 2, For: 30 * time.Second}, {RatePerS: 10, For: 60 * time.Second}, {RatePerS: 2, For: 90 * time.Second},
	}}}
	records, result := run(t, Config{
		Pools: []Pool{{Replicas: 1, Kind: k}}, Streams: []*workload.Stream{stream(t, load, 10, 100)},
		Cluster: profiles.Cluster{Autoscale: profiles.Autoscale{
			Metric: "queue_depth", Target: 5, Min: 1, Max: 4, Interval: 5 * time.Second, StartDelay: 12 * time.Second, ScaleDown: 20 * time.Second,
		}},
		Duration: 180 * time.Second,
	})
	for _, r := range records {
		if r.Outcome != record.OK {
			t.Fatalf("request %d ended as %s %s: scaling must lose nothing", r.ID, r.Outcome, r.Failure)
		}
	}
	most, reached, started, last := 0, time.Duration(0), time.Duration(-1), result.Fleet[len(result.Fleet)-1]
	for _, c := range result.Fleet {
		if c.Starting > 0 && started < 0 {
			started = c.At
		}
		if c.Serving > 1 && most < 2 && c.At != started+12*time.Second {
			t.Errorf("a replica asked for at %v serves at %v, want 12 s later", started, c.At)
		}
		if c.Serving > most {
			most, reached = c.Serving, c.At
		}
		if n := c.Serving + c.Starting; n < 1 || n > 4 {
			t.Errorf("%+v is outside of 1 to 4", c)
		}
	}
	if started < 30*time.Second || started > 50*time.Second || most < 3 {
		t.Errorf("scaled from %v on, to %d", started, most)
	}
	if diff := cmp.Diff(FleetChange{At: last.At, Serving: 1}, last); diff != "" || last.At < reached+20*time.Second {
		t.Errorf("the last change is %+v, want one replica, 20 s after there were %d, at %v", last, most, reached)
	}
	if want := fleetSeconds(result); result.ReplicaSeconds < want-1e-6 || result.ReplicaSeconds > want+1e-6 || want <= 180 || want >= 4*180 {
		t.Errorf("%g replica-seconds, want %g", result.ReplicaSeconds, want)
	}
}

// TestUtilizationMisleads: one request at a time keeps a replica stepping all the
// time, so that utilization asks for as many replicas as there may be, for a load
// that one carries.
func TestUtilizationMisleads(t *testing.T) {
	after := func(metric string, target float64) FleetChange {
		_, result := run(t, Config{
			Pools: []Pool{{Replicas: 1, Kind: steady("")}}, Streams: []*workload.Stream{stream(t, profiles.Arrival{Process: profiles.Poisson, RatePerS: 8}, 10, 100)},
			Cluster:  profiles.Cluster{Autoscale: profiles.Autoscale{Metric: metric, Target: target, Max: 8, Interval: 10 * time.Second}},
			Duration: 5 * time.Minute,
		})
		return result.Fleet[len(result.Fleet)-1]
	}
	if c := after("queue_depth", 2); c.Serving != 1 {
		t.Errorf("with nobody waiting, queue depth asks for %+v", c)
	}
	if c := after("kv_usage", 0.7); c.Serving != 1 {
		t.Errorf("with a small part of the cache in use, KV usage asks for %+v", c)
	}
	if c := after("utilization", 0.6); c.Serving != 8 {
		t.Errorf("utilization asks for %+v, want all that there may be", c)
	}
}

// TestScaledPlaces: a replica that leaves makes room for another, which begins with
// an empty cache and goes on with the counters of its place.
func TestScaledPlaces(t *testing.T) {
	k := steady("")
	k.Sched.MaxNumSeqs = 2
	wave := profiles.Arrival{Process: profiles.Sine, RatePerS: 4, AmplitudePerS: 4, Period: time.Minute}
	seen := 0
	_, result := run(t, Config{
		Pools: []Pool{{Replicas: 1, Kind: k}}, Streams: []*workload.Stream{stream(t, wave, 10, 60)},
		Watch: func(p Progress) Order { // whoever looks meets places that nobody is in
			if seen++; p.Running+p.Waiting > p.Open || (p.Running > 0) != (p.KVUsage > 0) || p.KVUsage > 1 {
				t.Errorf("%d of %d requests run, %d wait, and use %g of the cache", p.Running, p.Open, p.Waiting, p.KVUsage)
			}
			return GoOn
		},
		Cluster: profiles.Cluster{Autoscale: profiles.Autoscale{
			Metric: "queue_depth", Target: 2, Max: 5, Interval: 2 * time.Second, ScaleDown: 5 * time.Second,
		}},
		Duration: 10 * time.Minute,
	})
	if seen < 5 {
		t.Errorf("looked %d times at the run", seen)
	}
	if n := len(result.Fleet); n < 20 {
		t.Fatalf("%d changes of the fleet in ten waves", n)
	}
	last := map[string]record.ServerSample{}
	for _, s := range result.Server {
		if s.Empty() {
			continue
		}
		if before, ok := last[s.Page]; ok && s.GenerationTokens < before.GenerationTokens {
			t.Errorf("%s: tokens fall from %g to %g", s.Page, before.GenerationTokens, s.GenerationTokens)
		}
		last[s.Page] = s
	}
	if len(last) < 3 || len(last) > 6 {
		t.Errorf("%d pages, want one for each place", len(last))
	}
}
