package reports

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestRunTable: a run's numbers are in its table as in its report, what is absent
// is not there, and no metric is there twice.
func TestRunTable(t *testing.T) {
	r := Summarize(simulated(steadyLevel), slices.Values(flow(steadyLevel, fine)))
	values := map[string]string{}
	for _, row := range RunTable(r).Rows {
		key := row[0] + " " + row[1]
		if _, twice := values[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		values[key] = row[2]
	}
	for key, want := range map[string]string{
		"ttft_s p99": exact(r.TTFT.P99), "tpot_s n": exact(float64(r.TPOT.N)), "requests ok": exact(float64(r.Requests.OK)),
		"completed_rps ": exact(*r.Rates.CompletedRPS), "output_tokens_per_s ": exact(*r.Rates.OutputTokensPerS),
	} {
		if values[key] != want {
			t.Errorf("%s is %q, want %q", key, values[key], want)
		}
	}
	r.TPOT = nil
	for _, row := range RunTable(r).Rows {
		if row[0] == "tpot_s" {
			t.Errorf("tpot is absent, got %v", row)
		}
	}
	var b bytes.Buffer
	if err := RunTable(r).WriteCSV(&b); err != nil || !strings.HasPrefix(b.String(), "metric,stat,value\nttft_s,p50,") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestRepeatsTable: repeats have a median and its interval for each metric.
func TestRepeatsTable(t *testing.T) {
	r := Summarize(simulated(steadyLevel), slices.Values(flow(steadyLevel, fine)))
	all := NewRepeats([]*Report{r, r})
	want := []string{"ttft_p50_s", "median", exact(r.TTFT.P50)}
	if got := RepeatsTable(all).Rows; !slices.Equal(got[0], want) || len(got) != 7*len(all.Metrics) {
		t.Errorf("%d rows, the first %v, want %v", len(got), got[0], want)
	}
	var b bytes.Buffer
	if err := WriteRepeatsMarkdown(&b, all); err != nil || !strings.Contains(b.String(), "| ttft_p50_s | median |") || !strings.Contains(b.String(), "2 runs; ") {
		t.Errorf("%v: %s", err, b.String())
	}
}
