package loadgen

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// BenchmarkRequests runs whole requests over loopback, client and mock on the
// same cores: 8 in flight, 16 tokens each.
func BenchmarkRequests(b *testing.B) {
	ts := httptest.NewServer(&mock.Server{Tokens: 16})
	defer ts.Close()
	b.ReportAllocs()
	o := Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(b, closed(8), 64, 16), Requests: b.N,
		MetricsInterval: -1, OnRecord: func(r *record.Record) {
			if r.Outcome != record.OK {
				b.Errorf("%s %s", r.Failure, r.Detail)
			}
		}}
	if _, err := Run(b.Context(), o); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(16*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkLongBodies is T15 on the wall clock: 500 streams whose requests are
// of 300 KB. It reports by how much TTFT exceeds the server's delay, client and
// mock on the same cores.
func BenchmarkLongBodies(b *testing.B) {
	const ttft = 500 * ms
	ts := httptest.NewServer(&mock.Server{TTFT: ttft, ITL: 10 * ms, Tokens: 16})
	defer ts.Close()
	var excess []float64
	for b.Loop() {
		result, err := Run(b.Context(), Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(b, constant(100), 60_000, 16), Requests: 500, MetricsInterval: -1})
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range result.Records {
			if r.Outcome != record.OK {
				b.Fatalf("%s %s", r.Failure, r.Detail)
			}
			excess = append(excess, (between(r.Sent, r.First)-ttft).Seconds()*1000)
		}
	}
	slices.Sort(excess)
	b.ReportMetric(stats.Percentile(excess, 50), "excess-p50-ms")
	b.ReportMetric(stats.Percentile(excess, 99), "excess-p99-ms")
}

// BenchmarkConstantPace is 500 requests a second for 20 s: by how much the gaps
// between two requests, as they were sent, differ from 2 ms, and how late requests
// were. Both should have a p99 of at most 1 ms on a machine that does nothing else.
func BenchmarkConstantPace(b *testing.B) {
	ts := httptest.NewServer(&mock.Server{Tokens: 1})
	defer ts.Close()
	var errors, lags []float64
	for b.Loop() {
		result, err := Run(b.Context(), Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(b, constant(500), 8, 1), Duration: 20 * time.Second, MetricsInterval: -1})
		if err != nil {
			b.Fatal(err)
		}
		records := byID(result.Records)
		for i, r := range records {
			lags = append(lags, between(r.Scheduled, r.Sent).Seconds()*1000)
			if i > 0 {
				errors = append(errors, math.Abs((between(records[i-1].Sent, r.Sent)-2*ms).Seconds()*1000))
			}
		}
	}
	slices.Sort(errors)
	slices.Sort(lags)
	b.ReportMetric(stats.Percentile(errors, 50), "gap-error-p50-ms")
	b.ReportMetric(stats.Percentile(errors, 99), "gap-error-p99-ms")
	b.ReportMetric(stats.Percentile(lags, 99), "lag-p99-ms")
}

// BenchmarkQueue is what the pacer of an open loop pays for one request.
func BenchmarkQueue(b *testing.B) {
	q := newQueue()
	for i := range 1000 {
		q.push(&job{due: time.Duration(i*7919%1000) * ms})
	}
	j := &job{}
	b.ReportAllocs()
	for b.Loop() {
		q.push(j)
		j = q.take(time.Hour)
		j.due += time.Second % 997
	}
}

// BenchmarkLongRun is b.N short requests over an in-memory network whose records
// are spooled as bench does it, with what is alive on the heap after a tenth of
// them and at the end: a run of a million takes no more than one of a hundred
// thousand. Run it with -benchtime 1000000x.
func BenchmarkLongRun(b *testing.B) {
	network := mock.NewNetwork()
	answer := []byte(c("a") + finish("stop") + usage("1") + mock.Done)
	defer network.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(answer)
	}))()
	spool := record.NewSpool()
	defer spool.Remove()
	var early, late uint64
	n := 0
	o := Options{Client: client.Options{Endpoint: "http://localhost", Dial: network.Dial}, Model: "m", Workload: fixed(b, closed(64), 8, 1), Requests: b.N,
		MetricsInterval: -1, OnRecord: func(r *record.Record) {
			if err := spool.Add(r); err != nil || r.Outcome != record.OK {
				b.Errorf("%v, %s %s", err, r.Failure, r.Detail)
			}
			n++
			if n == max(1, b.N/10) {
				early = held()
			}
			if n == b.N {
				late = held()
			}
		}}
	if _, err := Run(b.Context(), o); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(early)/(1<<20), "MiB-after-a-tenth")
	b.ReportMetric(float64(late)/(1<<20), "MiB-at-the-end")
}

// held is what is alive on the heap.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
