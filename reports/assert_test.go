package reports

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmctl/llmctl/reports/record"
)

func TestParseAssert(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Assert
	}{
		{"p99(ttft) < 500ms", Assert{Stat: "p", P: 99, Metric: "ttft", Op: "<", Value: 0.5}},
		{" p99.9( tpot )<=50ms ", Assert{Stat: "p", P: 99.9, Metric: "tpot", Op: "<=", Value: 0.05}},
		{"P0(E2E)>1s", Assert{Stat: "p", P: 0, Metric: "e2e", Op: ">", Value: 1}},
		{"mean(icl) < 10ms", Assert{Stat: "mean", Metric: "icl", Op: "<", Value: 0.01}},
		{"max(lag) < 5ms", Assert{Stat: "max", Metric: "lag", Op: "<", Value: 0.005}},
		{"n(ttft) >= 2k", Assert{Stat: "n", Metric: "ttft", Op: ">=", Value: 2000}},
		{"n(failures) == 0", Assert{Stat: "n", Metric: "failures", Op: "==", Value: 0}},
		{"rate(failures) < 1%", Assert{Stat: "rate", Metric: "failures", Op: "<", Value: 0.01}},
		{"goodput >= 4/s", Assert{Metric: "goodput", Op: ">=", Value: 4}},
		{"attainment >= 99%", Assert{Metric: "attainment", Op: ">=", Value: 0.99}},
		{"attainment >= 0.99", Assert{Metric: "attainment", Op: ">=", Value: 0.99}},
		{"attainment == 100%", Assert{Metric: "attainment", Op: "==", Value: 1}},
		{"attainment == 1", Assert{Metric: "attainment", Op: "==", Value: 1}},
		{"rate(failures) <= 0", Assert{Stat: "rate", Metric: "failures", Op: "<=", Value: 0}},
		{"output_tokens_per_s > 1.5k", Assert{Metric: "output_tokens_per_s", Op: ">", Value: 1500}},
		{"output_tokens_per_s > 10/s", Assert{Metric: "output_tokens_per_s", Op: ">", Value: 10}},
		{"prefix_hit_rate > 50 %", Assert{Metric: "prefix_hit_rate", Op: ">", Value: 0.5}},
		{"usd_per_1m_output_tokens < $0.50", Assert{Metric: "usd_per_1m_output_tokens", Op: "<", Value: 0.5}},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := ParseAssert(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Text = strings.TrimSpace(tc.text)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Assert{}), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseAssertRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "no comparison"},
		{"p99(ttft)", "no comparison"},
		{"p99(ttft) = 1s", "unknown comparison"},
		{"p99(tftt) < 1s", `did you mean "ttft"?`},
		{"p99(latency) < 1s", "expected one of ttft"},
		{"p101(ttft) < 1s", "unknown statistic"},
		{"p-1(ttft) < 1s", "unknown statistic"},
		{"meen(ttft) < 1s", `did you mean "mean"?`},
		{"p99(ttft < 1s", "no closing bracket"},
		{"p99(ttft)x < 1s", "no closing bracket"},
		{"ttft < 1s", "needs a statistic, as in p99(ttft)"},
		{"rate(ttft) < 1s", "rate does not apply to ttft"},
		{"failures < 1%", "n(failures) or rate(failures)"},
		{"p99(failures) < 1%", "p does not apply to failures"},
		{"mean(goodput) > 4/s", "stands without a statistic"},
		{"p99(ttft) < 500", "expected one like 500ms"},
		{"goodput > 4/x", "unknown time unit"},
		{"attainment > many", "expected one like 99%"},
		{"attainment > NaN", "not a number"},
		{"attainment >= 99", "99% or 0.99"},
		{"attainment >= 101%", "99% or 0.99"},
		{"prefix_hit_rate > 50", "between 0 and 1"},
		{"rate(failures) < 1.5", "between 0 and 1"},
		{"rate(failures) < -1%", "between 0 and 1"},
		{"attainment > Inf", "between 0 and 1"},
		{"p99(ttft) <", "expected one like 500ms"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			if _, err := ParseAssert(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestEvaluate(t *testing.T) {
	run := openRun(10 * time.Second)
	run.Asserts = []string{"p25(ttft) < 150ms", "p50(ttft) == 150ms", "max(e2e) < 1ms", "n(tpot) == 2", "rate(failures) < 1%", "attainment >= 99%", "goodput > 0.1/s", "prefix_hit_rate > 10%", "usd_per_1m_output_tokens < 1", "bad"}
	r := summary(run, request(0, 100*ms, 10*ms, 10), request(time.Second, 200*ms, 10*ms, 10))
	v := func(f float64) *float64 { return &f }
	want := []AssertResult{
		{Text: run.Asserts[0], Value: v(0.125), OK: true},
		{Text: run.Asserts[1], Value: v(0.15), OK: true},
		{Text: run.Asserts[2], Value: v(0.29)},
		{Text: run.Asserts[3], Value: v(2), OK: true},
		{Text: run.Asserts[4], Value: v(0), OK: true},
		{Text: run.Asserts[5], Value: v(1), OK: true},
		{Text: run.Asserts[6], Value: v(0.2), OK: true},
		{Text: run.Asserts[7], Reason: "neither usage nor the server's metrics say what was cached"},
		{Text: run.Asserts[8], Reason: "the price of the hardware is unknown"},
		{Text: run.Asserts[9], Reason: `parsing assertion "bad": no comparison, expected one like p99(ttft) < 500ms`},
	}
	if diff := cmp.Diff(want, r.Asserts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVerdict(t *testing.T) {
	no, half := false, 0.5
	slo := &SLO{OK: &no, Objectives: []Objective{{OK: &no, Attainment: &half, Target: 0.99}}}
	defaultSLO := &SLO{OK: &no, Default: true}
	failed := []AssertResult{{Text: "p99(ttft) < 1s", Reason: "no request had output"}}
	warning := func(code string) []record.Warning { return []record.Warning{{Code: code, Text: "t"}} }
	missing, truncated, repeated := warning(record.RecordsMissing), warning(record.RecordsTruncated), warning(record.RecordsRepeated)
	unfinished := warning(record.Unfinished)
	halves := func(reason Reason) *Experiment {
		return &Experiment{Variants: []Variant{{Name: "unique", Verdict: reason.String(), Trusted: Verdict{Reason: reason}.Trustworthy()}, {Name: "shared", Verdict: "held", Trusted: true}}}
	}
	limited := Client{Limited: true, Reasons: []string{"late"}}
	for _, tc := range []struct {
		name   string
		report Report
		want   Reason
	}{
		{"held", Report{Requests: Requests{OK: 1}}, Held},
		{"damaged comes first", Report{Interrupted: true, Client: limited, Warnings: missing, SLO: slo, Asserts: failed}, Damaged},
		{"cut in a record", Report{Requests: Requests{OK: 1}, Warnings: truncated}, Damaged},
		{"cut in a record by a kill", Report{Interrupted: true, Requests: Requests{OK: 1}, Warnings: append(unfinished, truncated...)}, Interrupted},
		{"repeated after a kill", Report{Interrupted: true, Requests: Requests{OK: 1}, Warnings: append(unfinished, repeated...)}, Damaged},
		{"other warnings", Report{Requests: Requests{OK: 1}, Warnings: []record.Warning{{Code: "short_output"}}}, Held},
		{"interrupted comes next", Report{Interrupted: true, Client: limited, SLO: slo, Asserts: failed}, Interrupted},
		{"then the client", Report{Requests: Requests{OK: 1, FailedShare: &half}, Client: limited, SLO: slo, Asserts: failed}, ClientLimited},
		{"then failures", Report{Requests: Requests{OK: 1, FailedShare: &half, MaxFailures: 0.01}, SLO: slo, Asserts: failed}, TooManyFailures},
		{"failures that are allowed", Report{Requests: Requests{OK: 1, FailedShare: &half, MaxFailures: 0.5}}, Held},
		{"then nothing", Report{SLO: slo, Asserts: failed}, NothingMeasured},
		{"then a half of the experiment", Report{Requests: Requests{OK: 1}, Experiment: halves(ClientLimited), SLO: slo, Asserts: failed}, ClientLimited},
		{"a half with failures", Report{Requests: Requests{OK: 1}, Experiment: halves(TooManyFailures)}, TooManyFailures},
		{"a half without requests", Report{Requests: Requests{OK: 1}, Experiment: halves(NothingMeasured)}, NothingMeasured},
		{"a half that missed its SLO", Report{Requests: Requests{OK: 1}, Experiment: halves(SLOMissed)}, Held},
		{"then the SLO", Report{Requests: Requests{OK: 1}, SLO: slo, Asserts: failed}, SLOMissed},
		{"the default SLO is not judged by", Report{Requests: Requests{OK: 1}, SLO: defaultSLO}, Held},
		{"assertions", Report{Requests: Requests{OK: 1}, SLO: defaultSLO, Asserts: failed}, AssertFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.report.Verdict()
			if got.Reason != tc.want {
				t.Errorf("verdict = %v (%s), want %v", got.Reason, got.Text, tc.want)
			}
			if (got.Text == "") != (got.Reason == Held) {
				t.Errorf("verdict %v has the text %q", got.Reason, got.Text)
			}
		})
	}
}

// A comparison with a half that can not be trusted says which half, also when
// the report comes from a document.
func TestVerdictNamesTheHalf(t *testing.T) {
	ok := request(0, 100*ms, 10*ms, 10)
	limited := openRun(time.Minute)
	limited.Client.CPUFraction = 0.99
	r := summary(openRun(time.Minute), ok)
	r.Experiment = NewExperiment("shared-prefix", NamedReport{"unique", summary(limited, ok)}, NamedReport{"shared", r})
	doc, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseReport(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Report{r, read} {
		if v := r.Verdict(); v.Reason != ClientLimited || v.Trustworthy() || v.Text != "the unique half: client-limited" {
			t.Errorf("verdict %v: %q", v.Reason, v.Text)
		}
	}
}

// Requests that were cut did not end: no share of them failed.
func TestFailedText(t *testing.T) {
	for _, tc := range []struct {
		requests Requests
		want     string
	}{
		{Requests{OK: 0, Failed: 70, Cut: 149}, "all 70 requests that ended failed"},
		{Requests{Failed: 1}, "the only request that ended failed"},
		{Requests{OK: 99, Failed: 1}, "1 % of 100 requests failed"},
		{Requests{OK: 99, Failed: 1, Cut: 7}, "1 % of the 100 requests that ended failed"},
	} {
		tc.requests.FailedShare = ratio(float64(tc.requests.Failed), float64(tc.requests.OK+tc.requests.Failed))
		if got := tc.requests.failedText(); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.requests, got, tc.want)
		}
	}
}

// An objective that was asked for does not hold by being about nothing.
func TestObjectiveWithoutRequests(t *testing.T) {
	ok := with(request(0, 100*ms, 10*ms, 10), func(r *record.Record) { r.Class = "chat" })
	unanswered := &record.Record{Scheduled: record.At(0), Sent: record.At(0), First: record.At(ms), Last: record.At(ms), Closed: record.At(2 * ms), Outcome: record.Cut}
	for _, tc := range []struct {
		name      string
		slo       record.SLO
		isDefault bool
		record    *record.Record
		want      Reason
		text      string
	}{
		{"class of the workload", record.SLO{Class: "chat", TTFT: time.Second}, false, ok, Held, ""},
		{"class that nobody has", record.SLO{Class: "foo", TTFT: time.Nanosecond}, false, ok, SLOMissed, "SLO missed: no request of class foo was measured"},
		{"by default", record.SLO{Class: "foo", TTFT: time.Nanosecond}, true, ok, Held, ""},
		{"no request that counts", record.SLO{TTFT: time.Second}, false, unanswered, SLOMissed, "SLO missed: no request was measured"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := openRun(time.Minute)
			run.SLO, run.SLODefault = []record.SLO{tc.slo}, tc.isDefault
			r := summary(run, tc.record)
			if v := r.Verdict(); v.Reason != tc.want || v.Text != tc.text {
				t.Errorf("verdict %v: %q, want %v: %q", v.Reason, v.Text, tc.want, tc.text)
			}
			text(t, r, TextOptions{}) // has nothing to show and must not fail
		})
	}
}

func FuzzParseAssert(f *testing.F) {
	for _, s := range []string{"p99(ttft) < 500ms", "rate(failures) <= 1%", "goodput >= 4/s", "usd_per_1m_output_tokens < $0.5", "p(ttft)<1s", "((=", "p1e1(e2e)==1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAssert(s)
		if err != nil {
			return
		}
		again, err := ParseAssert(a.Text)
		if err != nil {
			t.Fatalf("%q was accepted, its text %q is not: %v", s, a.Text, err)
		}
		if a != again {
			t.Fatalf("%q parsed to %+v and then to %+v", s, a, again)
		}
		// A value either meets the condition or it does not; the bound itself
		// meets exactly <=, >= and ==.
		if want := strings.Contains(a.Op, "="); a.Holds(a.Value) != want {
			t.Fatalf("%q at its own bound: %v, want %v", s, a.Holds(a.Value), want)
		}
	})
}
