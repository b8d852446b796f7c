package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/reports/record"
)

// synthetic yields n requests at 1,000 a second, deterministic, each with the
// given number of chunks.
func synthetic(n, chunks int) iter.Seq[*record.Record] {
	return func(yield func(*record.Record) bool) {
		random := rand.New(rand.NewPCG(1, 2))
		times := make([]time.Duration, chunks)
		for i := range n {
			at := time.Duration(i) * ms
			ttft := time.Duration(float64(50*ms) * math.Exp(random.NormFloat64()/2))
			last := at + ttft
			for k := range times {
				times[k] = last
				last += 10*ms + time.Duration(random.Int64N(int64(5*ms)))
			}
			last = times[chunks-1]
			r := &record.Record{
				ID: int64(i), Scheduled: record.At(at), Sent: record.At(at + time.Duration(random.Int64N(int64(ms)))), First: record.At(at + ttft), FirstVisible: record.At(at + ttft),
				Last: record.At(last), Finished: record.At(last), Closed: record.At(last),
				AskedInput: record.Counted(1000), AskedOutput: record.Counted(chunks), Input: record.Counted(1000), Cached: record.Counted(500), Output: record.Counted(chunks),
				TokensSource: record.FromUsage, Chunks: &record.MeasuredChunks{Times: times}, Outcome: record.OK, Attempts: 1,
			}
			if i%200 == 7 {
				r.Outcome, r.Failure = record.Failed, record.HTTPFailure(503)
			}
			if !yield(r) {
				return
			}
		}
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	var records []*record.Record
	for r := range synthetic(500, 4) {
		r.Chunks = &record.MeasuredChunks{Times: slices.Clone(r.Chunks.(*record.MeasuredChunks).Times)}
		records = append(records, r)
	}
	run := openRun(500 * ms)
	want, _ := json.Marshal(summary(run, records...))
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	got, _ := json.Marshal(summary(run, records...))
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the order of records changed the report (-want +got):\n%s", diff)
	}
}

func TestReportJSON(t *testing.T) {
	run := openRun(500 * ms)
	run.Asserts = []string{"p99(ttft) < 1s", "p50(lag) < 1ns"}
	text, err := json.Marshal(Summarize(run, synthetic(500, 4)))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(`schema kind target environment window.start_s window.end_s window.steady_start_s window.steady_end_s
		requests.scheduled requests.sent requests.ok requests.failed requests.cancelled requests.cut requests.dropped requests.failures.http_503 requests.short_output
		rates.offered_rps rates.sent_rps rates.completed_rps rates.output_tokens_per_s rates.total_tokens_per_s
		tokens.prompt tokens.cached tokens.output tokens.source
		ttft_s.n ttft_s.mean ttft_s.stddev ttft_s.min ttft_s.p50 ttft_s.p90 ttft_s.p95 ttft_s.p99 ttft_s.max ttft_s.thin
		ttft_from_schedule_s.p50 ttfo_s.p50 tpot_s.p50 icl_s.p50 e2e_s.p50 lag_s.p50
		slo.clauses slo.attainment slo.goodput_rps prefix_cache.hit_rate prefix_cache.source
		client.limited client.reasons client.gc_pause_p99_s asserts warnings`) {
		var at any = doc
		for _, key := range strings.Split(path, ".") {
			object, _ := at.(map[string]any)
			var ok bool
			if at, ok = object[key]; !ok {
				t.Errorf("the document has no %s", path)
			}
		}
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("the document has a null: %s", text)
	}
}

func BenchmarkSummarizeMillion(b *testing.B) {
	for _, chunks := range []int{16, 128} {
		b.Run(fmt.Sprintf("chunks=%d", chunks), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := Summarize(openRun(1000*time.Second), synthetic(1_000_000, chunks))
				if r.Requests.Scheduled != 1_000_000 {
					b.Fatalf("%d requests", r.Requests.Scheduled)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys), "sys-B")
		})
	}
}

// Whatever the records, the counts must add up and the shares must be shares.
func TestReportAddsUp(t *testing.T) {
	outcomes := []record.Outcome{record.OK, record.OK, record.Failed, record.Cancelled, record.Cut, record.Dropped}
	rapid.Check(t, func(t *rapid.T) {
		run := openRun(time.Duration(rapid.IntRange(1, 2000).Draw(t, "end ms")) * ms)
		run.Window.Start = min(time.Duration(rapid.IntRange(0, 2000).Draw(t, "start ms"))*ms, run.Window.End)
		run.Cost.USDPerHour = 1
		var records []*record.Record
		members, tokens := 0, 0
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			at := time.Duration(rapid.IntRange(0, 2000).Draw(t, "at")) * ms
			n := rapid.IntRange(1, 20).Draw(t, "tokens")
			r := request(at, time.Duration(rapid.IntRange(0, 900).Draw(t, "ttft"))*ms, time.Duration(rapid.IntRange(0, 90).Draw(t, "gap"))*ms, n)
			if r.Outcome = rapid.SampledFrom(outcomes).Draw(t, "outcome"); r.Outcome == record.Dropped {
				r = &record.Record{Scheduled: record.At(at), Outcome: record.Dropped}
				n = 0
			}
			if at >= run.Window.Start && at <= run.Window.End {
				members++
			}
			tokens += n
			records = append(records, r)
		}
		r := summary(run, records...)
		q := r.Requests
		if q.Scheduled != members || q.OK+q.Failed+q.Cancelled+q.Cut+q.Dropped != members {
			t.Fatalf("%d members, counted %+v", members, q)
		}
		if s := r.SLO; s.Good > q.OK || s.Counted != q.OK+q.Failed+q.Dropped+s.Late || s.Late > q.Cancelled+q.Cut {
			t.Fatalf("SLO %+v of requests %+v", s, q)
		}
		if got := value(r.Rates.OutputTokensPerS) * windowLength(run.Window); got > float64(tokens)+1e-6 {
			t.Fatalf("%v tokens inside the window of %d", got, tokens)
		}
		if c := r.Cost; c.USDPer1MOutputGoodput != nil && *c.USDPer1MOutputGoodput < *c.USDPer1MOutput {
			t.Fatalf("tokens within the SLO are cheaper than tokens: %+v", c)
		}
		if d := r.E2E; d != nil && d.N != q.OK {
			t.Fatalf("e2e of %d requests, %d are ok", d.N, q.OK)
		}
		if _, err := r.JSON(); err != nil {
			t.Fatal(err) // a NaN or an infinity
		}
		if err := WriteText(io.Discard, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		_ = r.Verdict().Text
	})
}
