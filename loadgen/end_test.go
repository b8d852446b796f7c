package loadgen

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// TestEndCutsWhatIsInFlight is T52: what the end of the run cuts is neither
// failed nor lost; its tokens are there.
func TestEndCutsWhatIsInFlight(t *testing.T) {
	server := &mock.Server{TTFT: time.Second, ITL: time.Second, Tokens: 30}
	virtual(t, server, Options{Workload: fixed(t, closed(2), 8, 30), Duration: 10 * time.Second, Drain: 5 * time.Second}, func(result *Result) {
		for _, r := range result.Records {
			if r.Outcome != record.Cut || r.Failure != "" || chunks(r) < 14 || !r.First.Known() || since(r.Closed) != 15*time.Second {
				t.Errorf("%s %s, %d events: %+v", r.Outcome, r.Failure, chunks(r), r)
			}
		}
		if len(result.Records) != 2 || result.Run.Window.End != 10*time.Second || result.Run.Interrupted {
			t.Errorf("%d records, %+v", len(result.Records), result.Run)
		}
	})
}

// TestHangingServerEnds is T55: every phase has an end.
func TestHangingServerEnds(t *testing.T) {
	for name, o := range map[string]Options{
		"open loop, by time":    {Workload: fixed(t, constant(5), 8, 4), Duration: 2 * time.Second, Drain: time.Second},
		"open loop, by count":   {Workload: fixed(t, constant(5), 8, 4), Requests: 10, Client: client.Options{TotalTimeout: 3 * time.Second}},
		"closed loop, by time":  {Workload: fixed(t, closed(10), 8, 4), Duration: 2 * time.Second, Drain: time.Second},
		"closed loop, by count": {Workload: fixed(t, closed(10), 8, 4), Requests: 10, Client: client.Options{TotalTimeout: 3 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Time{}
			synctest.Test(t, func(t *testing.T) {
				began = time.Now()
				network := mock.NewNetwork()
				defer network.Serve(scripted(&mock.Script{Pieces: mock.Cut(c("a")).Pieces, End: mock.Hang}))()
				result, err := Run(t.Context(), inMemory(network, o))
				if err != nil || len(result.Records) != 10 {
					t.Fatalf("%v, %+v", err, result)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestWarmup(t *testing.T) {
	server := &mock.Server{TTFT: 10 * ms, Tokens: 1}
	t.Run("open loop, by time", func(t *testing.T) {
		virtual(t, server, Options{Workload: fixed(t, constant(10), 8, 1), Warmup: time.Second, Duration: 2 * time.Second}, func(result *Result) {
			if result.Run.Window != (record.Window{Start: time.Second, End: 3 * time.Second}) || len(result.Records) != 30 {
				t.Errorf("window %v, %d records", result.Run.Window, len(result.Records))
			}
		})
	})
	t.Run("open loop, by count", func(t *testing.T) {
		virtual(t, server, Options{Workload: fixed(t, constant(10), 8, 1), Warmup: time.Second, Requests: 5}, func(result *Result) {
			if result.Run.Window != (record.Window{Start: time.Second, End: 1500 * ms}) || len(result.Records) != 15 {
				t.Errorf("window %v, %d records", result.Run.Window, len(result.Records))
			}
		})
	})
	t.Run("closed loop, by count", func(t *testing.T) {
		virtual(t, server, Options{Workload: fixed(t, closed(2), 8, 1), Warmup: time.Second, Requests: 7}, func(result *Result) {
			measured := 0
			for _, r := range result.Records {
				if since(r.Sent) >= time.Second {
					measured++
				}
			}
			if measured != 7 || result.Run.Window != (record.Window{Start: time.Second, End: 1040 * ms}) {
				t.Errorf("%d requests in the window %v", measured, result.Run.Window)
			}
		})
	})
}

// TestStop: the first wish to stop lets answers finish, the second cuts them.
func TestStop(t *testing.T) {
	for name, loop := range map[string]profiles.Arrival{"open": constant(10), "closed": closed(5)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := mock.NewNetwork()
				defer network.Serve(&mock.Server{TTFT: 500 * ms, Tokens: 1})()
				stop := make(chan struct{})
				time.AfterFunc(2050*ms, func() { close(stop) })
				result, err := Run(t.Context(), inMemory(network, Options{Workload: fixed(t, loop, 8, 1), Duration: time.Hour, Stop: stop}))
				if err != nil {
					t.Fatal(err)
				}
				if n := tally(result.Records); n[record.OK] != len(result.Records) || len(result.Records) < 20 {
					t.Errorf("outcomes %v", n)
				}
				if !result.Run.Interrupted || !nearly(result.Run.Window.End, 2050*ms) {
					t.Errorf("interrupted %v, window %v", result.Run.Interrupted, result.Run.Window)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				network := mock.NewNetwork()
				defer network.Serve(&mock.Server{TTFT: 500 * ms, Tokens: 1})()
				ctx, cancel := context.WithCancel(t.Context())
				stop := make(chan struct{})
				time.AfterFunc(2050*ms, func() { close(stop) })
				time.AfterFunc(2150*ms, cancel)
				began := time.Now()
				result, err := Run(ctx, inMemory(network, Options{Workload: fixed(t, loop, 8, 1), Duration: time.Hour, Stop: stop}))
				if err != nil {
					t.Fatal(err)
				}
				if n := tally(result.Records); n[record.Cut] < 3 || n[record.Failed] != 0 {
					t.Errorf("outcomes %v", n)
				}
				if took := time.Since(began); took != 2150*ms || !nearly(result.Run.Window.End, 2050*ms) {
					t.Errorf("took %v, window %v", took, result.Run.Window)
				}
			})
		})
	}
}

// nearly allows for the time before the start in which connections are opened.
func nearly(got, want time.Duration) bool { return got <= want && got > want-10*ms }

// TestEveryJobHasOneRecord: ids are complete and unique in each kind of run.
func TestEveryJobHasOneRecord(t *testing.T) {
	for _, o := range []Options{
		{Workload: fixed(t, constant(100), 8, 1), Duration: 3 * time.Second, MaxInFlight: 20},
		{Workload: fixed(t, constant(100), 8, 1), Requests: 300},
		{Workload: fixed(t, closed(9), 8, 1), Requests: 300},
	} {
		virtual(t, &mock.Server{TTFT: 300 * ms, Tokens: 1}, o, func(result *Result) {
			for i, r := range byID(result.Records) {
				if r.ID != int64(i) {
					t.Fatalf("record %d has the id %d", i, r.ID)
				}
			}
			if len(result.Records) != 300 {
				t.Errorf("%d records", len(result.Records))
			}
		})
	}
}
