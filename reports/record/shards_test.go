package record

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var agreed = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// shardRun is shard i of n of a run, begun late after the agreed start.
func shardRun(i, n int, late time.Duration) Run {
	return Run{
		Kind: "bench", Setup: "seed 1", ID: fmt.Sprintf("id%d", i), Scenario: json.RawMessage(`{"model":"m"}`), Shard: i, Shards: n, StartAt: agreed,
		Target: Target{Endpoint: "http://a/v1", Model: "m"}, SLO: []SLO{{TTFT: time.Second, Attainment: 0.99}},
		Environment: Environment{Host: fmt.Sprintf("host%d", i), Cores: 2, Start: agreed.Add(late)},
		Window:      Window{Start: time.Second, End: 10 * time.Second}, Client: Client{CPUFraction: 0.1 * float64(i+1), GCPauseP99: time.Duration(i)},
	}
}

// saveShard saves a run with one record, and opens it again.
func saveShard(t *testing.T, run Run) *Saved {
	t.Helper()
	path := filepath.Join(t.TempDir(), run.ID)
	d, err := CreateDir(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &Record{ID: int64(run.Shard), Session: int64(run.Shard), Scheduled: At(2 * time.Second), Sent: At(2 * time.Second), First: At(3 * time.Second),
		Last: At(4 * time.Second), Closed: At(4 * time.Second), Outcome: OK, Attempts: 1, HTTPStatus: 200, Output: Counted(2), TokensSource: FromUsage,
		Chunks: &MeasuredChunks{Times: []time.Duration{3 * time.Second, 4 * time.Second}}}
	if err := d.Add(r); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteRun(run, json.RawMessage(`{"schema":"llmctl/run/v1"}`)); err != nil {
		t.Fatal(err)
	}
	saved, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func TestMergeCountsFromTheAgreedStart(t *testing.T) {
	late := 30 * time.Millisecond
	m, err := Merge([]*Saved{saveShard(t, shardRun(1, 2, late)), saveShard(t, shardRun(0, 2, 0))})
	if err != nil {
		t.Fatal(err)
	}
	records := slices.Collect(m.Records())
	if len(records) != 2 || records[0].ID != 0 || m.Err() != nil || len(m.Warnings()) != 0 {
		t.Fatalf("%d records, %v, %v", len(records), m.Err(), m.Warnings())
	}
	for i, want := range []time.Duration{0, late} {
		r := records[i]
		lag, _ := r.Sent.Sub(r.Scheduled)
		first, _ := r.First.Since()
		if ttft, _ := r.TTFT(); lag != want || ttft != time.Second || first != 3*time.Second+want || r.Chunks.(*MeasuredChunks).Times[1] != 4*time.Second+want {
			t.Errorf("shard %d: lag %v, TTFT %v, first at %v", i, lag, ttft, first)
		}
	}
	run := m.Run
	if run.ID != "id0+id1" || run.Shards != 0 || run.Environment.Host != "host0, host1" || run.Environment.Cores != 4 || !run.Environment.Start.Equal(agreed) ||
		run.Client.CPUFraction != 0.2 || run.Target.Endpoint != "http://a/v1" || run.Window.End != 10*time.Second {
		t.Errorf("%+v", run)
	}
}

func TestMergeOfWhatAgreedOnNoStart(t *testing.T) {
	a, b := shardRun(0, 2, 0), shardRun(1, 2, 5*time.Second)
	a.StartAt, b.StartAt = time.Time{}, time.Time{}
	m, err := Merge([]*Saved{saveShard(t, a), saveShard(t, b)})
	if err != nil {
		t.Fatal(err)
	}
	for r := range m.Records() {
		if lag, _ := r.Sent.Sub(r.Scheduled); lag != 0 {
			t.Errorf("lag %v", lag)
		}
	}
	want := []Warning{{ShardsNotAligned, "the shards had agreed on no start (--start-at) and began up to 5s apart; they are put together as if they had begun at once"}}
	if diff := cmp.Diff(want, m.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestMergeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Run)
		want   string
	}{
		{"a run that is no shard", func(r *Run) { r.Shard, r.Shards = 0, 0 }, "no shard"},
		{"another number of shards", func(r *Run) { r.Shards = 3 }, "one of 3 shards"},
		{"the same shard again", func(r *Run) { r.Shard = 0 }, "as run"},
		{"another scenario", func(r *Run) { r.Scenario = json.RawMessage(`{"model":"x"}`) }, "scenarios differ"},
		{"another seed or dialect", func(r *Run) { r.Setup = "seed 2" }, "different ways: seed 2; seed 1"},
		{"another objective", func(r *Run) { r.SLO = nil }, "objectives differ"},
		{"another warm-up", func(r *Run) { r.Window.Start = 0 }, "warm-ups differ"},
		{"another model", func(r *Run) { r.Target.Model = "x" }, "different models"},
		{"another start", func(r *Run) { r.StartAt = agreed.Add(time.Hour) }, "different starts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other := shardRun(1, 2, 0)
			tt.change(&other)
			other.ID = "other"
			_, err := Merge([]*Saved{saveShard(t, shardRun(0, 2, 0)), saveShard(t, other)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := Merge([]*Saved{saveShard(t, shardRun(0, 4, 0)), saveShard(t, shardRun(2, 4, 0))}); err == nil || !strings.Contains(err.Error(), "missing 2, 4") {
		t.Errorf("missing shards: %v", err)
	}
	if _, err := Merge(nil); err == nil {
		t.Error("no shards are merged")
	}
}

func TestMergedWindow(t *testing.T) {
	for _, tt := range []struct {
		name          string
		change        func(a, b *Run)
		start, finish time.Duration
	}{
		{"by time", func(*Run, *Run) {}, time.Second, 10 * time.Second},
		{"an open loop by requests", func(a, b *Run) { a.Requests, b.Requests, b.Window.End = 5, 5, 9*time.Second }, time.Second, 9 * time.Second},
		{"a closed loop by requests", func(a, b *Run) {
			a.Requests, b.Requests, a.ClosedLoop, b.ClosedLoop, b.Window.End = 5, 5, true, true, 12*time.Second
		}, time.Second, 12 * time.Second},
		{"a shard that ended within its warm-up", func(_, b *Run) { b.Window = Window{Start: 400 * time.Millisecond, End: 400 * time.Millisecond} }, time.Second, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := shardRun(0, 2, 0), shardRun(1, 2, 0)
			tt.change(&a, &b)
			m, err := Merge([]*Saved{saveShard(t, a), saveShard(t, b)})
			if err != nil {
				t.Fatal(err)
			}
			if w := m.Run.Window; w.Start != tt.start || w.End != tt.finish {
				t.Errorf("window %+v", w)
			}
		})
	}
}
