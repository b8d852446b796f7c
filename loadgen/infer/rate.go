package infer

import (
	"math"
	"slices"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

const (
	day = 24 * time.Hour
	// shortest is the span below which a curve of hours says nothing.
	shortest = 2 * time.Hour
	// slowest is the rate of an hour in which nothing came, where the curve may
	// not be 0: one request a day.
	slowest = 1.0 / 86400
	// enough gaps tell how even they are.
	enough = 100
	// poissonError ÷ √n is how far the variation of n gaps of Poisson arrivals may be
	// from 1 by chance: three standard errors, each 1/√n for exponential gaps.
	poissonError = 3
	// evenest is the variation that stands for all below it: gaps that are equal but
	// for the client's own unevenness.
	evenest = 0.05
)

// arrivals is when requests came.
type arrivals struct {
	times []int64 // nanoseconds since 1970, or since the start of the log
}

// fit describes the arrivals; ok is false when there are too few.
func (a *arrivals) fit(r *Result) (fitted profiles.Arrival, ok bool) {
	slices.Sort(a.times)
	n := len(a.times)
	if n < 2 || a.times[0] == a.times[n-1] {
		return profiles.Arrival{}, false
	}
	span := time.Duration(a.times[n-1] - a.times[0])
	cv, gaps := a.variation()
	evenness := "their evenness is not known, Poisson is assumed"
	if gaps > 0 {
		evenness = "the gaps vary by " + units.Number(round(cv)) + " of their mean (Poisson: 1)"
	}
	if math.Abs(cv-1) < max(0.1, poissonError/math.Sqrt(float64(max(1, gaps)))) {
		cv = 1
	}
	cv = max(evenest, math.Round(cv*100)/100)
	fitted = profiles.Arrival{Process: profiles.Steps, CV: cv}
	switch {
	case span < shortest:
		fitted = oneRate(round(float64(n-1)/span.Seconds()), cv)
		r.say("arrival", "%s requests in %s; %s; how the rate changes over a day is not known", number(n), units.Duration(span), evenness)
	case span < day:
		fitted.Curve = a.ownSpan(span)
		r.say("arrival", "%s requests in %s, hour by hour from the first one on; %s; other hours of the day are not known",
			number(n), units.Duration(span), evenness)
	case a.relative():
		fitted.Curve = a.byHour(span)
		r.say("arrival", "%s requests in %s, by the hour of 24 since the start of the log; %s", number(n), units.Duration(span), evenness)
	default:
		fitted.Curve = a.byHour(span)
		r.say("arrival", "%s requests in %s, by the hour of the day from midnight UTC; %s", number(n), units.Duration(span), evenness)
	}
	return fitted, true
}

// oneRate is a rate that does not change, of gaps with a coefficient of variation.
func oneRate(rate, cv float64) profiles.Arrival {
	switch cv {
	case 1:
		return profiles.Arrival{Process: profiles.Poisson, RatePerS: rate}
	case evenest:
		return profiles.Arrival{Process: profiles.Constant, RatePerS: rate}
	}
	return profiles.Arrival{Process: profiles.Gamma, RatePerS: rate, CV: cv}
}

// relative reports times that count from the start of the log.
func (a *arrivals) relative() bool { return a.times[len(a.times)-1] < int64(365*day) }

// ownSpan has an hour a step from the first request on; the last step is the
// rest, unless that is short and belongs to the one before it.
func (a *arrivals) ownSpan(span time.Duration) *profiles.Curve {
	steps := int(span / time.Hour)
	if rest := span % time.Hour; rest >= 10*time.Minute {
		steps++
	}
	counts := make([]int, steps)
	for _, t := range a.times {
		counts[min(steps-1, int((t-a.times[0])/int64(time.Hour)))]++
	}
	curve := &profiles.Curve{}
	for i, n := range counts {
		length := time.Hour
		if i == steps-1 {
			length = wholeSeconds(span - time.Duration(i)*time.Hour)
		}
		curve.Steps = append(curve.Steps, step(float64(n), length.Seconds(), length, i == steps-1))
	}
	return curve
}

// wholeSeconds rounds up, so that no step is empty.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// byHour has the mean rate of each hour of the day, over the time that the log
// covers of it.
func (a *arrivals) byHour(span time.Duration) *profiles.Curve {
	var counts, covered [24]float64
	for _, t := range a.times {
		counts[hourOf(t)]++
	}
	end := a.times[0] + int64(span)
	for at := a.times[0]; at < end; {
		next := min(end, at-at%int64(time.Hour)+int64(time.Hour))
		covered[hourOf(at)] += time.Duration(next - at).Seconds()
		at = next
	}
	curve := &profiles.Curve{}
	for hour := range counts {
		curve.Steps = append(curve.Steps, step(counts[hour], covered[hour], time.Hour, hour == 23))
	}
	return curve
}

// hourOf is the hour of the day, of times since 1970.
func hourOf(t int64) int { return int(t / int64(time.Hour) % 24) }

func step(n, seconds float64, length time.Duration, last bool) profiles.Step {
	rate := round(n / seconds)
	if last {
		rate = max(rate, slowest) // it holds for good
	}
	return profiles.Step{RatePerS: rate, For: length}
}

// variation is the coefficient of variation of the gaps between requests, each
// in units of the mean gap of its hour, so that a rate that changes slowly does
// not count. It is 1 of no gaps when there are few, or when the clock of the log is
// too coarse for its rate.
func (a *arrivals) variation() (cv float64, gaps int) {
	n := len(a.times)
	span := a.times[n-1] - a.times[0]
	if n <= enough || float64(span)/float64(n-1) < 5*float64(a.resolution()) {
		return 1, 0
	}
	var sum, squares float64
	for from := 0; from < n-1; {
		to := from + 1
		for to < n-1 && a.times[to]/int64(time.Hour) == a.times[from]/int64(time.Hour) {
			to++
		}
		if count := to - from; count >= 10 && a.times[to] > a.times[from] {
			mean := float64(a.times[to]-a.times[from]) / float64(count)
			for i := from; i < to; i++ {
				gap := float64(a.times[i+1]-a.times[i]) / mean
				sum += gap
				squares += gap * gap
				gaps++
			}
		}
		from = to
	}
	if gaps < enough {
		return 1, 0
	}
	mean := sum / float64(gaps)
	return math.Sqrt(max(0, squares/float64(gaps)-mean*mean)) / mean, gaps
}

// resolution is the largest of a second, a millisecond and a microsecond that
// all times are whole numbers of, else a nanosecond.
func (a *arrivals) resolution() time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if !slices.ContainsFunc(a.times, func(t int64) bool { return t%int64(unit) != 0 }) {
			return unit
		}
	}
	return time.Nanosecond
}
