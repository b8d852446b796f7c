package workload_test

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// agent uses the whole grammar of drawn workloads.
func agent() profiles.Workload {
	w := chat()
	w.Session = profiles.Session{
		Turns: profiles.Distribution{Kind: profiles.Geometric, Mean: 3},
		Think: profiles.Delay{Kind: profiles.Exponential, Mean: 8 * time.Second},
	}
	w.Cancel = profiles.Cancel{Fraction: 0.2, After: profiles.Delay{Kind: profiles.Uniform, Min: time.Second, Max: 3 * time.Second}}
	w.Models = map[string]float64{"large": 0.25, "small": 0.75}
	w.Tools, w.Schema = 0.3, 0.1
	return w
}

// TestSessionsAsAsked counts what 20,000 sessions are like.
func TestSessionsAsAsked(t *testing.T) {
	const n = 20000
	s := stream(t, agent(), workload.Options{Seed: 1})
	var turns, later, cancelled, tools, schema, large float64
	var think, patience time.Duration
	message := 0.0
	for i := range int64(n) {
		session := s.Session(i)
		if session.Model == "large" {
			large++
		}
		for k, turn := range session.Turns {
			turns++
			if k > 0 {
				later++
				think += turn.Think
				message += float64(turn.Input)
				if turn.Prefix != 0 || turn.Group != workload.NoGroup {
					t.Fatalf("turn %d has a prefix: %+v", k, turn)
				}
			} else if turn.Think != 0 {
				t.Fatalf("first turn after %v", turn.Think)
			}
			if turn.CancelAfter > 0 {
				cancelled++
				patience += turn.CancelAfter
			}
			if turn.Tools {
				tools++
			}
			if turn.Schema {
				schema++
			}
		}
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.04*want {
			t.Errorf("%s %.4g, want %.4g", what, got, want)
		}
	}
	near("turns", turns/n, 3)
	near("think time", think.Seconds()/later, 8)
	near("cancelled", cancelled/turns, 0.2)
	near("patience", patience.Seconds()/cancelled, 2)
	near("tools", tools/turns, 0.3)
	near("schema", schema/turns, 0.1)
	near("large", large/n, 0.25)
	near("rate of sessions", n/s.Offset(n-1).Seconds(), 200.0/3)
	// A message is a prompt of mean 1,500 without a prefix of 750, or 1 token
	// where the prompt is shorter than that.
	first := 0.0
	for i := range int64(n) {
		turn := s.Session(i).Turns[0]
		first += float64(turn.Input - turn.Prefix)
	}
	near("message", message/later, first/n)
}

// TestGroupsArePopular compares how often each prefix group is drawn with Zipf's
// law, by Pearson's χ² at a significance of 0.001.
func TestGroupsArePopular(t *testing.T) {
	const n = 30000
	s := stream(t, chat(), workload.Options{Seed: 12})
	got, want := make([]float64, 8), make([]float64, 8)
	drawn, weights := 0.0, 0.0
	for i := range int64(n) {
		if group := s.Session(i).Turns[0].Group; group != workload.NoGroup {
			got[group]++
			drawn++
		}
	}
	for k := range want {
		want[k] = math.Pow(float64(k+1), -1.1)
		weights += want[k]
	}
	for k := range want {
		want[k] *= drawn / weights
	}
	limit := distuv.ChiSquared{K: 7}.Quantile(0.999)
	if x := stat.ChiSquare(got, want); x > limit {
		t.Errorf("χ² %.1f, expected at most %.1f:\n got %.0f\nwant %.0f", x, limit, got, want)
	}
}

// TestChoicesAreIndependent changes one choice and looks that all others stay.
func TestChoicesAreIndependent(t *testing.T) {
	tests := []struct {
		name   string
		change func(*profiles.Workload)
		blank  func(*workload.Session) // takes out what may differ
	}{
		{"think", func(w *profiles.Workload) { w.Session.Think.Mean = time.Second }, func(s *workload.Session) { each(s, func(t *workload.Turn) { t.Think = 0 }) }},
		{"cancel", func(w *profiles.Workload) { w.Cancel = profiles.Cancel{} }, func(s *workload.Session) { each(s, func(t *workload.Turn) { t.CancelAfter = 0 }) }},
		{"output", func(w *profiles.Workload) { w.Output = fixed(9) }, func(s *workload.Session) { each(s, func(t *workload.Turn) { t.Output = 0 }) }},
		{"input", func(w *profiles.Workload) { w.Input = fixed(900) }, func(s *workload.Session) {
			each(s, func(t *workload.Turn) { t.Input, t.Prefix, t.Group = 0, 0, 0 })
		}},
		{"tools", func(w *profiles.Workload) { w.Tools = 1 }, func(s *workload.Session) { each(s, func(t *workload.Turn) { t.Tools = false }) }},
		{"schema", func(w *profiles.Workload) { w.Schema = 1 }, func(s *workload.Session) { each(s, func(t *workload.Turn) { t.Schema = false }) }},
		{"models", func(w *profiles.Workload) { w.Models = nil }, func(s *workload.Session) { s.Model = "" }},
		{"classes", func(w *profiles.Workload) { w.Classes = nil }, func(s *workload.Session) { s.Class = "" }},
		{"tenants", func(w *profiles.Workload) { w.Tenants = 0 }, func(s *workload.Session) { s.Tenant = "" }},
		{"rate", func(w *profiles.Workload) { w.Arrival.RatePerS = 1 }, func(s *workload.Session) { s.Offset = 0 }},
		{"turns", func(w *profiles.Workload) { w.Session.Turns = fixed(2) }, func(s *workload.Session) { s.Offset, s.Turns = 0, s.Turns[:1] }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changed := agent()
			tt.change(&changed)
			a, b := stream(t, agent(), workload.Options{Seed: 6}), stream(t, changed, workload.Options{Seed: 6})
			differ := false
			for i := range int64(300) {
				x, y := a.Session(i), b.Session(i)
				differ = differ || !gocmp.Equal(x, y)
				tt.blank(&x)
				tt.blank(&y)
				if diff := gocmp.Diff(x, y); diff != "" {
					t.Fatalf("session %d (-before +after):\n%s", i, diff)
				}
			}
			if !differ {
				t.Error("the change has no effect")
			}
		})
	}
}

func each(s *workload.Session, f func(*workload.Turn)) {
	for i := range s.Turns {
		f(&s.Turns[i])
	}
}

// TestGoldenAgent pins sessions of several turns.
func TestGoldenAgent(t *testing.T) {
	got := stream(t, agent(), workload.Options{Seed: 1}).Session(3)
	if diff := gocmp.Diff(goldenAgent, got); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
}

// TestShardsAddUp puts the sessions of all shards together.
func TestShardsAddUp(t *testing.T) {
	loops := append(slices.Clone(open),
		process{"closed", profiles.Arrival{Process: profiles.Closed, Concurrency: 10, RampUp: 9 * time.Second}},
		process{"users", profiles.Arrival{Process: profiles.Users, Count: 7, RampUp: 6 * time.Second}})
	for _, p := range loops {
		t.Run(p.name, func(t *testing.T) {
			const n = 400
			whole := arriving(t, p.arrival, workload.Options{Seed: 8})
			var want, got []workload.Session
			for i := range int64(n) {
				want = append(want, whole.Session(i))
			}
			const shards = 4
			length, members := int64(0), 0
			var joins []time.Duration
			for shard := range shards {
				s := arriving(t, p.arrival, workload.Options{Seed: 8, Shard: shard, Shards: shards})
				for k := range int64(n / shards) {
					got = append(got, s.Session(k))
				}
				part, _ := s.Len()
				length += part
				concurrency, _ := s.Closed()
				users, _ := s.Users()
				members += concurrency + users
				for k := range concurrency + users {
					joins = append(joins, s.Joins(k))
				}
				if rate := s.Pacer().Rate(0); rate*shards != whole.Pacer().Rate(0) {
					t.Errorf("shard %d has a rate of %v, all of them %v", shard, rate, whole.Pacer().Rate(0))
				}
			}
			slices.SortFunc(got, func(a, b workload.Session) int { return cmp.Compare(a.Index, b.Index) })
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("sessions (-whole +shards):\n%s", diff)
			}
			if all, _ := whole.Len(); length != all {
				t.Errorf("%d sessions in shards, %d in the whole", length, all)
			}
			if members != p.arrival.Concurrency+p.arrival.Count {
				t.Errorf("%d in flight in shards", members)
			}
			slices.Sort(joins)
			for k, at := range joins { // from 1 at the start to all after RampUp, in even steps of 1 s
				if at != time.Duration(k)*time.Second {
					t.Errorf("member %d joins at %v", k, at)
				}
			}
		})
	}
}

func TestUsersThinkBetweenSessions(t *testing.T) {
	w := agent()
	w.Arrival = profiles.Arrival{Process: profiles.Users, Count: 5}
	s := stream(t, w, workload.Options{Seed: 1})
	if n, ok := s.Users(); n != 5 || !ok {
		t.Errorf("Users = %d, %v", n, ok)
	}
	for i := range int64(50) {
		if session := s.Session(i); session.Turns[0].Think <= 0 || session.Offset != 0 {
			t.Fatalf("session %+v", session)
		}
	}
}

// recorded are two sessions of a trace, the second of which says who it is.
func recorded() []workload.Session {
	return []workload.Session{
		{Offset: time.Second, Turns: []workload.Turn{{Group: workload.NoGroup, Input: 1024, Output: 7, Hashes: []uint64{1, 2}}, {Group: workload.NoGroup, Input: 30, Output: 8, Think: time.Minute}}},
		{Offset: 3 * time.Second, Tenant: "t", Class: "c", Model: "m", Turns: []workload.Turn{{Group: workload.NoGroup, Input: 1500, Output: 9, Hashes: []uint64{1, 2, 3}, CancelAfter: 5}}},
	}
}

func TestRecordedSessions(t *testing.T) {
	w := profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Constant, RatePerS: 3},
		Tenants: 1, Classes: map[string]float64{"x": 1}, Cancel: profiles.Cancel{Fraction: 1, After: profiles.Delay{Kind: profiles.Fixed, Mean: time.Hour}},
	}
	given := recorded()
	s := stream(t, w, workload.Options{Recorded: given})
	first, second, again := s.Session(0), s.Session(1), s.Session(2)
	if second.Offset != 500*time.Millisecond { // 3 requests a second in sessions of 1.5
		t.Errorf("second session at %v", second.Offset)
	}
	if first.Tenant != "tenant-1" || first.Class != "x" || second.Tenant != "t" || second.Class != "c" || second.Model != "m" {
		t.Errorf("sessions of %+v and %+v", first, second)
	}
	if first.Turns[1].Think != time.Minute || first.Turns[1].CancelAfter != time.Hour || second.Turns[0].CancelAfter != 5 {
		t.Errorf("turns %+v and %+v", first.Turns, second.Turns)
	}
	if again.Index != 2 || again.Turns[0].Input != 1024 || slices.Contains(again.Turns[0].Hashes, 1) {
		t.Errorf("the list begins again with %+v", again)
	}
	if next := s.Session(3); !slices.Equal(next.Turns[0].Hashes[:2], again.Turns[0].Hashes) {
		t.Errorf("the second pass shares nothing: %v and %v", next.Turns[0].Hashes, again.Turns[0].Hashes)
	}
	if diff := gocmp.Diff(recorded(), given); diff != "" {
		t.Errorf("the recording has been changed:\n%s", diff)
	}
	if !s.Shares() {
		t.Error("Shares is false")
	}
	unique := stream(t, w, workload.Options{Recorded: given, UniquePrefixes: true})
	if a, b := unique.Session(0).Turns[0].Hashes, unique.Session(1).Turns[0].Hashes; a[0] == b[0] {
		t.Error("unique prefixes are shared")
	}
}

func TestEffective(t *testing.T) {
	three := profiles.Workload{
		Input: fixed(100), Output: fixed(10), Prefix: profiles.Prefix{Groups: 2, Tokens: 40},
		Session: profiles.Session{Turns: fixed(3)},
	}
	tests := []struct {
		name     string
		workload profiles.Workload
		options  workload.Options
		want     workload.Totals
	}{
		{"turns", three, workload.Options{}, workload.Totals{Sessions: 1, Input: []int{100, 170, 240}, Cached: []int{40, 110, 180}, Output: []int{10, 10, 10}}},
		{"unique prefixes", three, workload.Options{UniquePrefixes: true}, workload.Totals{Sessions: 1, Input: []int{100, 170, 240}, Cached: []int{0, 110, 180}, Output: []int{10, 10, 10}}},
		{"trace", profiles.Workload{}, workload.Options{Recorded: recorded()},
			workload.Totals{Sessions: 2, Input: []int{1024, 1061, 1500}, Cached: []int{0, 1031, 1024}, Output: []int{7, 8, 9}}},
		{"the same prompt twice", profiles.Workload{}, workload.Options{Recorded: append(recorded()[1:], recorded()[1:]...)},
			workload.Totals{Sessions: 2, Input: []int{1500, 1500}, Cached: []int{0, 1499}, Output: []int{9, 9}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := max(1, len(tt.options.Recorded))
			got, err := workload.Effective(tt.workload, tt.options, n)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("totals (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCachedIsLessThanThePrompt holds for whatever is drawn.
func TestCachedIsLessThanThePrompt(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := agent()
		w.Input = profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: float64(rapid.IntRange(1, 2000).Draw(r, "longest"))}
		totals, err := workload.Effective(w, workload.Options{Seed: rapid.Uint64().Draw(r, "seed")}, 20)
		if err != nil {
			r.Fatal(err)
		}
		for i, cached := range totals.Cached {
			if cached < 0 || cached >= totals.Input[i] {
				r.Fatalf("request %d: %d of %d tokens are cached", i, cached, totals.Input[i])
			}
		}
	})
}

func TestNewRefusesSessions(t *testing.T) {
	tests := []struct {
		name   string
		change func(*profiles.Workload, *workload.Options)
		want   string
	}{
		{"no process", func(w *profiles.Workload, _ *workload.Options) { w.Arrival = profiles.Arrival{} }, "no arrival process, expected one of constant"},
		{"gamma without cv", func(w *profiles.Workload, _ *workload.Options) { w.Arrival.Process = profiles.Gamma }, "arrival: a gamma process needs cv"},
		{"cv too large", func(w *profiles.Workload, _ *workload.Options) {
			w.Arrival = profiles.Arrival{Process: profiles.Gamma, RatePerS: 1, CV: 1000}
		}, "gamma arrivals with a cv of 1000, expected 0.001 to 100"},
		{"cv too small", func(w *profiles.Workload, _ *workload.Options) {
			w.Arrival = profiles.Arrival{Process: profiles.Ramp, ToPerS: 1, Over: 1, CV: 1e-9}
		}, "ramp arrivals with a cv of 1e-09"},
		{"ramp too low for a clock", func(w *profiles.Workload, _ *workload.Options) {
			w.Arrival = profiles.Arrival{Process: profiles.Ramp, ToPerS: 1e-9, Over: 1}
		}, "arrival rate of 1e-09/s"},
		{"step too low for a clock", func(w *profiles.Workload, _ *workload.Options) {
			w.Arrival = profiles.Arrival{Process: profiles.Steps, Curve: &profiles.Curve{Steps: []profiles.Step{{RatePerS: 1e-9, For: 1}, {RatePerS: 1}}}}
		}, "step 1: arrival rate of 1e-09/s"},
		{"sine too fast", func(w *profiles.Workload, _ *workload.Options) {
			w.Arrival = profiles.Arrival{Process: profiles.Sine, RatePerS: 1, AmplitudePerS: 1, Period: time.Microsecond}
		}, "1e-06 sessions in a period"},
		{"trace without sessions", func(w *profiles.Workload, _ *workload.Options) {
			w.Arrival = profiles.Arrival{Process: profiles.TraceArrival}
		}, "without recorded sessions"},
		{"trace backwards", func(w *profiles.Workload, o *workload.Options) {
			w.Arrival = profiles.Arrival{Process: profiles.TraceArrival}
			o.Recorded = recorded()
			slices.Reverse(o.Recorded)
		}, "recorded session 1 is due at 1s"},
		{"recorded without turns", func(_ *profiles.Workload, o *workload.Options) { o.Recorded = make([]workload.Session, 1) }, "has 0 turns"},
		{"shard out of range", func(_ *profiles.Workload, o *workload.Options) { o.Shard, o.Shards = 4, 4 }, "shard 4 of 4"},
		{"more shards than requests", func(w *profiles.Workload, o *workload.Options) {
			w.Arrival, o.Shards = profiles.Arrival{Process: profiles.Closed, Concurrency: 3}, 4
		}, "4 shards for a closed loop of 3"},
		{"too many turns", func(w *profiles.Workload, _ *workload.Options) { w.Session.Turns = fixed(1e6) }, "turns: 1e+06"},
		{"empirical without values", func(w *profiles.Workload, _ *workload.Options) {
			w.Input = profiles.Distribution{Kind: profiles.Empirical}
		}, "input: empirical needs"},
		{"think of no kind", func(w *profiles.Workload, _ *workload.Options) { w.Session.Think.Mean = 1 }, "think: distribution of times"},
		{"cancelled never", func(w *profiles.Workload, _ *workload.Options) {
			w.Cancel = profiles.Cancel{Fraction: 1, After: profiles.Delay{Kind: profiles.Fixed, Mean: -1}}
		}, "cancel after: mean -1ns"},
		{"more than all", func(w *profiles.Workload, _ *workload.Options) { w.Tools = 1.5 }, "tools of 1.5"},
		{"cancelled share", func(w *profiles.Workload, _ *workload.Options) { w.Cancel.Fraction = math.NaN() }, "cancellation of NaN"},
		{"model without share", func(w *profiles.Workload, _ *workload.Options) { w.Models = map[string]float64{"m": 0} }, "model m has a share of 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, o := chat(), workload.Options{}
			tt.change(&w, &o)
			if _, err := workload.New(w, o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func BenchmarkSessions(b *testing.B) {
	for name, w := range maps.All(map[string]profiles.Workload{"chat": chat(), "agent": agent()}) {
		b.Run(name, func(b *testing.B) {
			s := stream(b, w, workload.Options{})
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				_ = s.Session(i)
			}
		})
	}
}
