package workload

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// arrivals says when sessions start, as time since the start of sending.
type arrivals interface {
	// offset is when session i is due; Never when it does not come. It never
	// decreases.
	offset(i int64) time.Duration
	// rate is how many sessions a second are due around t; 0 in a closed loop.
	rate(t time.Duration) float64
	// count is how many sessions there are; finite is false when they have no
	// end.
	count() (n int64, finite bool)
}

// newArrivals checks a process and returns its arrivals. Rates count requests,
// of which a session has turns on average.
func newArrivals(a profiles.Arrival, turns float64, recorded []Session, seed uint64) (arrivals, error) {
	if err := checkArrival(a); err != nil {
		return nil, err
	}
	switch a.Process {
	case profiles.Closed, profiles.Users:
		return closed{}, nil
	case profiles.TraceArrival:
		return newTrace(a, recorded)
	case profiles.Ramp:
		return newChanging(newRamp(a, turns), a.CV, seed), nil
	case profiles.Steps:
		return newChanging(newSteps(a, turns), a.CV, seed), nil
	case profiles.Sine:
		s := newSine(a, turns)
		if s.perPeriod < minPerPeriod {
			return nil, fmt.Errorf("sine arrivals with %g sessions in a period of %v, expected at least %g", float64(s.perPeriod)/1e9, a.Period, minPerPeriod/1e9)
		}
		return newChanging(s, a.CV, seed), nil
	}
	rate := a.RatePerS / turns
	return steady{newTicks(rate, variation(a), seed), rate}, nil
}

// minRate is the slowest open loop, in requests per second: one in eleven days.
// Gaps of much slower ones would not fit into a time.Duration.
const minRate = 1e-6

// minPerPeriod is how many billionths of a session a period of a sine must have
// at least, so that rounding to whole ones does not change its rate.
const minPerPeriod = 1e6

// minCV and maxCV bound the coefficient of variation of gaps: below, they are
// even but for a thousandth; above, one in ten thousand is not 0.
const minCV, maxCV = 0.001, 100

// checkArrival reports what no stream can be made of.
func checkArrival(a profiles.Arrival) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("arrival: %w", err)
	}
	switch a.Process {
	case "":
		return fmt.Errorf("no arrival process, expected one of %s", strings.Join(profiles.ArrivalProcesses(), ", "))
	case profiles.Constant, profiles.Poisson, profiles.Gamma, profiles.Sine:
		return cmp.Or(checkRate(a.RatePerS), checkCV(a))
	case profiles.Ramp:
		return cmp.Or(checkRateOrPause(a.FromPerS), checkRate(a.ToPerS), checkCV(a))
	case profiles.Steps:
		for i, s := range a.Curve.Steps {
			if err := checkRateOrPause(s.RatePerS); err != nil {
				return fmt.Errorf("step %d: %w", i+1, err)
			}
		}
		return checkCV(a)
	}
	return nil
}

func checkRate(rate float64) error {
	switch {
	case rate == 0:
		return fmt.Errorf("arrival rate of 0/s, expected more than 0")
	case rate < minRate:
		return fmt.Errorf("arrival rate of %g/s, expected at least %g/s", rate, minRate)
	}
	return nil
}

func checkRateOrPause(rate float64) error {
	if rate == 0 {
		return nil
	}
	return checkRate(rate)
}

// checkCV accepts a cv that nobody has given, 0.
func checkCV(a profiles.Arrival) error {
	if a.CV != 0 && !(a.CV >= minCV && a.CV <= maxCV) {
		return fmt.Errorf("%s arrivals with a cv of %g, expected %g to %g", a.Process, a.CV, minCV, float64(maxCV))
	}
	return nil
}

// population is how many requests a closed loop keeps in flight, or how many
// users it has; 0 of an open loop.
func population(a profiles.Arrival) int {
	switch a.Process {
	case profiles.Closed:
		return a.Concurrency
	case profiles.Users:
		return a.Count
	}
	return 0
}

// closed is the loop in which a request is due when another has ended.
type closed struct{}

func (closed) offset(int64) time.Duration { return 0 }
func (closed) rate(time.Duration) float64 { return 0 }
func (closed) count() (int64, bool)       { return 0, false }

// steady has one rate for good.
type steady struct {
	ticks     ticks
	perSecond float64
}

func (s steady) offset(i int64) time.Duration { return time.Duration(s.ticks.at(i)) }
func (s steady) rate(time.Duration) float64   { return s.perSecond }
func (s steady) count() (int64, bool)         { return 0, false }

// changing has a rate that changes. Sessions are due at ticks of a clock that
// counts sessions, which the curve turns into time: gaps of any distribution
// are stretched where the rate is low (E. Çinlar, "Introduction to Stochastic
// Processes", 1975, §4.7, for Poisson ones).
type changing struct {
	ticks ticks
	curve curve
}

func newChanging(c curve, cv float64, seed uint64) changing {
	return changing{newTicks(1, cv, seed), c}
}

func (c changing) offset(i int64) time.Duration { return c.curve.when(c.ticks.at(i)) }
func (c changing) rate(t time.Duration) float64 { return c.curve.rate(t) }

func (c changing) count() (int64, bool) { return 0, false }
