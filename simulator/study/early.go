package study

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
)

// earlyEnd sees a load that is far beyond what the cluster serves, and ends
// sending: the rest of the run would show a queue that grows, and each second of
// it takes as long to simulate as the ones before together.
type earlyEnd struct {
	study    *Study
	watch    func(simulator.Progress) simulator.Order
	ended    int64 // requests
	marks    []mark
	done     bool
	warnings []record.Warning
}

// mark is what was seen at one moment.
type mark struct {
	at          time.Duration
	sent, ended int64
	waiting     int
	grows       bool // an autoscaler may add replicas, or some start
}

// The trend is certain when, over the second half of all time so far, fewer than
// half as many requests ended as were sent and will at least come in the time ahead,
// while those that wait became nearly twice as many and are many, in a cluster that
// was then as it will be; and it pays when most of the run is still to come.
const (
	leastWaiting  = 2000
	leastWatched  = 60 * time.Second
	leastMeasured = 30 * time.Second // of it after the warm-up, so that there is something to report
	mostAwaited   = mostWarmup       // of a warm-up for that
	overload      = 2                // requests sent ÷ ended
	waitingGrowth = 1.7              // over a doubling of time
	stillToCome   = 2                // times the time so far

	// mostInFlight ends a run, whatever is to come: so many requests that wait take
	// gigabytes, and whoever is last among them waits for hours.
	mostInFlight = 500_000
)

// mostHeld is how many requests may be in flight, whoever wants to see all of it:
// each takes about a kilobyte.
const mostHeld = 2_000_000

func (e *earlyEnd) saw(r *record.Record) {
	if r.Outcome != record.Cut {
		e.ended++
	}
}

func (e *earlyEnd) order(p simulator.Progress) simulator.Order {
	order := simulator.GoOn
	if e.watch != nil {
		order = e.watch(p)
	}
	if order == simulator.GoOn && !p.Ended && (e.full(p) || e.hopeless(p)) {
		order = simulator.EndAll
	}
	return order
}

// full reports that so many requests are in flight that this machine's memory may not
// hold many more, and says so. Unlike a trend, that ends any run.
func (e *earlyEnd) full(p simulator.Progress) bool {
	if p.Open <= mostHeld {
		return false
	}
	e.done = true
	e.warnings = append(e.warnings, record.Warning{Code: record.Aborted, Text: fmt.Sprintf(
		"the simulation was ended after %s: %s requests had been sent and %s of them were in flight, of which a simulation holds at most %s; give less load or more replicas",
		p.Now.Round(time.Millisecond), units.Count(p.Sent), units.Count(int64(p.Open)), units.Count(mostHeld))})
	return true
}

// hopeless reports that going on would show nothing more, and says so.
func (e *earlyEnd) hopeless(p simulator.Progress) bool {
	if !e.study.request.EndSaturated || e.done {
		return false
	}
	full := p.Open >= mostInFlight+e.study.clients()
	if n := len(e.marks); n == 0 || full || p.Now-e.marks[n-1].at >= time.Second {
		e.marks = append(e.marks, mark{p.Now, p.Sent, e.ended, p.Open - p.Running, p.Growing})
	}
	now := e.marks[len(e.marks)-1]
	half := e.at(now.at / 2)
	switch {
	case full:
		e.tell(now, half, fmt.Sprintf("%s requests were in flight, more than a simulation keeps; ", units.Count(int64(p.Open))))
	case e.certain(now, half):
		e.tell(now, half, "")
	default:
		return false
	}
	e.done = true
	return true
}

// certain reports whether what was seen between two moments goes on to the end.
func (e *earlyEnd) certain(now, half mark) bool {
	warmup := min(e.study.request.Length.Warmup, mostAwaited)
	if now.at < max(leastWatched, warmup+leastMeasured) || now.waiting < leastWaiting || float64(now.waiting) < waitingGrowth*float64(half.waiting) {
		return false
	}
	left := e.left(now)
	if left < stillToCome*now.at || half.grows || now.grows || !e.study.settled(half.at, now.at+left) {
		return false
	}
	sent, ended := now.sent-half.sent, now.ended-half.ended
	comes := e.study.leastAhead(now.at, now.at+left) * (now.at - half.at).Seconds()
	return sent >= overload*ended && comes >= float64(overload*ended)
}

// left is about how much of the run is still to come.
func (e *earlyEnd) left(now mark) time.Duration {
	length := e.study.request.Length
	if length.Requests > 0 {
		return max(0, time.Duration(float64(length.Requests)/float64(max(now.sent, 1))*float64(now.at))-now.at)
	}
	return length.Warmup + length.Duration - now.at
}

// tell warns of why sending was ended.
func (e *earlyEnd) tell(now, half mark, why string) {
	over := (now.at - half.at).Seconds()
	if over <= 0 {
		half, over = mark{}, max(now.at.Seconds(), 1e-9)
	}
	growth := float64(now.waiting-half.waiting) / over
	text := fmt.Sprintf("sending was ended after %s: %s%s requests came per second and %s ended, so that %s waited and their number grows by %s/s",
		units.Seconds(now.at.Round(time.Millisecond).Seconds()), why, units.Number(float64(now.sent-half.sent)/over), units.Number(float64(now.ended-half.ended)/over),
		units.Count(int64(now.waiting)), units.Number(growth))
	if left := e.left(now); left > 0 && growth > 0 {
		text += fmt.Sprintf(" to about %s at the end", units.Count(int64(nice(float64(now.waiting)+float64(growth*left.Seconds())))))
	}
	if now.at < e.study.request.Length.Warmup {
		text += fmt.Sprintf("; the warm-up of %s was not over, so that nothing is measured", e.study.request.Length.Warmup)
	}
	e.warnings = append(e.warnings, record.Warning{Code: record.Aborted, Text: text + "; give less load or more replicas, or --no-abort to simulate it all"})
}

// at is the last mark at or before a time.
func (e *earlyEnd) at(t time.Duration) mark {
	for i := len(e.marks) - 1; i > 0; i-- {
		if e.marks[i].at <= t {
			return e.marks[i]
		}
	}
	return e.marks[0]
}

// steady reports whether the load is steady and the cluster stays as it is, so
// that the closed form tells what is to come.
func (s *Study) steady() bool {
	sc := s.request.Sizing.Scenario
	switch sc.Workload.Arrival.Process {
	case profiles.Constant, profiles.Poisson, profiles.Gamma:
	default:
		return false
	}
	return sc.Cluster.Autoscale.Metric == "" && len(sc.Cluster.Failures) == 0
}

// overrun reports whether a steady load is more than the cluster serves by the
// closed form of size, as far as that knows the cluster: those who wait become more
// and more, and a request that comes after a warm-up may not be served in any run.
func (s *Study) overrun() bool {
	sc := s.request.Sizing.Scenario
	if !s.steady() || sc.Cluster.Gateway != (profiles.Gateway{}) {
		return false
	}
	most := 0.0
	for i, p := range s.pools {
		if p.Kind.Role != "" && p.Kind.Role != "serve" || p.Kind.Serving.Speculative.Tokens > 0 || p.Kind.Slowdown > 0 {
			return false
		}
		most += float64(float64(p.Replicas) * s.served[i].LargestRate())
	}
	return sc.Workload.Arrival.RatePerS > most
}
