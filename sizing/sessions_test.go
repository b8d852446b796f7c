package sizing

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

// turns is a session of requests of these new tokens, each answered with 100.
func turns(offset time.Duration, inputs ...int) workload.Session {
	s := workload.Session{Offset: offset}
	for _, n := range inputs {
		s.Turns = append(s.Turns, workload.Turn{Group: workload.NoGroup, Input: n, Output: 100})
	}
	return s
}

func sessions(mean float64) profiles.Session {
	return profiles.Session{Turns: profiles.Distribution{Kind: profiles.Geometric, Mean: mean}}
}

func TestSampleSeesRequests(t *testing.T) {
	s, err := sample(profiles.Workload{}, []workload.Session{turns(0, 1000, 50), turns(0, 300)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.prompts.Samples.Values, []float64{300, 1000, 1150}; !slices.Equal(got, want) {
		t.Errorf("prompts %v, want %v", got, want)
	}
	if first, last := s.kept[0], s.kept[len(s.kept)-1]; first != (share{}) || last != (share{cached: 1100. / 1150}) {
		t.Errorf("the shortest have %v cached, the longest %v", first, last)
	}
	if s.turns != 1.5 || !s.recorded {
		t.Errorf("%v turns", s.turns)
	}
	if _, err := sample(profiles.Workload{}, []workload.Session{{}}); err == nil || !strings.Contains(err.Error(), "has 0 turns") {
		t.Error(err)
	}
}

// TestSessionsOfOneAreRequests: a workload of sessions that all have one request
// is, but for sampling, the workload of requests.
func TestSessionsOfOneAreRequests(t *testing.T) {
	load := func(r *Request) {
		r.Scenario.Workload, r.Scenario.SLO = builtin("chat"), loose
		r.Scenario.Workload.Arrival = rps(20)
	}
	plain := mustCompute(t, scenario(load))
	sampled := mustCompute(t, scenario(func(r *Request) {
		load(r)
		r.Scenario.Workload.Session.Turns = profiles.Distribution{Kind: profiles.Empirical, Samples: &profiles.Samples{Values: []float64{1}}}
	}))
	for name, pair := range map[string][2]float64{
		"input": {plain.Inputs.InputTokens, sampled.Inputs.InputTokens}, "output": {plain.Inputs.OutputTokens, sampled.Inputs.OutputTokens},
		"hits": {plain.Inputs.PrefixHitRate, sampled.Inputs.PrefixHitRate}, "rate": {plain.Performance.MaxRPS, sampled.Performance.MaxRPS},
		"TTFT": {plain.Performance.TTFT.Mean, sampled.Performance.TTFT.Mean}, "requests at once": {plain.Memory.MixSequences, sampled.Memory.MixSequences},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 0.05 {
			t.Errorf("%s: %v for requests, %v for sessions of one", name, pair[0], pair[1])
		}
	}
}

// TestSessionsAreServedFromTheCache: more turns make longer prompts, which cost
// little where the cache has them and much where it does not, and hold more of it.
func TestSessionsAreServedFromTheCache(t *testing.T) {
	plan := func(mean float64, caching string) *Plan {
		return mustCompute(t, scenario(func(r *Request) {
			r.PrefixCaching = caching
			r.Scenario.Workload = profiles.Workload{Arrival: rps(5), Input: fixed(500), Output: fixed(100), Session: sessions(mean)}
		}))
	}
	one, four, cold := plan(1, "on"), plan(4, "on"), plan(4, "off")
	// With geometric turns the requests before one are 3 on average, 600 tokens each.
	if got := four.Inputs.InputTokens; math.Abs(got/(500+3*600)-1) > 0.05 {
		t.Errorf("prompts of %v tokens, want about %v", got, 500+3*600)
	}
	if got := four.Inputs.PrefixHitRate; got < 0.7 || got > 0.8 || one.Inputs.PrefixHitRate != 0 || cold.Inputs.PrefixHitRate != 0 {
		t.Errorf("hit rates %v, %v, %v", one.Inputs.PrefixHitRate, got, cold.Inputs.PrefixHitRate)
	}
	if one.Memory.MixSequences <= 2*four.Memory.MixSequences || math.Abs(four.Memory.MixSequences/cold.Memory.MixSequences-1) > 1e-9 {
		t.Errorf("the cache holds %v, %v and %v requests", one.Memory.MixSequences, four.Memory.MixSequences, cold.Memory.MixSequences)
	}
	if four.Performance.TTFT.Mean > 1.5*one.Performance.TTFT.Mean || cold.Performance.TTFT.Mean < 2*four.Performance.TTFT.Mean {
		t.Errorf("TTFT %v, %v and %v", one.Performance.TTFT.Mean, four.Performance.TTFT.Mean, cold.Performance.TTFT.Mean)
	}
}

func TestChangingRatesArePlannedForTheirPeak(t *testing.T) {
	for text, want := range map[string]float64{
		"ramp:from=1,to=50,over=5m":           50,
		"ramp:from=50,to=1,over=5m":           50,
		"steps:1/s*1m,30/s*1m,2/s":            30,
		"sine:rate=10,amplitude=5,period=60s": 15,
		"gamma:rate=20,cv=2":                  20,
		"trace:speed=2":                       4,
		"trace":                               2,
		"trace:speed=0.5":                     1,
	} {
		t.Run(text, func(t *testing.T) {
			a, err := profiles.ParseArrival(text)
			if err != nil {
				t.Fatal(err)
			}
			r := scenario(func(r *Request) { r.Scenario.Workload.Arrival = a })
			if a.Process == profiles.TraceArrival {
				// Two requests a second over an hour: the busiest minute has 121.
				r.Scenario.Workload.Trace.File = "x"
				for i := range 3600 {
					r.Recorded = append(r.Recorded, turns(time.Duration(i)*time.Second, 100, 100))
				}
			}
			if got := mustCompute(t, r).Inputs.RPS; math.Abs(got/want-1) > 0.02 {
				t.Errorf("planned for %v/s, want %v", got, want)
			}
		})
	}
}

func TestUsersAreClients(t *testing.T) {
	plan := func(a profiles.Arrival) *Plan {
		return mustCompute(t, scenario(func(r *Request) { r.Scenario.Workload.Arrival = a }))
	}
	users, clients := plan(profiles.Arrival{Process: profiles.Users, Count: 40}), plan(profiles.Arrival{Process: profiles.Closed, Concurrency: 40, RampUp: time.Minute})
	if users.Inputs.Concurrency != 40 || users.Performance.RPS != clients.Performance.RPS || hasWarning(users, "users") {
		t.Errorf("%+v", users.Inputs)
	}
}

func TestUnplannableWorkloads(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Request)
		want   string
	}{
		{"a trace that nobody read", func(r *Request) { r.Scenario.Workload.Trace.File = "x.csv" }, "the requests of the trace x.csv are not at hand"},
		{"a trace without times", func(r *Request) {
			r.Scenario.Workload.Trace.File, r.Recorded = "x.csv", []workload.Session{turns(0, 100), turns(0, 100)}
		}, "x.csv has no times, or all of its requests at one; say the load with --rps"},
		{"sine without a rate", func(r *Request) {
			r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Sine, AmplitudePerS: 1, Period: time.Second}
		}, "sine arrivals need a rate"},
		{"contradiction", func(r *Request) {
			r.Scenario.Workload.Arrival = rps(1)
			r.Scenario.Workload.Session.Think = profiles.Delay{Kind: profiles.Fixed, Mean: 1}
		}, "workload session: think has no effect"},
		{"sessions beyond the window", func(r *Request) {
			r.Scenario.Model, r.Scenario.Workload.Session.Turns, r.Scenario.Workload.Input = "llama-3-8b", fixed(100), fixed(2000)
		}, "the requests of the workload's sessions are more than the window of llama-3-8b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Compute(scenario(tc.change)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// TestSessionsAreSearched: a search plans the workload of a plan.
func TestSessionsAreSearched(t *testing.T) {
	r := SearchRequest{Accelerators: []string{"h100-sxm-80gb"}}
	r.Request = scenario(func(r *Request) {
		r.WeightDType, r.Scenario.Workload = "bf16", profiles.Workload{Arrival: rps(20), Input: fixed(500), Output: fixed(100), Session: sessions(4)}
	})
	found, err := Explore(t.Context(), r, nil)
	if err != nil || found.Cheapest == nil {
		t.Fatal(err)
	}
	if command := fmt.Sprint(found.Cheapest.Command); !strings.Contains(command, "--turns geometric:mean=4") {
		t.Error(command)
	}
}
