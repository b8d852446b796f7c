package main

import (
	"cmp"
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// checkLoad refuses flags of which one would have no effect beside another. It
// looks at what was given as flags, whose values get returns, "" for none: what a
// flag says goes before the scenario file without a word.
func checkLoad(get func(string) string) error {
	for _, pair := range [][2]string{{"rps", "concurrency"}, {"rps", "users"}, {"concurrency", "users"}} {
		if get(pair[0]) != "" && get(pair[1]) != "" {
			return fmt.Errorf("--%s asks for %s and --%s for %s; give one of them", pair[0], loops[pair[0]], pair[1], loops[pair[1]])
		}
	}
	if err := checkArrival(get); err != nil {
		return err
	}
	if get("trace") == "" {
		return nil
	}
	for _, name := range []string{"workload", "isl", "osl", "prefix", "turns"} {
		if get(name) != "" {
			return fmt.Errorf("--trace has requests of its own, which contradicts --%s; leave one of them out", name)
		}
	}
	if get("rps") != "" && get("arrival") == "" {
		return fmt.Errorf("--trace replays the times of its file, which contradicts --rps; add --arrival poisson to send its requests at that rate, or take --trace-speed to replay them faster")
	}
	return nil
}

// loops words what the flags of a load ask for.
var loops = map[string]string{"rps": "an open loop", "concurrency": "a closed one", "users": "users who wait for their answers"}

// arrivalFlags are the flags that say a parameter of an arrival process.
var arrivalFlags = []struct{ flag, parameter string }{
	{"rps", "rate"}, {"concurrency", "concurrency"}, {"users", "count"}, {"concurrency-ramp", "ramp"}, {"trace-speed", "speed"},
}

// checkArrival holds --arrival against the flags that say a part of it.
func checkArrival(get func(string) string) error {
	text := get("arrival")
	if text == "" {
		return nil
	}
	a, err := profiles.ParseArrival(text)
	if err != nil {
		return nil // its own flag says so
	}
	for _, f := range arrivalFlags {
		switch {
		case get(f.flag) == "":
		case !a.Process.Takes(f.parameter):
			return fmt.Errorf("--arrival %s contradicts --%s, since %s arrivals have no %s; leave one of them out", text, f.flag, a.Process, f.parameter)
		case a.Said(f.parameter):
			return fmt.Errorf("--arrival %s and --%s both say the %s; leave one of them out", text, f.flag, f.parameter)
		}
	}
	if a.Process == profiles.TraceArrival {
		for _, name := range []string{"isl", "osl"} {
			if get(name) != "" {
				return fmt.Errorf("--arrival %s replays a trace, whose requests contradict --%s; leave one of them out", text, name)
			}
		}
	}
	return nil
}

// applyArrival sets the process. What it leaves unsaid of an open loop's rate
// stays as it was.
func applyArrival(sc *profiles.Scenario, v string) error {
	if flag := map[string]string{"closed": "concurrency", "users": "users"}[v]; flag != "" {
		return fmt.Errorf("%s arrivals are asked for with --%s", v, flag)
	}
	a, err := profiles.ParseArrival(v)
	if err != nil {
		return err
	}
	if a.Process.Takes("rate") {
		a.RatePerS = cmp.Or(a.RatePerS, sc.Workload.Arrival.RatePerS)
	}
	sc.Workload.Arrival = a
	return nil
}

// applyRate sets the rate of an open loop, which is Poisson unless another one
// was said.
func applyRate(sc *profiles.Scenario, v string) error {
	rate, err := units.ParseRate(v)
	if err != nil {
		return err
	}
	if rate < 1e-6 || rate > 1e6 {
		return fmt.Errorf("a rate of %s is out of range, expected between one request in a million seconds and a million in one", v)
	}
	if a := &sc.Workload.Arrival; !a.Process.Takes("rate") {
		*a = profiles.Arrival{Process: profiles.Poisson}
	}
	sc.Workload.Arrival.RatePerS = rate
	return sc.Workload.Arrival.Validate()
}

func applyConcurrency(sc *profiles.Scenario, v string) error {
	var n int
	if err := parsePositive(v, &n); err != nil {
		return err
	}
	sc.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: n}
	return sc.Workload.Arrival.Validate()
}

func applyUsers(sc *profiles.Scenario, v string) error {
	var n int
	if err := parsePositive(v, &n); err != nil {
		return err
	}
	sc.Workload.Arrival = profiles.Arrival{Process: profiles.Users, Count: n}
	return sc.Workload.Arrival.Validate()
}

func applyRamp(sc *profiles.Scenario, v string) error {
	a := &sc.Workload.Arrival
	if !a.Process.Takes("ramp") {
		return fmt.Errorf("a ramp is of --concurrency or --users; the rate of an open loop grows with --arrival ramp:from=1,to=50,over=5m")
	}
	d, err := units.ParseDuration(v)
	if err != nil {
		return err
	}
	if a.RampUp = d; d == 0 {
		a.RampUp = profiles.AtOnce
	}
	return a.Validate()
}

// applyTrace replaces the requests of the workload and its arrivals, which later
// flags may set to others.
func applyTrace(sc *profiles.Scenario, v string) error {
	t := profiles.Trace{File: v}
	if err := t.Validate(); err != nil {
		return err
	}
	w := &sc.Workload
	w.Trace, w.Arrival = t, profiles.Arrival{Process: profiles.TraceArrival}
	w.Name, w.Input, w.Output, w.Prefix, w.Session = "custom", profiles.Distribution{}, profiles.Distribution{}, profiles.Prefix{}, profiles.Session{}
	return nil
}

func applyTraceFormat(sc *profiles.Scenario, v string) (err error) {
	if sc.Workload.Trace.File == "" {
		return fmt.Errorf("there is no trace whose layout is %s; name one with --trace", v)
	}
	sc.Workload.Trace.Format, err = profiles.ParseTraceFormat(v)
	return err
}

func applyTraceSpeed(sc *profiles.Scenario, v string) error {
	a := &sc.Workload.Arrival
	if a.Process != profiles.TraceArrival {
		return fmt.Errorf("no times of a trace are replayed; name one with --trace")
	}
	speed, err := units.ParseCount(v)
	if err != nil || !(speed > 0) {
		return fmt.Errorf("%q is no factor above 0", v)
	}
	a.Speed = speed
	return a.Validate()
}
