package telemetry

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

func scrape(e *Exporter) string {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// has reports whether a page has the line.
func has(page, line string) bool { return strings.Contains("\n"+page, "\n"+line+"\n") }

func TestExporter(t *testing.T) {
	e := NewExporter("v1")
	ok := &record.Record{
		Tenant: "secret-tenant", Model: "secret-model", Detail: "secret-detail", Outcome: record.OK,
		Scheduled: record.At(0), Sent: record.At(ms), First: record.At(31 * ms), Last: record.At(131 * ms),
		Input: record.Counted(100), Output: record.Counted(11),
	}
	e.Record(ok)
	e.Record(&record.Record{Outcome: record.Failed, Failure: "http_429", Detail: "secret-detail", Sent: record.At(0), First: record.At(ms)})
	e.Record(&record.Record{Outcome: record.Dropped})
	e.Show(record.Live{Elapsed: time.Second, Phase: record.WarmingUp, Scheduled: 10, Sent: 9, InFlight: 4, OutputTokens: 50})
	e.Show(record.Live{Elapsed: 2 * time.Second, Phase: record.Measuring, Scheduled: 20, Sent: 18, InFlight: 5, OutputTokens: 90})
	e.Show(record.Live{Elapsed: time.Second, Phase: record.Measuring, Scheduled: 1, Sent: 1, InFlight: 1, OutputTokens: 7}) // a second run
	page := scrape(e)
	for _, line := range []string{
		`llmctl_bench_requests_total{failure="",outcome="ok"} 1`, `llmctl_bench_requests_total{failure="http_429",outcome="failed"} 1`,
		`llmctl_bench_requests_total{failure="",outcome="dropped"} 1`, `llmctl_bench_requests_total{failure="",outcome="cut"} 0`,
		`llmctl_bench_scheduled_requests_total 21`, `llmctl_bench_sent_requests_total 19`, `llmctl_bench_output_tokens_total 97`,
		`llmctl_bench_prompt_tokens_total 100`, `llmctl_bench_in_flight 1`, `llmctl_bench_elapsed_seconds 1`,
		`llmctl_bench_phase{phase="measuring"} 1`, `llmctl_bench_phase{phase="warming up"} 0`,
		`llmctl_bench_ttft_seconds_count 1`, `llmctl_bench_ttft_seconds_sum 0.03`, `llmctl_bench_tpot_seconds_sum 0.01`,
		`llmctl_bench_e2e_seconds_sum 0.13`, `llmctl_bench_lag_seconds_sum 0.001`, `llmctl_bench_info{version="v1"} 1`,
	} {
		if !has(page, line) {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(page, "secret") {
		t.Error("the page repeats what a user or a server wrote")
	}
	if t.Failed() {
		t.Log(page)
	}
}

// A server that makes up status codes can not make series without end.
func TestExporterIsBounded(t *testing.T) {
	e := NewExporter("v1")
	for i := range 1000 {
		e.Record(&record.Record{Outcome: record.Failed, Failure: record.Failure(fmt.Sprintf("http_%d", i))})
	}
	page := scrape(e)
	if n := strings.Count(page, `outcome="failed"`); n != maxFailures+1 || !has(page, fmt.Sprintf(`llmctl_bench_requests_total{failure="other",outcome="failed"} %d`, 1000-maxFailures)) {
		t.Errorf("%d classes of failures", n)
	}
}

func TestNextScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewExporter("v1")
		expect := func(want time.Duration) {
			t.Helper()
			if got := e.NextScrape(time.Now()); got != want {
				t.Errorf("next in %v, want %v", got, want)
			}
		}
		expect(0)
		scrape(e)
		expect(0) // once may have been by hand
		time.Sleep(5 * time.Second)
		scrape(e)
		expect(5 * time.Second)
		time.Sleep(3 * time.Second)
		expect(2 * time.Second)
		time.Sleep(time.Minute)
		expect(0)
	})
}

func BenchmarkExporterRecord(b *testing.B) {
	e := NewExporter("v1")
	r := &record.Record{
		Outcome: record.OK, Scheduled: record.At(0), Sent: record.At(ms), First: record.At(31 * ms), Last: record.At(131 * ms),
		Input: record.Counted(100), Output: record.Counted(11),
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Record(r)
	}
}
