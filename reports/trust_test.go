package reports

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/reports/record"
)

func TestClientLimited(t *testing.T) {
	late := with(request(0, 100*ms, 10*ms, 10), func(r *record.Record) { r.Sent = record.At(6 * ms) })
	slow := with(request(0, 10*time.Second, 10*ms, 10), func(r *record.Record) { r.Sent = record.At(6 * ms) })
	for _, tc := range []struct {
		name   string
		change func(*record.Run)
		record *record.Record
		want   string
	}{
		{"in time", nil, request(0, 100*ms, 10*ms, 10), ""},
		{"lag over 5 ms", nil, late, "lag p99 6 ms, limit 5 ms"},
		{"lag under 5 % of a long TTFT", nil, slow, ""},
		{"lag over the user's limit", func(r *record.Run) { r.Client.MaxLag = ms }, slow, "limit 1 ms"},
		{"lag under the user's limit", func(r *record.Run) { r.Client.MaxLag = 10 * ms }, late, ""},
		{"processor", func(r *record.Run) { r.Client.CPUFraction = 0.95 }, request(0, 100*ms, 10*ms, 10), "95 % of its CPU"},
		{"dropped", nil, &record.Record{Scheduled: record.At(0), Outcome: record.Dropped}, "1 request dropped"},
		{"ports", nil, &record.Record{Scheduled: record.At(0), Sent: record.At(0), Outcome: record.Failed, Failure: record.ClientPorts}, "1 request found no free port on the client"},
		{"files", nil, &record.Record{Scheduled: record.At(0), Sent: record.At(0), Outcome: record.Failed, Failure: record.ClientPorts, Detail: record.OutOfFiles + ": dial"},
			"1 request failed because the client ran out of open files (ulimit -n)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := openRun(time.Minute)
			if tc.change != nil {
				tc.change(&run)
			}
			c := summary(run, tc.record).Client
			if got := strings.Join(c.Reasons, "; "); c.Limited != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("limited %v by %q, want %q", c.Limited, got, tc.want)
			}
		})
	}
}

// What a target says of itself, or a saved file, can not steer a terminal.
func TestReportIsPrintable(t *testing.T) {
	const evil = "\x1b]0;owned\a\n"
	run := openRun(time.Minute)
	run.ID, run.Asked, run.Target = evil, evil, record.Target{Endpoint: evil, Model: evil, Device: evil}
	run.Environment = record.Environment{Version: evil, Host: evil, OS: evil, CPU: evil, GPUs: []string{evil}}
	run.Warnings, run.Asserts = []record.Warning{{Code: "c", Text: evil}}, []string{"n(ttft) > 0" + evil}
	run.Defaults = []record.Default{{Name: evil, Value: evil, Flag: evil}}
	run.Cost = record.Cost{USDPerHour: 1, Source: evil}
	r := summary(run, request(0, 100*ms, 10*ms, 10))
	if got := text(t, r, TextOptions{}) + r.Verdict().Text; strings.ContainsAny(got, "\x1b\a") {
		t.Errorf("the report holds control characters: %q", got)
	}
}

func codes(r *Report) (out []string) {
	for _, w := range r.Warnings {
		out = append(out, w.Code)
	}
	return out
}

func TestWarnings(t *testing.T) {
	ok := request(0, 100*ms, 10*ms, 10)
	cached := with(ok, func(r *record.Record) { r.Cached = record.Counted(50) })
	for _, tc := range []struct {
		name   string
		change func(*record.Run)
		record *record.Record
		want   string
	}{
		{"none", nil, ok, ""},
		{"warm cache", nil, cached, "warm_cache"},
		{"shared on purpose", func(r *record.Run) { r.SharedPrefix = true }, cached, ""},
		{"later turns share on purpose", nil, with(cached, func(r *record.Record) { r.Turn = 1 }), ""},
		{"cache below the threshold", nil, with(ok, func(r *record.Record) { r.Cached = record.Counted(2) }), ""},
		{"estimated", nil, with(ok, func(r *record.Record) { r.TokensSource = record.Estimated }), "tokens_estimated"},
		{"chunks", nil, with(ok, func(r *record.Record) { r.TokensSource = record.FromChunk }), "tokens_estimated"},
		{"short", nil, with(ok, func(r *record.Record) { r.ShortOutput = true }), "short_output"},
		{"implausible usage", nil, with(ok, func(r *record.Record) { r.UsageImplausible = true }), "usage_implausible"},
		{"length", nil, with(ok, func(r *record.Record) { r.AskedInput = record.Counted(50) }), "input_length"},
		{"failures", nil, with(ok, func(r *record.Record) { r.Outcome, r.Failure = record.Failed, record.Truncated }), "too_many_failures"},
		{"failures allowed", func(r *record.Run) { r.MaxFailures = 1 }, with(ok, func(r *record.Record) { r.Outcome, r.Failure = record.Failed, record.Truncated }), ""},
		{"interrupted", func(r *record.Run) { r.Interrupted = true }, ok, "interrupted"},
		{"events together", nil, bursts(10, 2), "coalesced"},
		{"a tenth of the events together", nil, bursts(11, 10), ""}, // one gap of ten
		{"all of an answer at once", nil, request(0, 100*ms, 0, 10), "coalesced single_arrival"},
		{"all of an answer in one event", nil, with(request(0, 100*ms, 0, 1), func(r *record.Record) { r.Output = record.Counted(10) }), "single_arrival"},
		{"one token", nil, request(0, 100*ms, 0, 1), ""},
		{"time went to other machines", func(r *record.Run) { r.Client.CPUSteal = new(0.051) }, ok, "cpu_steal"},
		{"hardly any time went to other machines", func(r *record.Run) { r.Client.CPUSteal = new(0.049) }, ok, ""},
		{"a restart", func(r *record.Run) {
			r.Server = []record.ServerSample{countedAt(0, 9), countedAt(time.Minute, 3)}
		}, ok, "server_restarted"},
		{"empty window", nil, request(2*time.Minute, 100*ms, 10*ms, 10), "empty_window"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := openRun(time.Minute)
			if tc.change != nil {
				tc.change(&run)
			}
			if got := strings.Join(codes(summary(run, tc.record)), " "); got != tc.want {
				t.Errorf("warnings %q, want %q", got, tc.want)
			}
		})
	}
}

// bursts is a request of n events of which each k-th one comes with the one
// before.
func bursts(n, k int) *record.Record {
	r := request(0, 100*ms, 10*ms, n)
	times := r.Chunks.(*record.MeasuredChunks).Times
	for i := k - 1; i < n; i += k {
		times[i] = times[i-1] + oneRead - 1
	}
	return r
}

func TestPrefixCacheSource(t *testing.T) {
	counters := []record.ServerSample{
		scrape(0, func(s *record.ServerSample) { s.PrefixQueries, s.PrefixHits = 1000, 500 }),
		scrape(10*time.Second, func(s *record.ServerSample) { s.PrefixQueries, s.PrefixHits = 2000, 750 }),
	}
	plain := request(0, 100*ms, 10*ms, 10)
	cached := with(plain, func(r *record.Record) { r.Cached = record.Counted(40) })
	for _, tc := range []struct {
		name    string
		server  []record.ServerSample
		records []*record.Record
		want    *PrefixCache
	}{
		{"usage", counters, []*record.Record{cached}, &PrefixCache{0.4, "usage"}},
		{"server", counters, []*record.Record{plain}, &PrefixCache{0.25, "server"}},
		{"usage of some only, with counters", counters, []*record.Record{plain, cached}, &PrefixCache{0.25, "server"}},
		{"usage of some only", nil, []*record.Record{plain, cached}, &PrefixCache{0.4, "usage"}},
		{"nobody says", nil, []*record.Record{plain}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := openRun(10 * time.Second)
			run.Server = tc.server
			r := summary(run, tc.records...)
			if diff := cmp.Diff(tc.want, r.PrefixCache); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCost(t *testing.T) {
	run := openRun(10 * time.Second)
	run.Cost = record.Cost{USDPerHour: 3.6}
	c := summary(run, request(0, 100*ms, 10*ms, 100), request(0, 600*ms, 10*ms, 100)).Cost
	// 200 tokens in 10 s are 72,000 an hour; half of them were good.
	if value(c.USDPer1MOutput) != 50 || value(c.USDPer1MOutputGoodput) != 100 || value(c.USDPer1MTotal) != 25 {
		t.Errorf("per 1M output %v, at goodput %v, total %v; want 50, 100, 25", value(c.USDPer1MOutput), value(c.USDPer1MOutputGoodput), value(c.USDPer1MTotal))
	}
	// A good request that goes on after the window counts with what it did in it:
	// 101 tokens of 200, and so do all.
	late := summary(run, request(9900*ms-100*ms, 100*ms, ms, 200))
	if c := late.Cost; value(c.GoodOutputTokensPerS) != 10.1 || value(late.Rates.OutputTokensPerS) != 10.1 || value(late.SLO.GoodputRPS) != 0.1 {
		t.Errorf("good tokens/s %v of %v, goodput %v/s", value(c.GoodOutputTokensPerS), value(late.Rates.OutputTokensPerS), value(late.SLO.GoodputRPS))
	}
	if summary(openRun(time.Second), request(0, 100*ms, 10*ms, 2)).Cost != nil {
		t.Error("a cost without a price")
	}
}
