package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// TestRepeats: the median and the spread are over runs, absent where no run has
// the metric, and a run that can not be trusted is named.
func TestRepeats(t *testing.T) {
	run := func(ttft time.Duration) *Report {
		return summary(openRun(time.Second), request(0, ttft, 10*ms, 1))
	}
	limited := run(300 * ms)
	limited.Client.Limited, limited.Client.Reasons = true, []string{"late"}
	all := NewRepeats([]*Report{run(100 * ms), limited, run(200 * ms)})
	found := map[string]Repeated{}
	for _, m := range all.Metrics {
		found[m.Metric] = m
	}
	ttft := found["ttft_p50_s"]
	if ttft.N != 3 || ttft.Median != 0.2 || ttft.Min != 0.1 || ttft.Max != 0.3 || value(ttft.Spread) != 1 {
		t.Errorf("%+v", ttft)
	}
	if m, ok := found["tpot_p50_s"]; ok {
		t.Errorf("one token has a TPOT: %+v", m)
	}
	if failed := found["failed_share"]; failed.N != 3 || failed.Spread != nil {
		t.Errorf("%+v", failed)
	}
	var text bytes.Buffer
	if err := WriteRepeats(&text, all, TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	golden(t, "repeats.txt", text.String())
	if !strings.Contains(text.String(), "run 2 is not trustworthy") {
		t.Error("nothing is said about the second run")
	}
}

// TestAbortedVerdict: a run that was broken off is not trusted, and a client that
// was the bottleneck is the first thing to know.
func TestAbortedVerdict(t *testing.T) {
	r := summary(openRun(time.Second), request(0, 100*ms, 10*ms, 3))
	r.Warnings = append(r.Warnings, record.Warning{Code: record.Aborted, Text: "broken off: why"})
	if v := r.Verdict(); v.Reason != Aborted || v.Text != "broken off: why" || v.Trustworthy() {
		t.Errorf("%+v", v)
	}
	r.Client.Limited = true
	if v := r.Verdict(); v.Reason != ClientLimited {
		t.Errorf("%+v", v)
	}
}
