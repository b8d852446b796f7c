package loadgen

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports/record"
)

// TestFromSchedule is T42: what a cap does to latency is visible. Requests are
// due every 100 ms and take 500 ms.
func TestFromSchedule(t *testing.T) {
	server := &mock.Server{TTFT: 500 * ms, Tokens: 1}
	t.Run("no cap", func(t *testing.T) {
		virtual(t, server, Options{Workload: fixed(t, constant(10), 8, 1), Duration: 800 * ms}, func(result *Result) {
			for i, r := range byID(result.Records) {
				if want := time.Duration(i) * 100 * ms; since(r.Scheduled) != want || since(r.Sent) != want || between(r.Scheduled, r.First) != 500*ms {
					t.Errorf("request %d: scheduled %v, sent %v, first %v", i, since(r.Scheduled), since(r.Sent), since(r.First))
				}
			}
			if len(result.Records) != 8 || result.Run.Window != (record.Window{End: 800 * ms}) || result.Run.ClosedLoop {
				t.Errorf("%d records, window %v", len(result.Records), result.Run.Window)
			}
		})
	})
	t.Run("cap of 1", func(t *testing.T) {
		virtual(t, server, Options{Workload: fixed(t, constant(10), 8, 1), Duration: 800 * ms, MaxInFlight: 1}, func(result *Result) {
			want := map[record.Outcome]int{record.OK: 2, record.Dropped: 6}
			if diff := cmp.Diff(want, tally(result.Records)); diff != "" {
				t.Error(diff)
			}
		})
	})
}

// TestOverloadIsAccounted is T43: 100 requests due, 4 may be in flight; each is
// sent on time or dropped, none vanishes.
func TestOverloadIsAccounted(t *testing.T) {
	server := &mock.Server{TTFT: 500 * ms, Tokens: 1}
	virtual(t, server, Options{Workload: fixed(t, constant(50), 8, 1), Duration: 2 * time.Second, MaxInFlight: 4}, func(result *Result) {
		want := map[record.Outcome]int{record.OK: 16, record.Dropped: 84}
		if diff := cmp.Diff(want, tally(result.Records)); diff != "" {
			t.Error(diff)
		}
		for _, r := range result.Records {
			if !r.Scheduled.Known() || (r.Outcome == record.Dropped) == r.Sent.Known() {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestSlowWriterIsAccounted: a client that makes ten bodies a second of the hundred
// that are due loses none of the others: they were due, and are dropped.
func TestSlowWriterIsAccounted(t *testing.T) {
	o := Options{Workload: fixed(t, constant(100), 8, 1), Duration: 2 * time.Second}
	o.write = func(r *runner, j *job, withUsage bool) []byte {
		sleepUntil(context.Background(), nil, time.Now().Add(100*ms))
		return writeBody(r, j, withUsage)
	}
	virtual(t, &mock.Server{TTFT: ms, Tokens: 1}, o, func(result *Result) {
		n := tally(result.Records)
		if len(result.Records) != 200 || n[record.OK] < 10 || n[record.OK]+n[record.Dropped] != 200 {
			t.Errorf("%d records, outcomes %v", len(result.Records), n)
		}
		if end := result.Run.Window.End; end != 2*time.Second {
			t.Errorf("window to %v", end)
		}
	})
}

// TestSlowRateHasNoWait is T44: at one request a second latency is that of the
// server.
func TestSlowRateHasNoWait(t *testing.T) {
	virtual(t, &mock.Server{TTFT: 2 * ms, Tokens: 1}, Options{Workload: fixed(t, constant(1), 8, 1), Requests: 5}, func(result *Result) {
		for _, r := range result.Records {
			if between(r.Sent, r.Last) != 2*ms {
				t.Errorf("latency %v", between(r.Sent, r.Last))
			}
		}
		if len(result.Records) != 5 || result.Run.Window.End != 5*time.Second {
			t.Errorf("%d records in a window to %v", len(result.Records), result.Run.Window.End)
		}
	})
}

// TestConcurrency is T45 and T46: the server sees exactly as many as asked for.
func TestConcurrency(t *testing.T) {
	for _, n := range []int{1, 2, 128} {
		server := &mock.Server{TTFT: 10 * ms, ITL: 1 * ms, Tokens: 5}
		virtual(t, server, Options{Workload: fixed(t, closed(n), 8, 5), Duration: time.Second}, func(result *Result) {
			if server.Peak() != n {
				t.Errorf("the server saw %d in flight, want %d", server.Peak(), n)
			}
			for _, r := range result.Records {
				if r.Outcome != record.OK || r.Scheduled.Known() {
					t.Fatalf("%+v", r)
				}
			}
			// 14 ms each: 72 rounds begin within 1 s.
			if len(result.Records) != 72*n || !result.Run.ClosedLoop || result.Run.Window.End != time.Second {
				t.Errorf("concurrency %d: %d records, window %v", n, len(result.Records), result.Run.Window)
			}
		})
	}
}

// TestSlotsAreIndependent is T47: one slow answer holds up nobody else.
func TestSlotsAreIndependent(t *testing.T) {
	var mu sync.Mutex
	served := 0
	server := &mock.Server{TTFT: 100 * ms, Tokens: 1}
	server.Script = func(mock.Request) *mock.Script {
		mu.Lock()
		defer mu.Unlock()
		served++
		if served == 1 {
			return &mock.Script{Pieces: []mock.Piece{{At: 10 * time.Second, Data: c("a") + mock.Done}}}
		}
		return nil
	}
	virtual(t, server, Options{Workload: fixed(t, closed(4), 8, 1), Duration: 4950 * ms}, func(result *Result) {
		if want := 1 + 3*50; len(result.Records) != want {
			t.Errorf("%d requests, want %d", len(result.Records), want)
		}
	})
}

// TestConstantGaps is T48: the gaps of a constant rate are constant.
func TestConstantGaps(t *testing.T) {
	virtual(t, &mock.Server{Tokens: 1}, Options{Workload: fixed(t, constant(10), 8, 1), Requests: 100}, func(result *Result) {
		records := byID(result.Records)
		for i := range len(records) - 1 {
			if gap := between(records[i].Sent, records[i+1].Sent); gap != 100*ms {
				t.Errorf("gap %d is %v", i, gap)
			}
		}
	})
}
