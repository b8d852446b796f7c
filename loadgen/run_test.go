package loadgen

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

const ms = time.Millisecond

// virtual runs a load on an in-memory server in virtual time, in which nothing
// but what is asked for takes time.
func virtual(t *testing.T, server *mock.Server, o Options, check func(*Result)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := mock.NewNetwork()
		stop := network.Serve(server)
		defer stop()
		result, err := Run(t.Context(), inMemory(network, o))
		if err != nil {
			t.Fatal(err)
		}
		check(result)
	})
}

// tally counts records by outcome.
func tally(records []*record.Record) map[record.Outcome]int {
	n := map[record.Outcome]int{}
	for _, r := range records {
		n[r.Outcome]++
	}
	return n
}

func byID(records []*record.Record) []*record.Record {
	return slices.SortedFunc(slices.Values(records), func(a, b *record.Record) int { return int(a.ID - b.ID) })
}

// TestMoments checks each moment of an answer whose times are known exactly.
func TestMoments(t *testing.T) {
	at := func(after time.Duration, data string) mock.Piece { return mock.Piece{At: after, Data: data} }
	tests := []struct {
		name   string
		pieces []mock.Piece
		// From Sent; −1 is absent.
		firstByte, first, visible, last, finished, closed time.Duration
	}{
		{"T18 role chunk early", []mock.Piece{at(100*ms, delta(`{"role":"assistant","content":""}`)), at(1000*ms, c("a")), at(1100*ms, finish("stop")), at(1200*ms, mock.Done)},
			100 * ms, 1000 * ms, 1000 * ms, 1000 * ms, 1100 * ms, 1200 * ms},
		{"T20 reasoning first", []mock.Piece{
			at(100*ms, delta(`{"reasoning_content":"x"}`)), at(200*ms, delta(`{"reasoning":"x"}`)), at(2000*ms, c("a")), at(2000*ms, mock.Done)},
			100 * ms, 100 * ms, 2000 * ms, 2000 * ms, -1, 2000 * ms},
		{"T21 capped inside reasoning", []mock.Piece{at(100*ms, delta(`{"reasoning_content":"x"}`)), at(300*ms, finish("length"))},
			100 * ms, 100 * ms, -1, 100 * ms, 300 * ms, 300 * ms},
		{"T11 comments set nothing", []mock.Piece{at(100*ms, ": ping\n\n"), at(500*ms, c("a")), at(600*ms, ": ping\n\n"), at(700*ms, mock.Done)},
			100 * ms, 500 * ms, 500 * ms, 500 * ms, -1, 700 * ms},
		{"T27 usage does not move the last token", []mock.Piece{at(100*ms, c("a")), at(200*ms, c("b")), at(900*ms, usage("2")), at(950*ms, mock.Done)},
			100 * ms, 100 * ms, 100 * ms, 200 * ms, -1, 950 * ms},
		{"an event counts when its last byte is there", []mock.Piece{at(100*ms, c("a")[:20]), at(400*ms, c("a")[20:]), at(400*ms, mock.Done)},
			100 * ms, 400 * ms, 400 * ms, 400 * ms, -1, 400 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := scripted(&mock.Script{Pieces: tt.pieces})
			virtual(t, server, Options{Workload: fixed(t, closed(1), 8, 4), Requests: 1}, func(result *Result) {
				r := result.Records[0]
				got := []time.Duration{between(r.Sent, r.FirstByte), between(r.Sent, r.First), between(r.Sent, r.FirstVisible),
					between(r.Sent, r.Last), between(r.Sent, r.Finished), between(r.Sent, r.Closed)}
				want := []time.Duration{tt.firstByte, tt.first, tt.visible, tt.last, tt.finished, tt.closed}
				if diff := cmp.Diff(want, got); diff != "" || r.Outcome != record.OK {
					t.Errorf("first byte, first, visible, last, finished, closed (-want +got):\n%s%s %s", diff, r.Outcome, r.Detail)
				}
			})
		})
	}
}

// TestContinuousUsage is T23: events of four tokens are not tokens.
func TestContinuousUsage(t *testing.T) {
	server := &mock.Server{TTFT: 100 * ms, ITL: 10 * ms, Tokens: 40, TokensPerChunk: 4, ContinuousUsage: true}
	virtual(t, server, Options{Workload: fixed(t, closed(1), 8, 40), Requests: 1}, func(result *Result) {
		r := result.Records[0]
		var times []time.Duration
		for at, tokens := range r.Chunks.All() {
			if n, ok := tokens.Value(); n != 4 || !ok {
				t.Errorf("event at %v carries %d tokens (known: %v), want 4", at, n, ok)
			}
			times = append(times, at-since(r.First))
		}
		var want []time.Duration
		for i := range 10 {
			want = append(want, time.Duration(i)*40*ms)
		}
		if diff := cmp.Diff(want, times); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		if n, _ := r.Output.Value(); n != 40 || between(r.First, r.Last) != 360*ms {
			t.Errorf("%d tokens in %v, want 40 in 360 ms", n, between(r.First, r.Last))
		}
	})
}

func TestTimeouts(t *testing.T) {
	tests := []struct {
		name   string
		script *mock.Script
		want   record.Failure // empty: the request is ok
		after  time.Duration
	}{
		{"no first token", &mock.Script{End: mock.Hang}, record.TimeoutFirstToken, 500 * ms},
		{"first token after the role", &mock.Script{Pieces: []mock.Piece{{Data: delta(`{"role":"assistant"}`)}}, End: mock.Hang}, record.TimeoutFirstToken, 500 * ms},
		{"stalled", &mock.Script{Pieces: []mock.Piece{{At: 400 * ms, Data: c("a")}}, End: mock.Hang}, record.TimeoutIdle, 700 * ms},
		{"stalled with comments", &mock.Script{Pieces: []mock.Piece{{At: 400 * ms, Data: c("a")}, {At: 600 * ms, Data: ": ping\n\n"}}, End: mock.Hang}, record.TimeoutIdle, 700 * ms},
		{"endless", &mock.Script{Pieces: drip(20, 200*ms), End: mock.Hang}, record.TimeoutTotal, 2 * time.Second},
		{"T55 never closed after finish_reason", &mock.Script{Pieces: []mock.Piece{{At: 100 * ms, Data: c("a") + finish("stop")}}, End: mock.Hang}, "", 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Workload: fixed(t, closed(1), 8, 4), Requests: 1,
				FirstTokenTimeout: 500 * ms, IdleTimeout: 300 * ms, TotalTimeout: 2 * time.Second}
			virtual(t, scripted(tt.script), o, func(result *Result) {
				r := result.Records[0]
				if r.Failure != tt.want || (r.Outcome == record.OK) != (tt.want == "") {
					t.Errorf("%s %s %q, want %s", r.Outcome, r.Failure, r.Detail, tt.want)
				}
				if result.Run.Window.End != tt.after {
					t.Errorf("ended after %v, want %v", result.Run.Window.End, tt.after)
				}
			})
		})
	}
}

// drip is n events with content at even distances.
func drip(n int, every time.Duration) (pieces []mock.Piece) {
	for i := range n {
		pieces = append(pieces, mock.Piece{At: time.Duration(i) * every, Data: c("a")})
	}
	return pieces
}

// TestSilentServer: a server that sends nothing at all, not even a status.
func TestSilentServer(t *testing.T) {
	o := Options{Workload: fixed(t, closed(2), 8, 4), Duration: time.Second, FirstTokenTimeout: 300 * ms}
	virtual(t, scripted(&mock.Script{Pieces: []mock.Piece{{At: time.Hour}}}), o, func(result *Result) {
		for _, r := range result.Records {
			if r.Failure != record.TimeoutFirstToken || r.HTTPStatus != 0 || between(r.Sent, r.FirstByte) != -1 {
				t.Errorf("%+v", r)
			}
		}
		if len(result.Records) != 8 {
			t.Errorf("%d requests, want 8: two slots, each 0 to 900 ms every 300", len(result.Records))
		}
	})
}

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
	virtual(t, server, Options{Workload: fixed(t, closed(4), 8, 1), Duration: 5 * time.Second}, func(result *Result) {
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

// TestEndCutsWhatIsInFlight is T52: what the end of the run cuts is neither
// failed nor lost; its tokens are there.
func TestEndCutsWhatIsInFlight(t *testing.T) {
	server := &mock.Server{TTFT: time.Second, ITL: time.Second, Tokens: 30}
	virtual(t, server, Options{Workload: fixed(t, closed(2), 8, 30), Duration: 10 * time.Second, Drain: 5 * time.Second}, func(result *Result) {
		for _, r := range result.Records {
			if r.Outcome != record.Cut || r.Failure != "" || chunks(r) < 14 || !r.First.Known() || r.Closed.Known() {
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
		"open loop, by count":   {Workload: fixed(t, constant(5), 8, 4), Requests: 10, TotalTimeout: 3 * time.Second},
		"closed loop, by time":  {Workload: fixed(t, closed(10), 8, 4), Duration: 2 * time.Second, Drain: time.Second},
		"closed loop, by count": {Workload: fixed(t, closed(10), 8, 4), Requests: 10, TotalTimeout: 3 * time.Second},
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
				if !result.Run.Interrupted || result.Run.Window.End != 2050*ms {
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
				if took := time.Since(began); took != 2150*ms || result.Run.Window.End != 2050*ms {
					t.Errorf("took %v, window %v", took, result.Run.Window)
				}
			})
		})
	}
}

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
