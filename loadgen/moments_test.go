package loadgen

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports/record"
)

const ms = time.Millisecond

// virtual runs a load on an in-memory server in virtual time, in which nothing
// but what is asked for takes time.
func virtual(t *testing.T, server http.Handler, o Options, check func(*Result)) {
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

// TestFirstTokenIsNoGap is T31: the time to the first token is no gap between
// tokens.
func TestFirstTokenIsNoGap(t *testing.T) {
	server := &mock.Server{TTFT: 1000 * ms, ITL: 10 * ms, Tokens: 5}
	virtual(t, server, Options{Workload: fixed(t, closed(1), 8, 5), Requests: 1}, func(result *Result) {
		r := result.Records[0]
		m, ok := r.Chunks.(*record.MeasuredChunks)
		if !ok || len(m.Times) != 5 || m.Times[0] != since(r.First) {
			t.Fatalf("events at %v, the first token at %v", r.Chunks, since(r.First))
		}
		for i := 1; i < len(m.Times); i++ {
			if gap := m.Times[i] - m.Times[i-1]; gap != 10*ms {
				t.Errorf("gap %d is %v", i, gap)
			}
		}
		if tpot, ok := r.TPOT(); !ok || tpot != 10*ms {
			t.Errorf("TPOT %v", tpot)
		}
	})
}

// TestOneTokenHasNoTPOT is T33: what one token can not tell is absent, and the
// rest is there.
func TestOneTokenHasNoTPOT(t *testing.T) {
	server := &mock.Server{TTFT: 100 * ms, ITL: 10 * ms, Tokens: 1}
	virtual(t, server, Options{Workload: fixed(t, closed(1), 8, 1), Requests: 1}, func(result *Result) {
		r := result.Records[0]
		_, hasTPOT := r.TPOT()
		ttft, _ := r.TTFT()
		if e2e, _ := r.E2E(); hasTPOT || ttft != 100*ms || e2e != 100*ms || r.Output != record.Counted(1) {
			t.Errorf("TPOT known: %v, TTFT %v, E2E %v, %v tokens", hasTPOT, ttft, e2e, r.Output)
		}
	})
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
				Client: client.Options{FirstTokenTimeout: 500 * ms, IdleTimeout: 300 * ms, TotalTimeout: 2 * time.Second}}
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

// TestIdleTimeout: the limit between outputs holds from the first one on,
// however far away the other limits are.
func TestIdleTimeout(t *testing.T) {
	for _, tt := range []struct {
		name             string
		firstToken, idle time.Duration
		pieces           []mock.Piece
		after            time.Duration
	}{
		{"shorter than the limit of the first token", 9 * time.Second, time.Second, []mock.Piece{{At: 500 * ms, Data: c("a")}}, 1500 * ms},
		{"first token at once", 9 * time.Second, time.Second, []mock.Piece{{Data: c("a")}}, time.Second},
		{"each output puts it off", 9 * time.Second, time.Second, drip(5, 900*ms), 4600 * ms},
		{"no limit of the first token", 0, time.Second, []mock.Piece{{At: 500 * ms, Data: c("a")}}, 1500 * ms},
		{"longer than the limit of the first token", time.Second, 3 * time.Second, []mock.Piece{{At: 500 * ms, Data: c("a")}}, 3500 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Workload: fixed(t, closed(1), 8, 4), Requests: 1, Client: client.Options{FirstTokenTimeout: tt.firstToken, IdleTimeout: tt.idle, TotalTimeout: time.Minute}}
			virtual(t, scripted(&mock.Script{Pieces: tt.pieces, End: mock.Hang}), o, func(result *Result) {
				if r := result.Records[0]; r.Failure != record.TimeoutIdle || result.Run.Window.End != tt.after {
					t.Errorf("%s %s after %v, want %s after %v", r.Outcome, r.Failure, result.Run.Window.End, record.TimeoutIdle, tt.after)
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
	o := Options{Workload: fixed(t, closed(2), 8, 4), Duration: time.Second, Client: client.Options{FirstTokenTimeout: 300 * ms}}
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

// TestLongBodiesDoNotStarveReading is T15: while long requests are written,
// answers are read as they come.
func TestLongBodiesDoNotStarveReading(t *testing.T) {
	server := &mock.Server{TTFT: 100 * ms, ITL: 10 * ms, Tokens: 20}
	virtual(t, server, Options{Workload: fixed(t, constant(100), 70_000, 20), Requests: 40}, func(result *Result) {
		for _, r := range result.Records {
			if r.Outcome != record.OK || between(r.Sent, r.First) != 100*ms || between(r.First, r.Last) != 190*ms || between(r.Scheduled, r.Sent) != 0 {
				t.Fatalf("%s %s: lag %v, TTFT %v, then %v", r.Outcome, r.Detail, between(r.Scheduled, r.Sent), between(r.Sent, r.First), between(r.First, r.Last))
			}
		}
		if n := len(server.Requests()[0].Body); len(result.Records) != 40 || n < 300_000 {
			t.Errorf("%d records, a body of %d bytes", len(result.Records), n)
		}
	})
}
