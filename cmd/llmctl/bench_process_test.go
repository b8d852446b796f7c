package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// llmctl runs the command in a process of its own and returns what it said.
func llmctl(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(ownEnvironment(t), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// mockEndpoint answers with a token and stops with the test.
func mockEndpoint(t *testing.T, s *mock.Server) string {
	t.Helper()
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	return ts.URL
}

// TestClientLimited is T49 and T63: a client that can not keep up says so before anything else,
// and its exit code says it too.
func TestClientLimited(t *testing.T) {
	url := mockEndpoint(t, &mock.Server{Tokens: 1})
	code, stdout, stderr := llmctl(t, []string{"GOMAXPROCS=1"}, "bench", "--endpoint", url, "--isl", "8", "--osl", "1",
		"--rps", "100000", "--arrival", "constant", "--duration", "1s", "--warmup", "0s", "--drain", "1s", "--max-in-flight", "64", "--ui", "none")
	first, _, _ := strings.Cut(strings.TrimSpace(stdout), "\n")
	if code != exitUntrusted || !strings.Contains(first, "NOT TRUSTWORTHY") || !strings.Contains(first, "client-limited") || !strings.Contains(stderr, "error: client-limited") {
		t.Errorf("exit code %d, first line %q, stderr:\n%s", code, first, stderr)
	}
}

// TestKilled: a process that is killed has lost no request but those of its last
// second.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	server := &mock.Server{TTFT: 10 * time.Millisecond, Tokens: 1}
	url := mockEndpoint(t, server)
	answered, seconds := 0, 0
	_, stderr := runWatched(t, func(p *os.Process, line string) {
		switch {
		case answered == 0 && strings.Contains(line, " in flight") && len(server.Requests()) > 20:
			answered = len(server.Requests())
		case answered > 0 && seconds < 2: // a line of progress comes once a second
			seconds++
		case answered > 0:
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		}
	}, "bench", "--endpoint", url, "--isl", "8", "--osl", "1", "--concurrency", "2", "--duration", "10m", "--warmup", "0s", "--ui", "plain", "--save", dir)
	saved, err := record.Open(dir)
	if err != nil {
		t.Fatalf("%v; stderr:\n%s", err, stderr)
	}
	n := 0
	for range saved.Records() {
		n++
	}
	// What was in flight, and what had not been handed on, is not counted.
	if n < answered-4 || answered == 0 || saved.Report != nil {
		t.Errorf("%d records of at least %d requests that had been answered a second before; stderr:\n%s", n, answered, stderr)
	}
}

// TestRepeat is T57, too: each repeat is kept and reported, with prompts of its own, and the
// worst decides.
func TestRepeat(t *testing.T) {
	dir := t.TempDir()
	server := &mock.Server{TTFT: time.Millisecond, Tokens: 2}
	url := mockEndpoint(t, server)
	args := []string{"bench", "--endpoint", url, "--isl", "8", "--osl", "2", "--concurrency", "1", "--requests", "3", "--warmup", "0s",
		"--ui", "none", "--calibrate", "off", "--repeat", "2", "--assert", "n(ttft) == 4"}
	code, stdout, stderr := llmctl(t, nil, append(args, "-o", "json", "--save", dir)...)
	if code != exitNotHeld {
		t.Errorf("exit code %d; stderr:\n%s", code, stderr)
	}
	var all reports.Repeats
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Runs) != 2 || all.Schema != reports.RepeatsSchema || all.Runs[0].Requests.OK != 3 || len(all.Metrics) == 0 {
		t.Errorf("%d runs, %+v", len(all.Runs), all.Metrics)
	}
	if all.Runs[0].ID == all.Runs[1].ID {
		t.Errorf("both runs are called %s", all.Runs[0].ID)
	}
	var again reports.Repeats
	if code, text, stderr := llmctl(t, nil, "report", dir, "-o", "json"); code != exitOK || json.Unmarshal([]byte(text), &again) != nil || !cmp.Equal(all.Metrics, again.Metrics) {
		t.Errorf("report of the folder: exit code %d, %s\n%s", code, stderr, cmp.Diff(all.Metrics, again.Metrics))
	}
	bodies := map[string]bool{}
	for _, r := range server.Requests() {
		bodies[string(r.Body)] = true
	}
	if len(bodies) != 6 {
		t.Errorf("%d different prompts of 6", len(bodies))
	}
	for _, run := range []string{"1", "2"} {
		if saved, err := record.Open(filepath.Join(dir, run)); err != nil || saved.Report == nil {
			t.Errorf("run %s: %v", run, err)
		}
	}
	if code, _, stderr := llmctl(t, nil, append(args, "--save", dir)...); code != exitUsage || !strings.Contains(stderr, "never overwritten") {
		t.Errorf("exit code %d; stderr:\n%s", code, stderr)
	}
}

// TestShards: the shards of a load that start together send what one machine
// would have sent.
func TestShards(t *testing.T) {
	url := mockEndpoint(t, &mock.Server{Tokens: 1})
	common := []string{"bench", "--endpoint", url, "--isl", "8", "--osl", "1", "--rps", "50", "--warmup", "100ms", "--requests", "11", "--ui", "none", "--max-lag", "1h"}
	schedule := func(dir string) (due map[time.Duration]int) {
		saved, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		due = map[time.Duration]int{}
		for r := range saved.Records() {
			at, _ := r.Scheduled.Since()
			if at >= saved.Run.Window.Start {
				due[at]++
			}
		}
		return due
	}
	root := t.TempDir()
	if code, _, stderr := llmctl(t, nil, append(slices.Clone(common), "--save", filepath.Join(root, "whole"))...); code != exitOK {
		t.Fatalf("exit code %d; stderr:\n%s", code, stderr)
	}
	whole, parts := schedule(filepath.Join(root, "whole")), map[time.Duration]int{}
	start := time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)
	for i, shard := range []string{"1/3", "2/3", "3/3"} {
		dir := filepath.Join(root, "part"+shard[:1])
		args := append(slices.Clone(common), "--save", dir, "--shard", shard)
		if i == 0 {
			args = append(args, "--start-at", start)
		}
		if code, _, stderr := llmctl(t, nil, args...); code != exitOK {
			t.Fatalf("shard %s: exit code %d; stderr:\n%s", shard, code, stderr)
		}
		for at, n := range schedule(dir) {
			parts[at] += n
		}
		saved, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if saved.Run.Shard != i || saved.Run.Shards != 3 || (i == 0) == saved.Run.StartAt.IsZero() {
			t.Errorf("run %s is shard %d of %d, to start at %v", dir, saved.Run.Shard, saved.Run.Shards, saved.Run.StartAt)
		}
	}
	if diff := cmp.Diff(whole, parts); diff != "" || len(whole) != 11 {
		t.Errorf("%d requests; schedule (-whole +parts):\n%s", len(whole), diff)
	}
}

// TestPhasesRefused: what contradicts itself is refused before anything starts.
func TestPhasesRefused(t *testing.T) {
	for _, tt := range []struct{ flags, want string }{
		{"--repeat 0", "--repeat 0"},
		{"--shard 4", `expected one like 2/4`},
		{"--shard 0/4", `expected one like 2/4`},
		{"--shard 5/4", `expected one like 2/4`},
		{"--start-at noon", "expected a time like"},
		{"--start-at +soon", "expected a time from now like +30s"},
		{"--start-at 2001-02-03T04:05:06Z", "has passed"},
		{"--start-at +1m --repeat 2", "give one of them"},
		{"--start-at +1m --experiment shared-prefix", "give one of them"},
		{"--abort-failures 200%", "--abort-failures"},
		{"--abort-failures 0", "--max-failures 0"},
		{"--abort-saturated 1s", "at least 5s"},
		{"--requests 2 --shard 3/4 --concurrency 4", "--requests 2 leaves none for shard 3 of 4"},
		{"--concurrency 2 --shard 3/4", "a concurrency of 2 leaves shard 3 of 4 with none"},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			code, _, stderr := llmctl(t, nil, append([]string{"bench", "--ui", "none"}, strings.Fields(tt.flags)...)...)
			if code != exitUsage || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d, want %d and %q; stderr:\n%s", code, exitUsage, tt.want, stderr)
			}
		})
	}
}

// TestAbortedRun: a run that is broken off is reported, says why, and is not
// trusted.
func TestAbortedRun(t *testing.T) {
	url := mockEndpoint(t, &mock.Server{Script: func(mock.Request) *mock.Script { return &mock.Script{Status: 503} }})
	code, stdout, stderr := llmctl(t, nil, "bench", "--endpoint", url, "--isl", "8", "--osl", "1", "--rps", "100", "--duration", "10m", "--warmup", "0s", "--ui", "none", "-o", "json")
	var report reports.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v; stderr:\n%s", err, stderr)
	}
	if code != exitUntrusted || report.Requests.Failed < 30 || report.Interrupted || !strings.Contains(stdout, `"aborted"`) {
		t.Errorf("exit code %d, %+v; stderr:\n%s", code, report.Requests, stderr)
	}
}
