package profiles

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/units"
)

const (
	maxRate     = 1e7 // requests per second, far beyond what one machine sends
	maxInFlight = 10_000_000
	maxSteps    = 10_000 // a week in minutes
)

// arrivalParameters names what each process may have; those of arrivalNeeds it
// must have. A rate may be left out, and is then a default's.
var (
	arrivalParameters = map[ArrivalProcess][]string{
		Constant:     {"rate"},
		Poisson:      {"rate"},
		Gamma:        {"rate", "cv"},
		Ramp:         {"from", "to", "over", "cv"},
		Steps:        {"steps", "cv"},
		Sine:         {"rate", "amplitude", "period", "cv"},
		TraceArrival: {"speed"},
		Closed:       {"concurrency", "ramp"},
		Users:        {"count", "ramp"},
	}
	arrivalNeeds = map[ArrivalProcess][]string{
		Gamma: {"cv"}, Ramp: {"to", "over"}, Steps: {"steps"}, Sine: {"amplitude", "period"}, Closed: {"concurrency"}, Users: {"count"},
	}
	// arrivalNames are all parameters in the order in which they are written.
	arrivalNames = []string{"rate", "cv", "from", "to", "over", "amplitude", "period", "speed", "concurrency", "count", "ramp", "steps"}
	// processes are all of them in the order in which they are listed.
	processes = []string{string(Constant), string(Poisson), string(Gamma), string(Ramp), string(Steps), string(Sine), string(TraceArrival), string(Closed), string(Users)}
)

// AtOnce is the ramp of a closed loop that somebody said has none: all begin at the
// start. A ramp of 0 is one that nobody said. It is too short to be told from none.
const AtOnce = time.Nanosecond

// set reads the value of a parameter.
func (a *Arrival) set(name, value string) (err error) {
	switch target := a.parameter(name).(type) {
	case *float64:
		if name == "cv" || name == "speed" {
			*target, err = units.ParseCount(value)
		} else {
			*target, err = units.ParseRate(value)
		}
	case *time.Duration:
		if *target, err = units.ParseDuration(value); name == "ramp" && *target == 0 {
			*target = AtOnce
		}
	case *int:
		*target, err = parseWhole(name, value)
	case **Curve:
		*target, err = parseCurve(value)
	default:
		return unknown("arrival parameter", name, arrivalNames, "expected one of "+strings.Join(arrivalNames, ", "))
	}
	return err
}

// parameter returns a pointer to the field of a parameter's name, nil when there
// is none.
func (a *Arrival) parameter(name string) any {
	switch name {
	case "rate":
		return &a.RatePerS
	case "cv":
		return &a.CV
	case "from":
		return &a.FromPerS
	case "to":
		return &a.ToPerS
	case "over":
		return &a.Over
	case "amplitude":
		return &a.AmplitudePerS
	case "period":
		return &a.Period
	case "speed":
		return &a.Speed
	case "concurrency":
		return &a.Concurrency
	case "count":
		return &a.Count
	case "ramp":
		return &a.RampUp
	case "steps":
		return &a.Curve
	}
	return nil
}

// Said reports whether a parameter, by its name as in Takes, is not zero.
func (a Arrival) Said(name string) bool {
	switch p := a.parameter(name).(type) {
	case *float64:
		return *p != 0
	case *time.Duration:
		return *p != 0
	case *int:
		return *p != 0
	case **Curve:
		return *p != nil
	}
	return false
}

// Takes reports whether the process has a parameter of this name: rate, cv, from,
// to, over, amplitude, period, speed, concurrency, count, ramp or steps.
func (p ArrivalProcess) Takes(name string) bool { return slices.Contains(arrivalParameters[p], name) }

// Validate reports the first value of an arrival process that makes no sense, or
// that belongs to another process. The zero Arrival means "not said".
func (a Arrival) Validate() error {
	for _, name := range arrivalNames {
		if err := a.check(name); err != nil {
			return err
		}
	}
	if a == (Arrival{}) {
		return nil
	}
	if a.Process == "" {
		return fmt.Errorf("expected a process, one of %s", strings.Join(processes, ", "))
	}
	if _, err := parseProcess(string(a.Process)); err != nil {
		return err
	}
	for _, name := range arrivalNames {
		if a.Said(name) && !a.Process.Takes(name) {
			return fmt.Errorf("a %s process has no %s, expected %s", a.Process, name, strings.Join(arrivalParameters[a.Process], ", "))
		}
	}
	for _, name := range arrivalNeeds[a.Process] {
		if !a.Said(name) {
			return fmt.Errorf("a %s process needs %s above 0", a.Process, strings.Join(arrivalNeeds[a.Process], " and "))
		}
	}
	if a.Process == Sine && a.RatePerS > 0 && a.AmplitudePerS > a.RatePerS {
		return fmt.Errorf("amplitude %s/s is above the rate %s/s, which would fall below 0", formatNumber(a.AmplitudePerS), formatNumber(a.RatePerS))
	}
	return nil
}

// check reports a value out of its range.
func (a Arrival) check(name string) error {
	switch p := a.parameter(name).(type) {
	case *float64:
		limit, text := maxRate, "0 to 10,000,000/s"
		unit := "/s"
		if name == "cv" || name == "speed" {
			limit, text, unit = 1e6, "0 to 1,000,000", ""
		}
		if math.IsNaN(*p) || *p < 0 || *p > limit {
			return fmt.Errorf("%s %v%s is outside %s", name, *p, unit, text)
		}
	case *time.Duration:
		if *p < 0 || *p > maxDelay {
			return fmt.Errorf("%s %s is outside 0 to %s", name, *p, maxDelay)
		}
	case *int:
		if *p < 0 || *p > maxInFlight {
			return fmt.Errorf("%s %d is outside 0 to 10,000,000", name, *p)
		}
	case **Curve:
		if *p != nil {
			return (*p).validate()
		}
	}
	return nil
}

// ClosedLoop reports whether requests wait for answers rather than for a time:
// with a number in flight, or of users.
func (a Arrival) ClosedLoop() bool { return a.Process == Closed || a.Process == Users }

// Peak is the largest rate that the process reaches, in requests per second, as
// far as the process alone tells: 0 for closed loops, users and traces.
func (a Arrival) Peak() float64 {
	switch a.Process {
	case Ramp:
		return max(a.FromPerS, a.ToPerS)
	case Sine:
		return a.RatePerS + a.AmplitudePerS
	case Steps:
		peak := 0.0
		for _, step := range a.Curve.Steps {
			peak = max(peak, step.RatePerS)
		}
		return peak
	}
	return a.RatePerS
}
