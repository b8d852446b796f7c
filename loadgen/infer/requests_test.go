package infer_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/loadgen/infer"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

func near(t interface{ Errorf(string, ...any) }, what string, got, want, tolerance float64) {
	if !(math.Abs(got-want) <= tolerance*want) {
		t.Errorf("%s %g, want %g within %g%%", what, got, want, 100*tolerance)
	}
}

// again prints a scenario and reads it.
func again(t *testing.T, s profiles.Scenario) profiles.Scenario {
	t.Helper()
	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	read, err := profiles.ParseScenario(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return *read
}

// The lengths and rates of a stream are inferred from it.
func TestStreamIsInferred(t *testing.T) {
	tests := []struct {
		name          string
		input, output profiles.Distribution
		kind          profiles.DistributionKind
	}{
		{"lognormal", profiles.Distribution{Kind: profiles.Lognormal, Mean: 1500, P99: 8000}, profiles.Distribution{Kind: profiles.Lognormal, Mean: 256, P99: 1000}, profiles.Lognormal},
		{"uniform", profiles.Distribution{Kind: profiles.Uniform, Min: 100, Max: 5000}, profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 400}, profiles.Empirical},
		{"fixed", profiles.Distribution{Kind: profiles.Fixed, Mean: 700}, profiles.Distribution{Kind: profiles.Fixed, Mean: 70}, profiles.Fixed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := profiles.Workload{
				Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 20}, Input: tt.input, Output: tt.output,
				Tenants: 5, Classes: map[string]float64{"interactive": 0.9, "batch": 0.1},
			}
			stream, err := workload.New(w, workload.Options{Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			const n = 40_000
			inputs, outputs := 0.0, 0.0
			sessions := func(yield func(workload.Session) bool) {
				for i := range int64(n) {
					s := stream.Session(i)
					inputs += float64(s.Turns[0].Input)
					outputs += float64(s.Turns[0].Output)
					if !yield(s) {
						return
					}
				}
			}
			r, err := infer.FromSessions(sessions, true, infer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := again(t, r.Scenario).Workload
			if got.Input.Kind != tt.kind || got.Output.Kind != tt.kind || got.Tenants != 5 || got.Arrival.Process != profiles.Poisson {
				t.Errorf("workload %+v", got)
			}
			near(t, "mean input", mean(got.Input), inputs/n, 0.03)
			near(t, "mean output", mean(got.Output), outputs/n, 0.03)
			if tt.kind == profiles.Lognormal {
				near(t, "p99 of input", got.Input.P99, 8000, 0.05)
			}
			near(t, "share of batch", got.Classes["batch"], 0.1, 0.1)
			near(t, "rate", got.Arrival.RatePerS, 20, 0.03)
		})
	}
}

func mean(d profiles.Distribution) float64 {
	if d.Samples == nil {
		return d.Mean
	}
	sum := 0.0
	for _, v := range d.Samples.Values {
		sum += v
	}
	return sum / float64(len(d.Samples.Values))
}

// day yields n requests of each hour of some days, in any order.
func day(days int, perHour func(hour int) int) iter.Seq[infer.Request] {
	return func(yield func(infer.Request) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		for hour := range days * 24 {
			for range perHour(hour % 24) {
				at := start.Add(time.Duration(hour)*time.Hour + time.Duration(r.Int64N(int64(time.Hour))))
				if !yield(infer.Request{At: at, Input: 10, Output: 5, Cached: -1}) {
					return
				}
			}
		}
	}
}

func TestDayIsInferred(t *testing.T) {
	r, err := infer.FromRequests(day(3, func(hour int) int { return 400 * min(hour, 24-hour) }), infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	steps := again(t, r.Scenario).Workload.Arrival.Curve.Steps
	if len(steps) != 24 {
		t.Fatalf("%d steps", len(steps))
	}
	for hour, s := range steps {
		want := 400 * float64(min(hour, 24-hour)) / 3600
		if s.For != time.Hour {
			t.Errorf("step %d lasts %v", hour, s.For)
		}
		near(t, fmt.Sprintf("rate of hour %d", hour), s.RatePerS, want, 0.05)
	}
}

// Requests of the last hour of a day in which nothing comes keep a rate.
func TestQuietEnd(t *testing.T) {
	r, err := infer.FromRequests(day(2, func(hour int) int { return map[bool]int{true: 0, false: 50}[hour == 23] }), infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	steps := again(t, r.Scenario).Workload.Arrival.Curve.Steps
	if last := steps[23].RatePerS; !(last > 0 && last < 1e-4) {
		t.Errorf("last rate %g", last)
	}
}

func TestSpans(t *testing.T) {
	every := func(gap time.Duration, n int) iter.Seq[infer.Request] {
		return func(yield func(infer.Request) bool) {
			for i := range n {
				if !yield(infer.Request{At: time.Unix(1_800_000_000, 123).Add(time.Duration(i) * gap), Input: 3, Cached: -1}) {
					return
				}
			}
		}
	}
	tests := []struct {
		name     string
		requests iter.Seq[infer.Request]
		lengths  []time.Duration
		cv       float64
	}{
		{"hours and a half", every(time.Second, 3*3600+1800+1), []time.Duration{time.Hour, time.Hour, time.Hour, 30 * time.Minute}, 0.05},
		{"hours and some minutes", every(time.Second, 3*3600+300+1), []time.Duration{time.Hour, time.Hour, time.Hour + 5*time.Minute}, 0.05},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := infer.FromRequests(tt.requests, infer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := again(t, r.Scenario).Workload.Arrival
			var lengths []time.Duration
			for _, s := range a.Curve.Steps {
				lengths = append(lengths, s.For)
			}
			if !slices.Equal(lengths, tt.lengths) || a.CV != tt.cv {
				t.Errorf("steps of %v with variation %g, want %v with %g", lengths, a.CV, tt.lengths, tt.cv)
			}
		})
	}
	r, err := infer.FromRequests(every(2*time.Second, 2), infer.Options{})
	if want := (profiles.Arrival{Process: profiles.Poisson, RatePerS: 0.5}); err != nil || r.Scenario.Workload.Arrival != want {
		t.Errorf("two requests: %+v, %v", r.Scenario.Workload.Arrival, err)
	}
	r, err = infer.FromRequests(every(0, 5), infer.Options{})
	if err != nil || r.Scenario.Workload.Arrival != (profiles.Arrival{}) {
		t.Errorf("requests at one time: %+v, %v", r.Scenario.Workload.Arrival, err)
	}
}

// One rate is written as the process that has such gaps.
func TestOneRate(t *testing.T) {
	for _, want := range []profiles.Arrival{
		{Process: profiles.Poisson, RatePerS: 20},
		{Process: profiles.Constant, RatePerS: 20},
		{Process: profiles.Gamma, RatePerS: 20, CV: 3},
		{Process: profiles.Gamma, RatePerS: 20, CV: 0.5},
	} {
		for _, n := range []int{150, 20_000} {
			stream, err := workload.New(profiles.Workload{Arrival: want, Input: profiles.Distribution{Kind: profiles.Fixed, Mean: 3}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 3}}, workload.Options{Seed: 5})
			if err != nil {
				t.Fatal(err)
			}
			r, err := infer.FromSessions(func(yield func(workload.Session) bool) {
				for i := range int64(n) {
					if !yield(stream.Session(i)) {
						return
					}
				}
			}, true, infer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := again(t, r.Scenario).Workload.Arrival
			if got.Process != want.Process {
				t.Errorf("%d requests of %v: %v", n, want, got)
			}
			if n == 20_000 {
				near(t, "rate", got.RatePerS, 20, 0.06)
				near(t, "variation", got.CV, want.CV, 0.05)
			}
		}
	}
}

// A clock of whole seconds tells nothing about gaps of tenths.
func TestCoarseClock(t *testing.T) {
	r, err := infer.FromRequests(func(yield func(infer.Request) bool) {
		for i := range 5000 {
			if !yield(infer.Request{At: time.Unix(int64(i/10), 0), Input: 3, Cached: -1}) {
				return
			}
		}
	}, infer.Options{})
	if want := (profiles.Arrival{Process: profiles.Poisson, RatePerS: 10.02}); err != nil || r.Scenario.Workload.Arrival != want {
		t.Errorf("%+v, %v", r.Scenario.Workload.Arrival, err)
	}
}

// conversations have three requests each, 10 s after the answer before.
func conversations(yield func(infer.Request) bool) {
	for i := range 100 {
		at := time.Unix(1_800_000_000+int64(i)*7, int64(i)*1000)
		for turn := range 3 {
			r := infer.Request{At: at, Took: 2 * time.Second, Input: 100 + 150*turn, Output: 50, Cached: 90 * turn, Session: fmt.Sprint(i)}
			if !yield(r) {
				return
			}
			at = at.Add(12 * time.Second)
		}
	}
}

func TestSessions(t *testing.T) {
	r, err := infer.FromRequests(conversations, infer.Options{Sessions: true})
	if err != nil {
		t.Fatal(err)
	}
	w := again(t, r.Scenario).Workload
	if w.Session.Turns.Mean != 3 || w.Session.Think.Mean != 10*time.Second || w.Input.Mean != 100 || !w.Prefix.None {
		t.Errorf("workload %+v", w)
	}
	r, err = infer.FromRequests(conversations, infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w = again(t, r.Scenario).Workload
	if w.Session != (profiles.Session{}) || mean(w.Input) != 250 || w.Prefix.Groups != 1 {
		t.Errorf("workload without sessions %+v", w)
	}
}

// A prefix shares as many tokens as were cached, also of prompts shorter than it.
func TestPrefixShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(2, 5000), 1, 50).Draw(t, "lengths")
		prefix := rapid.IntRange(1, 4000).Draw(t, "prefix")
		shared, total := 0, 0
		r, err := infer.FromRequests(func(yield func(infer.Request) bool) {
			for _, n := range lengths {
				shared += min(prefix, n-1)
				total += n
				if !yield(infer.Request{Input: n, Output: 1, Cached: min(prefix, n-1)}) {
					return
				}
			}
		}, infer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := r.Scenario.Workload.Prefix
		if float64(shared)/float64(total) < 0.005 {
			if !p.None {
				t.Fatalf("prefix %+v of hardly anything", p)
			}
			return
		}
		got := 0
		for _, n := range lengths {
			got += min(p.Tokens, n-1)
		}
		if p.Groups != 1 || math.Abs(float64(got-shared)) > float64(len(lengths)) {
			t.Fatalf("prefix of %d tokens shares %d, want %d", p.Tokens, got, shared)
		}
	})
}

func TestModels(t *testing.T) {
	infers := func(models ...string) profiles.Scenario {
		r, err := infer.FromRequests(func(yield func(infer.Request) bool) {
			for _, m := range models {
				if !yield(infer.Request{Input: 1, Cached: -1, Model: m}) {
					return
				}
			}
		}, infer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return again(t, r.Scenario)
	}
	if s := infers("llama-3.1-8b", "llama-3.1-8b"); s.Model != "llama-3.1-8b" || s.Workload.Models != nil {
		t.Errorf("known model: %+v", s)
	}
	if s := infers("a", "a"); s.Model != "" || s.Workload.Models != nil {
		t.Errorf("one unknown model: %+v", s)
	}
	if s := infers("a", "b/c", "a", "no name"); s.Model != "" || len(s.Workload.Models) != 2 || s.Workload.Models["a"] != 0.6667 {
		t.Errorf("models on the wire: %+v", s)
	}
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprint("m", i)
	}
	if s := infers(many...); s.Workload.Models != nil {
		t.Errorf("as many models as requests: %+v", s)
	}
}

// Every part says what it rests on, or that it is not known.
func TestBasis(t *testing.T) {
	r, err := infer.FromRequests(func(yield func(infer.Request) bool) { yield(infer.Request{Input: 7, Cached: -1}) }, infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, part := range []string{"arrival", "input", "output", "prefix", "session", "tenants", "classes", "models"} {
		i := slices.IndexFunc(r.Basis, func(b infer.Basis) bool { return b.Part == part })
		if i < 0 {
			t.Errorf("nothing is said of %s", part)
		} else if !strings.HasPrefix(r.Basis[i].Text, "not known") {
			known++
		}
	}
	if known != 1 {
		t.Errorf("%d parts are known, want input alone: %+v", known, r.Basis)
	}
}
