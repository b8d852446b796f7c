package workload

import (
	"fmt"
	"math"
	"sort"
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

func checkArrival(a profiles.Arrival) error {
	switch a.Process {
	case profiles.Constant, profiles.Poisson, profiles.Gamma:
		return first(checkRate(a.RatePerS, false), checkCV(a))
	case profiles.Ramp:
		if a.FromPerS == 0 && a.ToPerS == 0 {
			return fmt.Errorf("ramp from 0/s to 0/s, expected one of them to be more")
		}
		return first(checkRate(a.FromPerS, true), checkRate(a.ToPerS, true), checkDuration("ramp over", a.Over), checkCV(a))
	case profiles.Steps:
		return first(checkSteps(a.Curve), checkCV(a))
	case profiles.Sine:
		if !(a.AmplitudePerS >= 0 && a.AmplitudePerS <= a.RatePerS) {
			return fmt.Errorf("sine with an amplitude of %g/s, expected 0 to its rate, %g/s", a.AmplitudePerS, a.RatePerS)
		}
		return first(checkRate(a.RatePerS, false), checkDuration("sine with a period of", a.Period), checkCV(a))
	case profiles.TraceArrival:
		if !(a.Speed >= 0) || math.IsInf(a.Speed, 0) {
			return fmt.Errorf("trace at %g times its speed, expected more than 0", a.Speed)
		}
	case profiles.Closed, profiles.Users:
		if n := population(a); n < 1 {
			return fmt.Errorf("closed loop with %d requests in flight, expected at least 1", n)
		}
		if a.RampUp < 0 {
			return fmt.Errorf("closed loop that grows over %v, expected 0 or more", a.RampUp)
		}
	default:
		return fmt.Errorf("unknown arrival process %q, expected constant, poisson, gamma, ramp, steps, sine, trace, closed or users", a.Process)
	}
	return nil
}

func checkRate(rate float64, pause bool) error {
	switch {
	case pause && rate == 0:
		return nil
	case !(rate > 0) || math.IsInf(rate, 0):
		return fmt.Errorf("arrival rate of %g/s, expected more than 0", rate)
	case rate < minRate:
		return fmt.Errorf("arrival rate of %g/s, expected at least %g/s", rate, minRate)
	}
	return nil
}

// checkCV accepts 0 where it means even gaps; a gamma distribution has none.
func checkCV(a profiles.Arrival) error {
	cv := a.CV
	if a.Process == profiles.Constant || a.Process == profiles.Poisson || cv == 0 && a.Process != profiles.Gamma {
		return nil
	}
	if !(cv >= minCV && cv <= maxCV) {
		return fmt.Errorf("%s arrivals with a cv of %g, expected %g to %g", a.Process, cv, minCV, float64(maxCV))
	}
	return nil
}

func checkSteps(c *profiles.Curve) error {
	if c == nil || len(c.Steps) == 0 {
		return fmt.Errorf("steps without a step, expected at least one")
	}
	some := false
	for i, s := range c.Steps {
		if err := first(checkRate(s.RatePerS, true), checkDuration("a step for", s.For)); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		some = some || s.RatePerS > 0
	}
	if !some {
		return fmt.Errorf("steps of 0/s alone, expected one of them to be more")
	}
	return nil
}

func checkDuration(what string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s %v, expected more than 0", what, d)
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
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

// count is finite when the curve ends at a rate of 0.
func (c changing) count() (int64, bool) {
	if c.curve.rate(Never) > 0 {
		return 0, false
	}
	// Sessions are at least as many as sought, which is doubled until it is not
	// so; what lies between is searched.
	sought := int64(1)
	for c.offset(sought) != Never {
		sought *= 2
	}
	return int64(sort.Search(int(sought), func(i int) bool { return c.offset(int64(i)) == Never })), true
}
