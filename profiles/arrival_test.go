package profiles

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// grammarSeeds are workloads that together use every key.
var grammarSeeds = []string{
	"arrival: { process: gamma, rate: 20/s, cv: 2 }\ninput: { zipf: { exponent: 1.1, min: 10, max: 4k } }",
	"arrival: { process: ramp, from: 1/s, to: 50/s, over: 5m }\noutput: { geometric: { mean: 30 } }",
	"arrival: { process: steps, steps: [{ rate: 1/s, for: 1m }, { rate: 5/s, for: 2m }], cv: 1 }\ninput: { empirical: [400, 12] }",
	"arrival: { process: sine, rate: 10/s, amplitude: 5/s, period: 60s }\ninput: { empirical: { file: lengths.txt } }",
	"arrival: { process: trace, speed: 2 }\ntrace: { file: x.csv, format: azure }",
	"arrival: { process: closed, concurrency: 64, ramp: 30s }\ntrace: x.csv",
	"arrival: { process: users, count: 50, ramp: 10s }\nsession: { think: 8s }",
	"arrival: 'users:50'\nsession: { turns: 3, think: uniform:min=1s,max=3s }",
	"session: { turns: { geometric: { mean: 3 } }, think: { exponential: { mean: 8s } } }",
	"cancel: { fraction: 0.02, after: { lognormal: { mean: 2s, p99: 9s } } }\ntools: 0.1\njson_schema: 0.1",
	"models: { org/a-8B: 0.7, b:1.0: 0.3 }\nclasses: { x: 1 }\ntenants: 20",
	"models: {}\nclasses: {}\nsession: {}\ncancel: {}\narrival: {}\nprefix: {}",
}

func TestArrivalYAML(t *testing.T) {
	for text, want := range map[string]Arrival{
		"{ process: constant, rate: 500/s }":                                  {Process: Constant, RatePerS: 500},
		"{ process: gamma, rate: 20/s, cv: 2 }":                               {Process: Gamma, RatePerS: 20, CV: 2},
		"{ process: ramp, from: 1/s, to: 50/s, over: 5m }":                    {Process: Ramp, FromPerS: 1, ToPerS: 50, Over: 5 * time.Minute},
		"{ process: ramp, to: 50/s, over: 5m, cv: 1 }":                        {Process: Ramp, ToPerS: 50, Over: 5 * time.Minute, CV: 1},
		"{ process: steps, steps: [{ rate: 60/m, for: 1m }, { rate: 5/s }] }": {Process: Steps, Curve: &Curve{[]Step{{1, time.Minute}, {RatePerS: 5}}}},
		"{ process: steps, steps: '1/s*1m, 5/s*2m' }":                         {Process: Steps, Curve: &Curve{[]Step{{1, time.Minute}, {5, 2 * time.Minute}}}},
		"{ process: sine, rate: 10/s, amplitude: 5/s, period: 60s, cv: 0.5 }": {Process: Sine, RatePerS: 10, AmplitudePerS: 5, Period: time.Minute, CV: 0.5},
		"{ process: closed, concurrency: 64, ramp: 30s }":                     {Process: Closed, Concurrency: 64, RampUp: 30 * time.Second},
		"{ process: users, count: 50, ramp: 0s }":                             {Process: Users, Count: 50, RampUp: AtOnce},
		"{ process: users, count: 50, ramp: 10s }":                            {Process: Users, Count: 50, RampUp: 10 * time.Second},
		"{ count: 50 }":               {Process: Users, Count: 50},
		"{ rate: 4/s }":               {Process: Poisson, RatePerS: 4},
		"gamma:rate=20/s,cv=2":        {Process: Gamma, RatePerS: 20, CV: 2},
		"closed:64,ramp=0s":           {Process: Closed, Concurrency: 64, RampUp: AtOnce},
		"closed:64,ramp=30s":          {Process: Closed, Concurrency: 64, RampUp: 30 * time.Second},
		"users:50":                    {Process: Users, Count: 50},
		"steps:1/s*1m,5/s*2m,cv=1":    {Process: Steps, CV: 1, Curve: &Curve{[]Step{{1, time.Minute}, {5, 2 * time.Minute}}}},
		"ramp:from=1,to=50,over=5m":   {Process: Ramp, FromPerS: 1, ToPerS: 50, Over: 5 * time.Minute},
		"sine:amplitude=5,period=60s": {Process: Sine, AmplitudePerS: 5, Period: time.Minute},
		"{ process: steps, steps: [{ rate: 0/s, for: 1m }, { rate: 1k/h }] }": {Process: Steps, Curve: &Curve{[]Step{{0, time.Minute}, {RatePerS: 1000. / 3600}}}},
		"{ process: poisson }":                {Process: Poisson},
		"{}":                                  {},
		"poisson":                             {Process: Poisson},
		"{ process: closed, concurrency: 1 }": {Process: Closed, Concurrency: 1},
	} {
		w, err := ParseWorkload([]byte("arrival: " + text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, w.Arrival); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestArrivalErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{ process: gamma, rate: 5/s }":                                    "a gamma process needs cv above 0",
		"{ process: gamma, rate: 5/s, cv: -1 }":                            "cv -1 is outside 0 to 1,000,000",
		"{ process: poisson, rate: 5/s, cv: 2 }":                           "a poisson process has no cv, expected rate",
		"{ process: users, rate: 5/s, count: 3 }":                          "a users process has no rate, expected count, ramp",
		"{ process: closed, rate: 5/s, concurrency: 3 }":                   "a closed process has no rate",
		"{ process: closed }":                                              "a closed process needs concurrency above 0",
		"{ process: closed, concurrency: 1.5 }":                            "concurrency 1.5 is not a whole number",
		"{ process: trace, rate: 5/s }":                                    "a trace process has no rate, expected speed",
		"{ process: ramp, from: 1/s }":                                     "a ramp process needs to and over above 0",
		"{ process: ramp, from: 1/s, to: 0/s, over: 1m }":                  "needs to and over above 0",
		"{ process: ramp, from: 1/s, to: 5/s, over: 1000000h }":            "over 1000000h0m0s is outside 0 to",
		"{ process: steps, steps: [{ rate: 1/s }, { rate: 5/s }] }":        "step 1: for 0s is outside",
		"{ process: steps, steps: [{ rate: 1/s, for: 1m }, { rate: 0 }] }": "step 2: the last rate holds for good",
		"{ process: steps, steps: [{ rat: 1/s }] }":                        `unknown key "rat", did you mean "rate"?`,
		"{ process: steps, steps: {} }":                                    "expected a list of steps like { rate: 1/s, for: 1m }, got a mapping",
		"{ process: steps, steps: [] }":                                    "0 steps are outside 1 to 10,000",
		"{ process: steps, rate: 5/s, steps: '1/s' }":                      "a steps process has no rate",
		"{ process: sine, rate: 4/s, amplitude: 5/s, period: 1m }":         "amplitude 5/s is above the rate 4/s",
		"{ process: sin, rate: 4/s }":                                      `did you mean "sine"?`,
		"{ cv: 2 }":                                                        "expected a process, one of constant",
		"{ proces: gamma }":                                                `unknown key "proces", did you mean "process"?`,
		"gamma:cv=2,cv=3":                                                  "cv is given twice",
		"gamma:2":                                                          `expected name=value, got "2"`,
		"closed:64,3":                                                      `expected name=value, got "64"`,
		"closed:many":                                                      `concurrency: parsing "many"`,
		"steps:1/s*soon":                                                   `step "1/s*soon": parsing duration "soon"`,
		"steps:fast":                                                       `parsing step "fast", expected one like 5/s*2m`,
		"ramp:form=1":                                                      `unknown arrival parameter "form", did you mean "from"?`,
		"'poisson:'":                                                       `expected name=value, got ""`,
		"{ process: trace, speed: 2 }":                                     "line 1: arrival: a trace process needs a trace",
	} {
		_, err := ParseWorkload([]byte("arrival: " + text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 1") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", text, err, want)
		}
	}
}

// TestArrivalsReadBack: what is written as text is read as the same.
func TestArrivalsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawArrival(t)
		if a == (Arrival{}) {
			return
		}
		again, err := ParseArrival(a.String())
		if diff := cmp.Diff(a, again); err != nil || diff != "" {
			t.Fatalf("%q: %v, %s", a, err, diff)
		}
	})
}

func TestArrivalPeakAndWords(t *testing.T) {
	for text, want := range map[string]struct {
		peak  float64
		words string
	}{
		"poisson:rate=6/s":                     {6, "poisson 6/s"},
		"gamma:rate=6/s,cv=2":                  {6, "gamma 6/s cv=2"},
		"ramp:from=9/s,to=3/s,over=1m":         {9, "ramp from=9/s to=3/s over=1m0s"},
		"steps:1/s*1m,7/s*1m,2/s":              {7, "steps 1/s*1m0s,7/s*1m0s,2/s"},
		"sine:rate=10/s,amplitude=5,period=1m": {15, "sine 10/s amplitude=5/s period=1m0s"},
		"closed:64,ramp=30s":                   {0, "64 in flight after a ramp of 30s"},
		"users:50":                             {0, "50 users"},
		"trace:speed=2":                        {0, "trace speed=2"},
	} {
		a, err := ParseArrival(text)
		if err != nil || a.Peak() != want.peak || a.Words() != want.words {
			t.Errorf("%s: peak %v, %q, %v; want %+v", text, a.Peak(), a.Words(), err, want)
		}
	}
}

func FuzzParseArrival(f *testing.F) {
	for _, s := range []string{"poisson", "gamma:rate=20/s,cv=2", "ramp:from=1,to=50,over=5m", "steps:1/s*1m,5/s*2m,cv=1", "sine:amplitude=5,period=60s", "trace:speed=2", "closed:64,ramp=30s", "users:50"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseArrival(s)
		if err != nil {
			return
		}
		again, err := ParseArrival(a.String())
		if diff := cmp.Diff(a, again); err != nil || diff != "" {
			t.Fatalf("%q is written as %q: %v, %s", s, a, err, diff)
		}
	})
}
