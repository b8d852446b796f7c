package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// crowded serves so many requests at once and refuses the others.
func crowded(t *testing.T, places int64) string {
	t.Helper()
	server := &mock.Server{TTFT: 5 * time.Millisecond, Tokens: 2}
	var inside atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer inside.Add(-1)
		if inside.Add(1) > places && r.Method == http.MethodPost {
			http.Error(w, `{"error":{"message":"full"}}`, http.StatusServiceUnavailable)
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

// loads are the loads of a curve's points.
func loads(t *testing.T, doc string) (c *reports.Curve, loads []float64) {
	t.Helper()
	c, err := reports.ParseCurve([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Points {
		loads = append(loads, p.Load)
	}
	return c, loads
}

func TestSweepGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	url := mockEndpoint(t, &mock.Server{TTFT: time.Millisecond, Tokens: 2})
	bench := func(more ...string) (int, string, string) {
		return llmctl(t, nil, append([]string{"bench", "--endpoint", url, "--isl", "8", "--osl", "2", "--duration", "200ms", "--warmup", "0s",
			"--calibrate", "off", "--ui", "none", "--max-lag", "1m", "-o", "json", "--save", dir}, more...)...)
	}
	code, stdout, stderr := bench("--sweep", "concurrency=1,2")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	first, at := loads(t, stdout)
	if diff := cmp.Diff([]float64{1, 2}, at); diff != "" || first.Kind != reports.SweepCurve {
		t.Errorf("%s: %s", first.Kind, diff)
	}
	for _, p := range first.Points {
		if saved, err := record.Open(filepath.Join(dir, p.Run)); err != nil || saved.Report == nil || p.OK == 0 {
			t.Errorf("point %+v: %v", p, err)
		}
	}
	code, stdout, stderr = bench("--sweep", "concurrency=1,2,3", "--repeat", "2", "--resume")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	second, at := loads(t, stdout)
	if diff := cmp.Diff([]float64{1, 1, 2, 2, 3, 3}, at); diff != "" || second.ID != first.ID {
		t.Error(diff)
	}
	if diff := cmp.Diff(first.Points[0], second.Points[0]); diff != "" {
		t.Errorf("a point changed:\n%s", diff)
	}
	if code, again, stderr := llmctl(t, nil, "report", dir, "-o", "json"); code != exitOK || again != stdout {
		t.Errorf("report of the folder: exit code %d, %s\n%s", code, stderr, cmp.Diff(stdout, again))
	}
	if code, table, _ := llmctl(t, nil, "report", dir, "-o", "csv"); code != exitOK || strings.Count(table, "\n") != 7 {
		t.Errorf("exit code %d\n%s", code, table)
	}
	for _, tt := range []struct{ want, flag string }{
		{"it already holds a curve; bench --resume goes on with it", "--sweep=concurrency=1,2"},
		{"its scenario is another one", "--sweep=concurrency=1,2 --resume --osl=3"},
		{"it was measured in another way: seed 1, api chat", "--sweep=concurrency=1,2 --resume --seed=2"},
		{"length 200ms", "--sweep=concurrency=1,2 --resume --duration=300ms"},
		{"it is a sweep of concurrency, and this is a sweep of rate", "--sweep=rate=1,2 --resume"},
	} {
		if code, _, stderr := bench(strings.Fields(tt.flag)...); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, %s, want %q", tt.flag, code, stderr, tt.want)
		}
	}
}

// TestFindGoodput: the largest number in flight that a server with five places
// serves is five, and it can be asserted.
func TestFindGoodput(t *testing.T) {
	url := crowded(t, 5)
	args := []string{"bench", "--endpoint", url, "--isl", "8", "--osl", "2", "--duration", "300ms", "--warmup", "0s", "--concurrency", "2", "--calibrate", "off",
		"--slo", "ttft=1m", "--find-goodput", "--search-max", "64", "--search-repeats", "2", "--ui", "none", "--max-lag", "1m", "-o", "json"}
	code, stdout, stderr := llmctl(t, nil, append(args, "--assert", "goodput > 1/s")...)
	c, _ := loads(t, stdout)
	if code != exitOK || c.Limit == nil || c.Limit.Holds != 5 || c.Limit.Misses == nil || *c.Limit.Misses != 6 {
		t.Errorf("exit code %d, limit %+v, stderr:\n%s", code, c.Limit, stderr)
	}
	code, _, stderr = llmctl(t, nil, append(args, "--assert", "goodput > 100000/s")...)
	if code != exitNotHeld || !strings.Contains(stderr, "the largest goodput is") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestNoLoadHolds(t *testing.T) {
	args := []string{"bench", "--endpoint", crowded(t, 0), "--isl", "8", "--osl", "2", "--duration", "200ms", "--warmup", "0s", "--concurrency", "1",
		"--calibrate", "off", "--find-goodput", "--search-repeats", "1", "--ui", "none"}
	code, stdout, stderr := llmctl(t, nil, append(args, "--slo", "ttft=1m")...)
	if code != exitUntrusted && code != exitNotHeld || !strings.Contains(stdout, "none: the objective was missed at every load") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
}

func TestCurveContradictions(t *testing.T) {
	for _, tt := range []struct{ flags, want string }{
		{"--sweep=rate=1,2 --find-goodput", "--sweep tries the loads that it names and --find-goodput chooses its own"},
		{"--sweep=rate=1,2 --rps=3", "--rps is one load and --sweep names several"},
		{"--sweep=rate=1,2 --requests=3", "--requests is for a single run, and --sweep makes several"},
		{"--sweep=rate=1,2 --shard=1/2", "--shard is for a single run"},
		{"--sweep=rate=1,2 --search-runs=3", "--search-runs is for --find-goodput"},
		{"--sweep=rps=1,2", "expected one like rate=1,2,4"},
		{"--sweep=rate=1,2 --arrival=ramp:from=1,to=2,over=1m", "no single rate"},
		{"--find-goodput --repeat=3", "--search-repeats says how often"},
		{"--find-goodput --search-tolerance=0%", "more than 0%"},
		{"--find-goodput --rps=5 --search-max=1", "--search-max"},
		{"--find-goodput --rps=0.1 --duration=5s", "fewer than 10 requests"},
		{"--find-goodput --assert=p99(ttft)<1s", "only the limit"},
		{"--sweep=rate=1,2 --resume", "--resume goes on with what --save DIR holds"},
		{"--search-max=3", "it is for --find-goodput"},
	} {
		args := append([]string{"bench", "--endpoint", "http://127.0.0.1:9", "--ui", "none"}, strings.Fields(tt.flags)...)
		if code, _, stderr := llmctl(t, nil, args...); code != exitUsage || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") > 2 {
			t.Errorf("%s: exit code %d, %s, want %q", tt.flags, code, stderr, tt.want)
		}
	}
}

// TestShardsTogether: two halves of a load, put together, are the requests of the
// whole: each once, with the same lengths at the same times.
func TestShardsTogether(t *testing.T) {
	dir := t.TempDir()
	url := mockEndpoint(t, &mock.Server{TTFT: time.Millisecond, Tokens: 2})
	bench := func(save string, more ...string) {
		t.Helper()
		args := append([]string{"bench", "--endpoint", url, "--isl", "uniform:min=5,max=50", "--osl", "2", "--rps", "100", "--duration", "500ms", "--warmup", "0s",
			"--calibrate", "off", "--ui", "none", "--max-lag", "1m", "--save", filepath.Join(dir, save)}, more...)
		if code, _, stderr := llmctl(t, nil, args...); code != exitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	bench("whole")
	bench("first", "--shard", "1/2")
	bench("second", "--shard", "2/2")
	type due struct {
		At    record.Moment
		Input record.Count
	}
	of := func(paths ...string) map[int64]due {
		all := map[int64]due{}
		for _, path := range paths {
			saved, err := record.Open(filepath.Join(dir, path))
			if err != nil {
				t.Fatal(err)
			}
			for r := range saved.Records() {
				all[r.Session] = due{r.Scheduled, r.AskedInput}
			}
		}
		return all
	}
	whole := of("whole")
	if diff := cmp.Diff(whole, of("first", "second")); diff != "" || len(whole) < 20 {
		t.Errorf("%d sessions, %s", len(whole), diff)
	}
	code, stdout, stderr := llmctl(t, nil, "report", filepath.Join(dir, "second"), filepath.Join(dir, "first"), "-o", "json")
	var merged reports.Report
	if err := json.Unmarshal([]byte(stdout), &merged); err != nil {
		t.Fatal(err)
	}
	if code != exitOK || merged.Requests.OK != len(whole) || !strings.Contains(stdout, record.ShardsNotAligned) {
		t.Errorf("exit code %d, %+v: %s", code, merged.Requests, stderr)
	}
	code, stdout, _ = llmctl(t, nil, "report", filepath.Join(dir, "second"), filepath.Join(dir, "first"), "--format", "vegeta")
	decode := vegeta.NewJSONDecoder(strings.NewReader(stdout))
	n := 0
	for r := (vegeta.Result{}); decode(&r) == nil; r = (vegeta.Result{}) {
		n++
	}
	if code != exitOK || n != len(whole) {
		t.Errorf("exit code %d, vegeta reads %d requests of %d", code, n, len(whole))
	}
	if code, _, stderr := llmctl(t, nil, "report", filepath.Join(dir, "first"), filepath.Join(dir, "whole")); code != exitUsage || !strings.Contains(stderr, "no shard") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "first", record.RunFile)); err != nil {
		t.Error(err)
	}
}
