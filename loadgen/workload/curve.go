package workload

import (
	"math"
	"sort"
	"time"

	"github.com/llmctl/llmctl/internal/portable"
	"github.com/llmctl/llmctl/profiles"
)

// curve is a rate that changes: until when so many sessions are due. Sessions
// are counted in billionths, so that an answer is the same however sums are
// rounded, and never goes back.
//
//	rate │      ╱‾‾‾‾‾      area until t = n
//	     │    ╱░░│          when(n)      = t
//	     │  ╱░░░░│
//	     └───────┴──── t
type curve interface {
	// when is the latest time until which no more than n are due, so that what
	// is due when a pause begins waits for its end.
	when(n int64) time.Duration
	rate(t time.Duration) float64 // sessions per second
}

// lines are rates that go along straight lines, one after another.
type lines []line

// line is a rate that changes evenly from one value to another. The last line
// goes on for good.
type line struct {
	start    time.Duration
	length   time.Duration
	from, to float64 // per second
	before   int64   // due until start
}

// add appends a line that begins where the last one ends.
func (l lines) add(from, to float64, length time.Duration) lines {
	next := line{length: length, from: from, to: to}
	if len(l) > 0 {
		last := l[len(l)-1]
		next.start = time.Duration(later(int64(last.start), int64(last.length)))
		next.before = later(last.before, last.count(last.length))
	}
	return append(l, next)
}

// newRamp goes from one rate to another and stays there.
func newRamp(a profiles.Arrival, turns float64) lines {
	from, to := a.FromPerS/turns, a.ToPerS/turns
	ramp := lines{}.add(from, to, a.Over)
	return ramp.add(to, to, Never-a.Over)
}

// newSteps has one rate after another.
func newSteps(a profiles.Arrival, turns float64) lines {
	var steps lines
	for _, s := range a.Curve.Steps {
		rate := s.RatePerS / turns
		steps = steps.add(rate, rate, s.For)
	}
	last := &steps[len(steps)-1]
	last.length = Never - last.start
	return steps
}

// count is how many are due in the first x of a line. A rate per second times
// nanoseconds gives billionths.
func (l line) count(x time.Duration) int64 {
	ns := float64(x)
	n := float64(l.from * ns)
	if l.from != l.to {
		n += float64((l.to - l.from) / 2 * ns / float64(l.length) * ns)
	}
	return toTicks(n)
}

func (l lines) at(t time.Duration) line {
	return l[max(0, sort.Search(len(l), func(k int) bool { return l[k].start > t })-1)]
}

func (l lines) rate(t time.Duration) float64 {
	at := l.at(t)
	return at.from + float64((at.to-at.from)*(float64(t-at.start)/float64(at.length)))
}

func (l lines) when(n int64) time.Duration {
	at := l[max(0, sort.Search(len(l), func(k int) bool { return l[k].before > n })-1)]
	n -= at.before
	if at.from == at.to { // and above 0: what follows a pause begins with as much, and is found first
		return time.Duration(later(int64(at.start), toTicks(float64(n)/at.from)))
	}
	return at.start + bisect(at.length, func(x time.Duration) bool { return at.count(x) >= n })
}

// bisect returns the first x in [0, length] from which on reached holds, length
// when it never does. The points it tries depend on the length alone, so that a
// later aim never gives an earlier x, even where reached is noisy.
func bisect(length time.Duration, reached func(time.Duration) bool) time.Duration {
	low, high := time.Duration(0), length
	for low < high {
		middle := low + (high-low)/2
		if reached(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// sine is mean + amplitude·sin(2π·t/period). Its integral is
//
//	mean·t + amplitude·period/π · sin²(π·t/period)
type sine struct {
	mean, amplitude float64 // per second
	period          time.Duration
	perPeriod       int64 // billionths due in one period
}

func newSine(a profiles.Arrival, turns float64) *sine {
	s := &sine{mean: a.RatePerS / turns, amplitude: a.AmplitudePerS / turns, period: a.Period}
	s.perPeriod = toTicks(s.mean * float64(s.period))
	return s
}

// within is how many are due in the first x of a period.
func (s *sine) within(x time.Duration) int64 {
	half := portable.SinPi(float64(x) / float64(s.period))
	return min(s.perPeriod, toTicks(float64(s.mean*float64(x))+float64(s.amplitude*float64(s.period)/math.Pi*half*half)))
}

func (s *sine) rate(t time.Duration) float64 {
	return s.mean + float64(s.amplitude*portable.SinPi(2*float64(t%s.period)/float64(s.period)))
}

func (s *sine) when(n int64) time.Duration {
	periods := n / s.perPeriod
	if periods > (Never-int64(s.period))/int64(s.period) {
		return Never
	}
	rest := n % s.perPeriod
	return time.Duration(periods*int64(s.period)) + bisect(s.period, func(x time.Duration) bool { return s.within(x) >= rest })
}
