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
}

// The trend is certain when, over the second half of all time so far, fewer than
// half as many requests ended as were sent, while those that wait became nearly
// twice as many and are many; and it pays when most of the run is still to come.
const (
	leastWaiting  = 2000
	leastWatched  = 60 * time.Second
	leastMeasured = 30 * time.Second // of it after the warm-up, so that there is something to report
	overload      = 2                // requests sent ÷ ended
	waitingGrowth = 1.7              // over a doubling of time
	stillToCome   = 2                // times the time so far
)

// mostOpen is how many requests may be in flight: each takes about a kilobyte.
const mostOpen = 2_000_000

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
	if p.Open <= mostOpen {
		return false
	}
	e.done = true
	e.warnings = append(e.warnings, record.Warning{Code: record.Aborted, Text: fmt.Sprintf(
		"the simulation was ended after %s: %s requests had been sent and %s of them were in flight, of which a simulation holds at most %s; give less load or more replicas",
		p.Now.Round(time.Millisecond), units.Count(p.Sent), units.Count(int64(p.Open)), units.Count(mostOpen))})
	return true
}

// hopeless reports that going on would show nothing more, and says so.
func (e *earlyEnd) hopeless(p simulator.Progress) bool {
	if !e.study.mayEnd() || e.done {
		return false
	}
	if n := len(e.marks); n == 0 || p.Now-e.marks[n-1].at >= time.Second {
		e.marks = append(e.marks, mark{p.Now, p.Sent, e.ended, p.Open - p.Running})
	}
	now := e.marks[len(e.marks)-1]
	length := e.study.request.Length
	if now.at < max(leastWatched, length.Warmup+leastMeasured) || now.waiting < leastWaiting {
		return false
	}
	half := e.at(now.at / 2)
	sent, ended := now.sent-half.sent, now.ended-half.ended
	if sent < overload*ended || float64(now.waiting) < waitingGrowth*float64(half.waiting) {
		return false
	}
	left := length.Warmup + length.Duration - now.at
	if length.Requests > 0 {
		left = time.Duration(float64(length.Requests) / float64(max(now.sent, 1)) * float64(now.at))
	}
	if left < stillToCome*now.at {
		return false
	}
	e.done = true
	over := (now.at - half.at).Seconds()
	growth := float64(now.waiting-half.waiting) / over
	e.warnings = append(e.warnings, record.Warning{Code: record.Aborted, Text: fmt.Sprintf(
		"sending was ended after %s: %s requests came per second and %s ended, so that %s waited and their number grows by %s/s to about %s at the end; give less load or more replicas, or --no-abort to simulate it all",
		now.at.Round(time.Second), units.Number(float64(sent)/over), units.Number(float64(ended)/over), units.Count(int64(now.waiting)), units.Number(growth),
		units.Count(int64(nice(float64(now.waiting)+float64(growth*left.Seconds())))))})
	return true
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

// mayEnd reports whether a run may be ended once it is certain how it goes on.
func (s *Study) mayEnd() bool { return s.request.EndSaturated && s.steady() }

// steady reports whether the load is steady and the cluster stays as it is, so
// that what was seen tells what is to come.
func (s *Study) steady() bool {
	sc := s.request.Sizing.Scenario
	switch sc.Workload.Arrival.Process {
	case profiles.Constant, profiles.Poisson, profiles.Gamma:
	default:
		return false
	}
	return sc.Cluster.Autoscale.Metric == "" && len(sc.Cluster.Failures) == 0 && len(sc.Also) == 0
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
