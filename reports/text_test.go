package reports

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/reports/record"
)

// exampleRun is a run with every part of a report.
func exampleRun() record.Run {
	return record.Run{
		Kind: "bench", ID: "example", Asked: "chat scaled to the CPU, poisson 1,000/s for 20 s after 2 s of warm-up, input lognormal mean 1,000, output 16 tokens",
		Target:      record.Target{Endpoint: "http://127.0.0.1:8080/v1", Model: "builtin", Bundled: true, Device: "cpu"},
		Environment: record.Environment{Version: "v0.1.0", Host: "laptop", OS: "linux/amd64", Cores: 2},
		Window:      record.Window{Start: 2 * time.Second, End: 20 * time.Second},
		SLO:         []record.SLO{{TTFT: 100 * ms, TPOT: 50 * ms, Attainment: 0.99}},
		SLODefault:  true,
		Cost:        record.Cost{USDPerHour: 2.5, Source: "list price"},
		Client:      record.Client{CPUFraction: 0.31, GCPauseP99: 120 * time.Microsecond},
		Server: []record.ServerSample{
			scrape(1*time.Second, load(200, 0, 0.2, 0)), scrape(10*time.Second, load(256, 12, 0.61, 1)), scrape(19*time.Second, load(256, 40, 0.83, 4)),
		},
		SharedPrefix: true,
		Asserts:      []string{"p99(ttft) < 200ms", "rate(failures) < 1%", "goodput >= 2k/s"},
	}
}

func load(running, waiting, usage, preemptions float64) func(*record.ServerSample) {
	return func(s *record.ServerSample) {
		s.Running, s.Waiting, s.KVUsage, s.Preemptions = running, waiting, usage, preemptions
	}
}

// observed is a run on a machine that tells all of itself.
func observed() record.Run {
	run := exampleRun()
	run.Server, run.Cost, run.Asserts = exampleServer(), record.Cost{}, nil
	steal := 0.081
	run.Client.CPUSteal, run.Client.SchedLatencyP99 = &steal, record.At(200*time.Microsecond)
	run.Client.PeakRSSBytes, run.Client.PeakHeapBytes, run.Client.PeakGoroutines = record.Counted(150<<20), record.Counted(90<<20), record.Counted(2100)
	run.GPUs = []record.GPUSeries{{Name: "NVIDIA H100 80GB HBM3", Samples: []record.GPUSample{
		{At: 2 * time.Second, PowerW: 300, Utilization: 0.5, MemoryUsedBytes: 70e9, SMClockHz: 1.98e9, MemoryClockHz: 2.6e9, TemperatureC: 50, EnergyJ: 1000},
		{At: 11 * time.Second, PowerW: 600, Utilization: 0.9, MemoryUsedBytes: 72e9, SMClockHz: 1.7e9, MemoryClockHz: 2.6e9, TemperatureC: 60, EnergyJ: 4000},
		{At: 20 * time.Second, PowerW: 650, Utilization: 1, MemoryUsedBytes: 72e9, SMClockHz: 1.5e9, MemoryClockHz: 2.6e9, TemperatureC: 66, EnergyJ: 9100},
	}}}
	return run
}

// exampleServer is a server that fills up, as it tells three times.
func exampleServer() (samples []record.ServerSample) {
	for i, at := range []time.Duration{time.Second, 10 * time.Second, 19 * time.Second} {
		n := float64(i)
		samples = append(samples, scrape(at, func(s *record.ServerSample) {
			s.Running, s.Waiting, s.KVUsage, s.Preemptions = 200+20*n, 20*n, 0.2+0.3*n, 2*n
			s.DraftTokens, s.AcceptedTokens, s.Drafts = 3000*n, 2000*n, 1000*n
			s.Finished = map[string]float64{"stop": 100 * n, "length": 10000 * n, "abort": 3 * n}
			s.TTFT = &record.Histogram{Bounds: []float64{0.05, 0.1, 0.5, math.Inf(1)}, Counts: []float64{0, 9000 * n, 10000 * n, 10000 * n}, Sum: 900 * n}
			s.Queue = &record.Histogram{Bounds: []float64{0.3, math.Inf(1)}, Counts: []float64{10000 * n, 10000 * n}, Sum: 90 * n}
		}))
	}
	return samples
}

// scrape is a sample of a server that tells only what change sets.
func scrape(at time.Duration, change func(*record.ServerSample)) record.ServerSample {
	s := record.UnknownSample()
	s.At = at
	change(&s)
	return s
}

func text(t *testing.T, r *Report, opts TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteText(&b, r, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	full := Summarize(exampleRun(), synthetic(20_000, 16))
	limited := exampleRun()
	limited.Client.CPUFraction = 0.97
	limited.MaxFailures = 0.001
	slo := exampleRun()
	slo.SLODefault, slo.Server, slo.Cost, slo.Asserts = false, nil, record.Cost{}, nil
	failedOnly := func(yield func(*record.Record) bool) {
		for i, detail := range []string{"too long", "this model's maximum context length is 2048 tokens, and the request asked for 4096 of them", "this model's maximum context length is 2048 tokens, and the request asked for 4096 of them"} {
			yield(&record.Record{ID: int64(i), Scheduled: record.At(3 * time.Second), Sent: record.At(3 * time.Second), Outcome: record.Failed, Failure: record.HTTPFailure(400), Detail: detail, Attempts: 1})
		}
		yield(&record.Record{Scheduled: record.At(3 * time.Second), Sent: record.At(3 * time.Second), Outcome: record.Failed, Failure: record.TimeoutIdle, Detail: "timeout_idle: none within 30s", Attempts: 1})
		yield(&record.Record{Scheduled: record.At(4 * time.Second), Sent: record.At(4 * time.Second), Outcome: record.Cut})
	}
	for _, tc := range []struct {
		name   string
		report *Report
		opts   TextOptions
	}{
		{"full", full, TextOptions{}},
		{"color", full, TextOptions{Color: true, Width: 120}},
		{"limited", Summarize(limited, synthetic(20_000, 16)), TextOptions{}},
		{"few", Summarize(slo, synthetic(2_050, 16)), TextOptions{}},
		{"telemetry", Summarize(observed(), synthetic(20_000, 16)), TextOptions{}},
		{"empty", Summarize(slo, synthetic(0, 16)), TextOptions{}},
		{"failed", Summarize(slo, failedOnly), TextOptions{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := text(t, tc.report, tc.opts)
			golden(t, tc.name+".txt", got)
			width := tc.opts.Width
			if width == 0 {
				width = 80
			}
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			for _, line := range lines {
				if ansi.StringWidth(line) > width {
					t.Errorf("wider than %d columns: %q", width, line)
				}
			}
			if len(lines) > 40 {
				t.Errorf("%d lines, more than a screen", len(lines))
			}
		})
	}
}

// A line is never broken between a number and its unit, nor inside a part of a
// list, unless nothing else fits.
func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		width      int
		want       []string
	}{
		{"words", "one two three", 8, []string{"one two", "three"}},
		{"number and percent", "it was 28.9 % of", 11, []string{"it was", "28.9 % of"}},
		{"number and thing", "there were 1,000 requests", 16, []string{"there were", "1,000 requests"}},
		{"coloured number", "it was \x1b[31m28.9\x1b[m ms", 11, []string{"it was", "\x1b[31m28.9\x1b[m ms"}},
		{"the end of a phrase", "all of 5, then more", 9, []string{"all of 5,", "then more"}},
		{"list", list([]string{"a b c", "d e f"}, ", "), 9, []string{"a b c,", "d e f"}},
		{"wider than a line", list([]string{"a b c", "d e f"}, ", "), 4, []string{"a b", "c, d", "e f"}},
		{"a unit that does not fit", "12 milliseconds", 12, []string{"12", "milliseconds"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, wrap(tc.text, tc.width)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A report must be the same when its records have been to the disk and back.
func TestTextFromSavedRun(t *testing.T) {
	run := exampleRun()
	path := filepath.Join(t.TempDir(), "run")
	dir, err := record.CreateDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for r := range synthetic(3_000, 16) {
		if err := dir.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	want := Summarize(run, synthetic(3_000, 16))
	doc, err := want.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteRun(run, doc); err != nil {
		t.Fatal(err)
	}
	saved, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	got := Summarize(saved.Run, saved.Records())
	if saved.Err() != nil || len(saved.Warnings()) > 0 {
		t.Fatalf("error %v, warnings %v", saved.Err(), saved.Warnings())
	}
	if diff := cmp.Diff(text(t, want, TextOptions{}), text(t, got, TextOptions{})); diff != "" {
		t.Errorf("(-measured +saved):\n%s", diff)
	}
	if again, err := got.JSON(); err != nil || string(again) != string(doc) {
		t.Errorf("the documents differ (%v)", err)
	}
	if read, err := ParseReport(saved.Report); err != nil || text(t, read, TextOptions{}) != text(t, want, TextOptions{}) {
		t.Errorf("the saved document gives another text (%v)", err)
	}
}

func TestComparison(t *testing.T) {
	variant := func(ttft time.Duration, cached int) *Report {
		run := openRun(10 * time.Second)
		run.SharedPrefix = true
		var records []*record.Record
		for i := range 20 {
			records = append(records, with(request(time.Duration(i)*100*ms, ttft, 10*ms, 10), func(r *record.Record) { r.Cached = record.Counted(cached) }))
		}
		return summary(run, records...)
	}
	a, b := NamedReport{"unshared", variant(400*ms, 0)}, NamedReport{"shared", variant(100*ms, 75)}
	var out bytes.Buffer
	if err := WriteComparison(&out, "shared-prefix", a, b, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison.txt", out.String())
	e := NewExperiment("shared-prefix", a, b)
	if e.Ratios["ttft_p50"] != 0.25 {
		t.Errorf("ratios = %v, want a quarter of the TTFT", e.Ratios)
	}
	if _, ok := e.Ratios["prefix_hit_rate"]; ok {
		t.Error("a ratio to a hit rate of 0")
	}
	b.Report.Experiment = e
	if !strings.Contains(text(t, b.Report, TextOptions{}), out.String()) {
		t.Error("the report does not show its experiment")
	}
}

func TestWriteLive(t *testing.T) {
	live := record.Live{
		Elapsed: 12 * time.Second, Total: 30 * time.Second, Phase: "measuring", Scheduled: 49, Sent: 48, InFlight: 3, OK: 44, Failed: 1,
		OfferedRPS: 4, CompletedRPS: 3.9, OutputTokensPerS: 1020, TTFT: record.LivePercentiles{N: 40, P50: 48 * ms, P99: 120 * ms}, TPOT: record.LivePercentiles{N: 40, P50: 12 * ms, P99: 19 * ms},
		Failures: map[record.Failure]int{record.HTTPFailure(503): 1},
	}
	for name, tc := range map[string]struct {
		change func(*record.Live)
		want   string
	}{
		"timed":      {func(l *record.Live) { l.Failed = 0 }, "12 of 30 s  sent 48  ok 44 (3.90/s)  3 in flight  tokens/s 1,020  last 5 s p99: ttft 120 ms  tpot 19 ms\n"},
		"failing":    {func(*record.Live) {}, "12 of 30 s  sent 48  ok 44 (3.90/s)  3 in flight  failed 1 http_503  tokens/s 1,020  last 5 s p99: ttft 120 ms\n"},
		"counted":    {func(l *record.Live) { l.Total, l.PlannedRequests, l.Failed, l.TPOT.N = 0, 100, 0, 0 }, "12 s, 49 of 100 requests  sent 48  ok 44 (3.90/s)  3 in flight  tokens/s 1,020  last 5 s p99: ttft 120 ms\n"},
		"warming up": {func(l *record.Live) { l.Phase, l.Failed, l.TTFT.N = record.WarmingUp, 0, 0 }, "warming up 12 of 30 s  sent 48  ok 44 (3.90/s)  3 in flight  tokens/s 1,020  last 5 s p99: tpot 19 ms\n"},
		"draining": {func(l *record.Live) {
			l.Phase, l.Elapsed, l.Failed, l.TTFT.N, l.TPOT.N = record.Draining, 91*time.Second, 0, 0, 0
		}, "draining 91 s  sent 48  ok 44 (3.90/s)  3 in flight  tokens/s 1,020\n"},
		"dropping": {func(l *record.Live) { l.Failed, l.Dropped, l.TTFT.N, l.TPOT.N = 0, 5, 0, 0 }, "12 of 30 s  sent 48  ok 44 (3.90/s)  3 in flight  dropped 5  tokens/s 1,020\n"},
		"starting": {func(l *record.Live) { *l = record.Live{} }, "0 s  sent 0  ok 0 (0/s)  0 in flight  tokens/s 0\n"},
	} {
		l := live
		tc.change(&l)
		var b bytes.Buffer
		if err := WriteLive(&b, l); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := utf8.RuneCountInString(b.String()) - 1; n > liveWidth {
			t.Errorf("%s: %d columns", name, n)
		}
	}
}
