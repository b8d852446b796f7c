package study

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
)

// small is a request that takes little time.
func small(change func(*Request)) Request {
	r := Request{Length: Length{Requests: 50, Warmup: 0, Drain: time.Minute}, EndSaturated: true}
	sc := &r.Sizing.Scenario
	sc.Model, sc.Cluster.Replicas = "llama-3.1-8b", 1
	sc.Workload = profiles.Workload{
		Name: "custom", Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 20},
		Input: profiles.Distribution{Kind: profiles.Fixed, Mean: 200}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 8},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func newStudy(t *testing.T, change func(*Request)) *Study {
	t.Helper()
	s, err := New(small(change))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLengthIsChosenForTheLoad(t *testing.T) {
	unsaid := Length{Warmup: -1}
	for _, tt := range []struct {
		name    string
		arrival profiles.Arrival
		length  Length
		want    Length
	}{
		{"a fast rate has the least", profiles.Arrival{Process: profiles.Poisson, RatePerS: 50}, unsaid, Length{Duration: 2 * time.Minute, Warmup: 30 * time.Second}},
		{"one that is never served has no warm-up", profiles.Arrival{Process: profiles.Poisson, RatePerS: 1000}, unsaid, Length{Duration: 2 * time.Minute}},
		{"clients that come in slowly are waited for", profiles.Arrival{Process: profiles.Closed, Concurrency: 8, RampUp: 40 * time.Second}, unsaid, Length{Requests: 5000, Warmup: 80 * time.Second}},
		{"a slow one has enough requests", profiles.Arrival{Process: profiles.Poisson, RatePerS: 2}, unsaid, Length{Duration: 2500 * time.Second, Warmup: 125 * time.Second}},
		{"a closed loop is bounded by requests", profiles.Arrival{Process: profiles.Closed, Concurrency: 8}, unsaid, Length{Requests: 5000, Warmup: 30 * time.Second}},
		{"a wide one has some for each slot", profiles.Arrival{Process: profiles.Closed, Concurrency: 1000}, unsaid, Length{Requests: 20000, Warmup: 30 * time.Second}},
		{"a ramp is seen whole", profiles.Arrival{Process: profiles.Ramp, FromPerS: 100, ToPerS: 300, Over: 10 * time.Minute}, unsaid, Length{Duration: 12 * time.Minute}},
		{"what is said stays", profiles.Arrival{Process: profiles.Poisson, RatePerS: 2}, Length{Duration: time.Second, Warmup: 0, Drain: 5}, Length{Duration: time.Second, Drain: 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStudy(t, func(r *Request) { r.Sizing.Scenario.Workload.Arrival, r.Length = tt.arrival, tt.length })
			if diff := cmp.Diff(tt.want, s.Length()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLoadIsChosenForTheCluster: a rate that nobody says grows with the replicas.
func TestLoadIsChosenForTheCluster(t *testing.T) {
	rate := func(replicas int) float64 {
		return newStudy(t, func(r *Request) {
			r.Sizing.Scenario.Workload.Arrival, r.Sizing.Scenario.Cluster.Replicas = profiles.Arrival{}, replicas
		}).Scenario().Workload.Arrival.RatePerS
	}
	if one, three := rate(1), rate(3); !(one > 0) || three < 2.8*one || three > 3.2*one {
		t.Errorf("%g for one replica, %g for three", one, three)
	}
}

// TestAllKeepsTheOrder: the reports of a batch are those of single runs.
func TestAllKeepsTheOrder(t *testing.T) {
	s := newStudy(t, nil)
	var batch []Variant
	for seed := range uint64(5) {
		batch = append(batch, Variant{Study: s, Seed: seed})
	}
	told := 0
	all, err := All(t.Context(), batch, func(int, *reports.Report) { told++ })
	if err != nil || told != len(batch) {
		t.Fatalf("%v, %d told", err, told)
	}
	for i, got := range all {
		want, err := s.Run(t.Context(), batch[i].Seed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-alone +batch):\n%s", batch[i].Seed, diff)
		}
	}
}

func TestAllReportsTheFirstFailure(t *testing.T) {
	s := newStudy(t, nil)
	full := errors.New("the disk is full")
	batch := []Variant{{Study: s}, {Study: s, Taps: Taps{Keep: refusing{full}}}, {Study: s}}
	if _, err := All(t.Context(), batch, nil); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: %v", err)
	}
}

type refusing struct{ err error }

func (r refusing) Begin(record.Run) error        { return r.err }
func (refusing) Add(*record.Record)              {}
func (refusing) End(record.Run, *reports.Report) {}

// TestHopelessLoadEnds: a load far beyond the cluster is cut with a bound; one that
// it serves, and one that someone wants to see whole, are not.
func TestHopelessLoadEnds(t *testing.T) {
	aborted := func(change func(*Request)) bool {
		r, err := newStudy(t, func(r *Request) {
			r.Sizing.Scenario.Workload.Output.Mean = 200
			r.Length = Length{Duration: 20 * time.Minute}
			change(r)
		}).Run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range r.Warnings {
			if w.Code == record.Aborted {
				if !strings.Contains(w.Text, "grows by") || r.Requests.Scheduled == 0 {
					t.Errorf("%d requests: %s", r.Requests.Scheduled, w.Text)
				}
				return true
			}
		}
		return false
	}
	load := func(rate float64) func(*Request) {
		return func(r *Request) { r.Sizing.Scenario.Workload.Arrival.RatePerS = rate }
	}
	if !aborted(load(400)) {
		t.Error("400/s was simulated to its end")
	}
	if aborted(load(5)) {
		t.Error("5/s was cut")
	}
	if aborted(func(r *Request) { load(400)(r); r.EndSaturated, r.Length.Duration = false, 2*time.Minute }) {
		t.Error("a load was cut against what was asked for")
	}
}

// TestWatchEnds: who watches a run can end it, and is told of as it was ended.
func TestWatchEnds(t *testing.T) {
	s := newStudy(t, func(r *Request) { r.Length = Length{Duration: 1000 * time.Hour, Drain: time.Minute} })
	looks := 0
	r, err := s.Simulate(t.Context(), 1, Taps{
		Watch: func(simulator.Progress) simulator.Order {
			if looks++; looks > 2 {
				return simulator.EndSending
			}
			return simulator.GoOn
		},
		Ended: func() (bool, string) { return true, "" },
	})
	if err != nil || !r.Interrupted || r.Requests.OK == 0 || r.Requests.Cut > 0 {
		t.Errorf("%v, %+v", err, r.Requests)
	}
}
