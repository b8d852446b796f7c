package loadgen

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// recorded is a workload of these sessions, each due when it says.
func recorded(t testing.TB, arrival profiles.Arrival, sessions ...workload.Session) *workload.Stream {
	t.Helper()
	s, err := workload.New(profiles.Workload{
		Arrival: arrival,
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: 4},
		Output:  profiles.Distribution{Kind: profiles.Fixed, Mean: 1},
	}, workload.Options{Recorded: sessions})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var traced = profiles.Arrival{Process: profiles.TraceArrival}

// talk is a session with one turn for each pause before it.
func talk(offset time.Duration, pauses ...time.Duration) workload.Session {
	s := workload.Session{Offset: offset}
	for _, think := range pauses {
		s.Turns = append(s.Turns, workload.Turn{Group: workload.NoGroup, Input: 4, Output: 1, Think: think})
	}
	return s
}

// sessions is n equal sessions that are due at once.
func sessions(n int, pauses ...time.Duration) (all []workload.Session) {
	for range n {
		all = append(all, talk(0, pauses...))
	}
	return all
}

// placed is where and when a request was.
type placed struct {
	Session int64
	Turn    int
	At      time.Duration
}

func places(records []*record.Record, when func(*record.Record) record.Moment) (all []placed) {
	for _, r := range byID(records) {
		all = append(all, placed{r.Session, r.Turn, since(when(r))})
	}
	return all
}

func scheduled(r *record.Record) record.Moment { return r.Scheduled }
func sent(r *record.Record) record.Moment      { return r.Sent }

// TestLaterTurns: a turn is due when the one before has been answered and its
// user has thought, whoever else is due in between.
func TestLaterTurns(t *testing.T) {
	o := Options{Workload: recorded(t, traced,
		talk(0, 0, 300*ms, 0), talk(50*ms, 0), talk(100*ms, 0, 1*ms), talk(2000*ms, 0))}
	virtual(t, &mock.Server{TTFT: 100 * ms, Tokens: 1}, o, func(result *Result) {
		want := []placed{
			{0, 0, 0}, {1, 0, 50 * ms}, {2, 0, 100 * ms}, {2, 1, 201 * ms},
			{0, 1, 400 * ms}, {0, 2, 500 * ms}, {3, 0, 2000 * ms},
		}
		if diff := cmp.Diff(want, places(result.Records, scheduled)); diff != "" {
			t.Errorf("scheduled (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, places(result.Records, sent)); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if end := result.Run.Window.End; end != 7*time.Second/3 || len(result.Run.Warnings) != 0 {
			t.Errorf("window to %v, warnings %v", end, result.Run.Warnings)
		}
	})
}

// TestTurnsCarryAnswers: the body of each turn is written with the answers to the
// turns before it, while the user thinks.
func TestTurnsCarryAnswers(t *testing.T) {
	for name, o := range map[string]Options{
		"open loop":   {Workload: recorded(t, traced, talk(0, 0, time.Second, 0))},
		"closed loop": {Workload: recorded(t, closed(1), talk(0, 0, time.Second, 0)), Duration: 3 * time.Second},
		"users":       {Workload: recorded(t, profiles.Arrival{Process: profiles.Users, Count: 1}, talk(0, 0, time.Second, 0)), Duration: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			server := &mock.Server{}
			server.Script = func(r mock.Request) *mock.Script {
				turn := (len(r.Messages) + 1) / 2 // questions and answers alternate
				return &mock.Script{Pieces: []mock.Piece{{At: 100 * ms, Data: c("answer "+strconv.Itoa(turn)) + mock.Done}}}
			}
			var mu sync.Mutex
			var written []string
			o.write = func(r *runner, j *job, withUsage bool) []byte {
				if j.session.Index > 0 {
					return writeBody(r, j, withUsage) // a closed loop begins the trace again
				}
				mu.Lock()
				defer mu.Unlock()
				said := []string{strconv.Itoa(j.turn)}
				for _, a := range j.history {
					said = append(said, a.Text)
				}
				written = append(written, strings.Join(said, "/")+" at "+r.now().String())
				return writeBody(r, j, withUsage)
			}
			virtual(t, server, o, func(result *Result) {
				want := []string{"0 at 0s", "1/answer 1 at 100ms", "2/answer 1/answer 2 at 1.2s"}
				if diff := cmp.Diff(want, written); diff != "" {
					t.Errorf("bodies (-want +got):\n%s", diff)
				}
				first := slices.DeleteFunc(result.Records, func(r *record.Record) bool { return r.Session > 0 })
				if n := tally(first); n[record.OK] != 3 || len(first) != 3 {
					t.Errorf("outcomes %v", n)
				}
			})
		})
	}
}

// TestBrokenSessions: what follows a request without an answer is never due, and
// the run says so; a user who left is no failure.
func TestBrokenSessions(t *testing.T) {
	const broken = "sessions_broken"
	for _, tt := range []struct {
		name    string
		server  *mock.Server
		change  func(*Options)
		cancel  time.Duration
		want    map[record.Outcome]int
		warning string
	}{
		{"failed", scripted(&mock.Script{Status: 500}), nil, 0, map[record.Outcome]int{record.Failed: 2}, broken},
		{"dropped", &mock.Server{TTFT: time.Second, Tokens: 1}, func(o *Options) { o.MaxInFlight = 1 }, 0, map[record.Outcome]int{record.OK: 3, record.Dropped: 1}, broken},
		{"the user left", &mock.Server{TTFT: time.Second, Tokens: 1}, nil, 300 * ms, map[record.Outcome]int{record.Cancelled: 2}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := sessions(2, 0, 0, 0)
			for i := range all {
				all[i].Turns[0].CancelAfter = tt.cancel
			}
			o := Options{Workload: recorded(t, traced, all...)}
			if tt.change != nil {
				tt.change(&o)
			}
			virtual(t, tt.server, o, func(result *Result) {
				if diff := cmp.Diff(tt.want, tally(result.Records)); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				codes := ""
				for _, w := range result.Run.Warnings {
					codes += w.Code
				}
				if codes != tt.warning {
					t.Errorf("warnings %v, want %q", result.Run.Warnings, tt.warning)
				}
			})
		})
	}
}

// TestCancelAfter: a user leaves when the workload says.
func TestCancelAfter(t *testing.T) {
	session := talk(0, 0)
	session.Turns[0].CancelAfter = 250 * ms
	virtual(t, &mock.Server{TTFT: 100 * ms, ITL: 100 * ms, Tokens: 9}, Options{Workload: recorded(t, traced, session)}, func(result *Result) {
		if r := result.Records[0]; r.Outcome != record.Cancelled || chunks(r) != 2 {
			t.Errorf("%s after %d events", r.Outcome, chunks(r))
		}
	})
}

// TestModelOfSession: a session may name its own model.
func TestModelOfSession(t *testing.T) {
	named := talk(0, 0)
	named.Model = "other"
	virtual(t, &mock.Server{Tokens: 1}, Options{Workload: recorded(t, traced, talk(0, 0), named)}, func(result *Result) {
		if r := byID(result.Records); r[0].Model != "m" || r[1].Model != "other" {
			t.Errorf("models %q and %q", r[0].Model, r[1].Model)
		}
	})
}

// TestClosedLoopWithThinking: a user who thinks gives the place to another
// session, so that the server always has as many as were asked for.
func TestClosedLoopWithThinking(t *testing.T) {
	server := &mock.Server{TTFT: 100 * ms, Tokens: 1}
	virtual(t, server, Options{Workload: recorded(t, closed(2), sessions(50, 0, 250*ms)...), Duration: 950 * ms}, func(result *Result) {
		if server.Peak() != 2 || len(result.Records) != 20 {
			t.Errorf("the server saw %d in flight and got %d requests, want 2 and 2 in each 100 ms", server.Peak(), len(result.Records))
		}
		for _, p := range places(result.Records, sent) {
			if p.Session == 0 && p.Turn == 1 && p.At != 400*ms {
				t.Errorf("the second turn came at %v, want the first free place after 350 ms", p.At)
			}
		}
	})
}

// TestUsers: a user has one request in flight or thinks, before a later turn and
// before the next session.
func TestUsers(t *testing.T) {
	server := &mock.Server{TTFT: 100 * ms, Tokens: 1}
	w, err := workload.New(profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Users, Count: 2},
		Session: profiles.Session{Think: profiles.Delay{Kind: profiles.Fixed, Mean: 50 * ms}},
	}, workload.Options{Recorded: sessions(9, 0, 200*ms)})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Workload: w, Requests: 8}
	virtual(t, server, o, func(result *Result) {
		var at []time.Duration
		for _, p := range places(result.Records, sent) {
			at = append(at, p.At)
		}
		// Nobody thinks before the very first request. Then an answer takes 100 ms,
		// the pause within a session 200 ms, and that before the next one 50 ms.
		want := []time.Duration{0, 0, 300 * ms, 300 * ms, 450 * ms, 450 * ms, 750 * ms, 750 * ms}
		if diff := cmp.Diff(want, at); diff != "" || server.Peak() != 2 {
			t.Errorf("peak %d, sent (-want +got):\n%s", server.Peak(), diff)
		}
		if !result.Run.ClosedLoop || result.Records[0].Scheduled.Known() {
			t.Errorf("closed loop %v, scheduled %v", result.Run.ClosedLoop, since(result.Records[0].Scheduled))
		}
	})
}

// TestRampUp: the number in flight grows linearly from 1 to what was asked for.
func TestRampUp(t *testing.T) {
	for name, arrival := range map[string]profiles.Arrival{
		"slots": {Process: profiles.Closed, Concurrency: 5, RampUp: 4 * time.Second},
		"users": {Process: profiles.Users, Count: 5, RampUp: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, &mock.Server{TTFT: time.Minute, Tokens: 1}, Options{Workload: fixed(t, arrival, 8, 1), Requests: 5}, func(result *Result) {
				for i, p := range places(result.Records, sent) {
					if want := time.Duration(i) * time.Second; p.At != want {
						t.Errorf("request %d was sent at %v, want %v", i, p.At, want)
					}
				}
			})
		})
	}
}

// TestEndsWithTheTrace: a trace that is shorter than the run ends it, with a word
// about it.
func TestEndsWithTheTrace(t *testing.T) {
	all := []workload.Session{talk(0, 0), talk(700*ms, 0)}
	for _, tt := range []struct {
		name    string
		o       Options
		warning bool
	}{
		{"by itself", Options{}, false},
		{"by time", Options{Duration: time.Hour}, true},
		{"by count", Options{Requests: 3}, true},
		{"before it ends", Options{Duration: 500 * ms}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := tt.o
			o.Workload = recorded(t, traced, all...)
			virtual(t, &mock.Server{TTFT: 100 * ms, Tokens: 1}, o, func(result *Result) {
				warned := len(result.Run.Warnings) == 1 && result.Run.Warnings[0].Code == "workload_ended"
				if end := result.Run.Window.End; warned != tt.warning || end != 1400*ms && tt.o.Duration != 500*ms {
					t.Errorf("window to %v, warnings %v", end, result.Run.Warnings)
				}
			})
		})
	}
}

// TestTraceOfOneMoment: requests that were all due at once are measured until they
// have ended.
func TestTraceOfOneMoment(t *testing.T) {
	virtual(t, &mock.Server{TTFT: 100 * ms, Tokens: 1}, Options{Workload: recorded(t, traced, sessions(3, 0)...)}, func(result *Result) {
		if w := result.Run.Window; w.Start != 0 || w.End != 100*ms || len(result.Records) != 3 {
			t.Errorf("window %+v, %d records", w, len(result.Records))
		}
	})
}

// TestOpenLoopByCountWithTurns: all turns count, and the window lasts until the
// next one is due.
func TestOpenLoopByCountWithTurns(t *testing.T) {
	o := Options{Workload: recorded(t, traced, talk(0, 0, 100*ms, 100*ms), talk(50*ms, 0), talk(900*ms, 0)), Requests: 3}
	virtual(t, &mock.Server{TTFT: 100 * ms, Tokens: 1}, o, func(result *Result) {
		want := []placed{{0, 0, 0}, {1, 0, 50 * ms}, {0, 1, 200 * ms}}
		if diff := cmp.Diff(want, places(result.Records, scheduled)); diff != "" || result.Run.Window.End != 400*ms {
			t.Errorf("window to %v, scheduled (-want +got):\n%s", result.Run.Window.End, diff)
		}
	})
}

// TestIDsOfShards: the records of all shards together have different ids.
func TestIDsOfShards(t *testing.T) {
	for shard := range 3 {
		o := Options{Workload: fixed(t, constant(100), 8, 1), Requests: 4, Shard: shard, Shards: 3}
		virtual(t, &mock.Server{Tokens: 1}, o, func(result *Result) {
			for i, r := range byID(result.Records) {
				if r.ID != int64(3*i+shard) {
					t.Errorf("record %d of shard %d has the id %d", i, shard, r.ID)
				}
			}
			if result.Run.Shard != shard || result.Run.Shards != 3 {
				t.Errorf("shard %d of %d", result.Run.Shard, result.Run.Shards)
			}
		})
	}
}

// TestBodiesBeyondTheBudget: a later turn whose body finds no room is written
// when it is due, and sent all the same.
func TestBodiesBeyondTheBudget(t *testing.T) {
	r := &runner{thinking: newBudget(10, 1)}
	r.o.write = func(*runner, *job, bool) []byte { return make([]byte, 8) }
	r.client = &client.Client{}
	first, second := &job{turn: 1}, &job{turn: 1}
	r.prepare(first)
	r.prepare(second)
	if first.body == nil || second.body != nil {
		t.Fatalf("bodies of %d and %d bytes", len(first.body), len(second.body))
	}
	r.release(second)
	r.release(first)
	if r.prepare(second); second.body == nil || r.thinking.used != 8 {
		t.Errorf("%d bytes are held after the first one went", r.thinking.used)
	}
}
