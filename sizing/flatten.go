package sizing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

// flatten turns the arrivals of a workload into what a plan knows: a constant
// rate of random arrivals, or a number of requests in flight. A rate that changes
// is planned for its peak, users as if none of them thought.
func (s *situation) flatten(r Request) (Request, error) {
	w := &r.Scenario.Workload
	if err := w.Validate(); err != nil {
		return r, fmt.Errorf("workload %w", err)
	}
	if w.Trace != (profiles.Trace{}) && len(r.Recorded) == 0 {
		return r, fmt.Errorf("the requests of the trace %s are not at hand: a plan needs their lengths; give --isl and --osl in its place", w.Trace.File)
	}
	if w.Trace != (profiles.Trace{}) && w.Arrival == (profiles.Arrival{}) {
		w.Arrival.Process = profiles.TraceArrival
	}
	a := w.Arrival
	if a.CV > 1 {
		s.warn("bursts", "gaps with a coefficient of variation of %g come in bursts, and the plan's queues are of Poisson arrivals, whose is 1: waits will be longer than forecast; plan for the rate of a burst, or measure with llmctl bench", a.CV)
	}
	peak := a.Peak()
	switch a.Process {
	case profiles.Sine:
		if a.RatePerS == 0 {
			return r, fmt.Errorf("sine arrivals need a rate; give one with --rps")
		}
		fallthrough
	case profiles.Ramp, profiles.Steps:
		s.warn("peak-rate", "the rate changes (%s), and the plan is for its peak of %s: --load-profile says what the hours below it cost", a.Words(), perSecond(peak))
	case profiles.TraceArrival:
		if peak = busiest(r.Recorded, cmp.Or(a.Speed, 1)); peak == 0 {
			return r, fmt.Errorf("the trace %s has no times, or all of its requests at one; say the load with --rps and --arrival poisson, or with --concurrency", w.Trace.File)
		}
		s.warn("peak-rate", "the trace is planned for its busiest minute, of %s", perSecond(peak))
	case profiles.Users:
		s.users = a.Count
		w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: a.Count}
		s.think, w.Session.Think = w.Session.Think.Average(), profiles.Delay{}
		return r, nil
	case profiles.Closed:
		w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: a.Concurrency}
		return r, nil
	case profiles.Poisson, profiles.Constant, "":
		return r, nil
	}
	w.Arrival = profiles.Arrival{Process: profiles.Poisson, RatePerS: peak}
	return r, nil
}

func perSecond(rate float64) string { return figure(rate) + "/s" }

// busyWindow is the time over which the peak of a trace is taken: a minute is
// what a queue of seconds can not average out.
const busyWindow = time.Minute

// busiest is the largest rate of requests in any minute of a replayed trace, in
// requests per second; 0 when it has no times. A session counts with all its
// requests when it begins.
func busiest(sessions []workload.Session, speed float64) float64 {
	type arrival struct {
		at    float64
		turns int
	}
	arrivals := make([]arrival, 0, len(sessions))
	for _, session := range sessions {
		arrivals = append(arrivals, arrival{session.Offset.Seconds() / speed, len(session.Turns)})
	}
	slices.SortFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	if len(arrivals) == 0 || arrivals[len(arrivals)-1].at == arrivals[0].at {
		return 0
	}
	window := min(busyWindow.Seconds(), arrivals[len(arrivals)-1].at-arrivals[0].at)
	most, inside, first := 0, 0, 0
	for _, a := range arrivals {
		inside += a.turns
		for a.at-arrivals[first].at >= window {
			inside -= arrivals[first].turns
			first++
		}
		most = max(most, inside)
	}
	return float64(most) / window
}

// warnOfParts says which parts of a workload a plan does not tell apart.
func (s *situation) warnOfParts(w profiles.Workload) {
	if len(w.Models) > 1 {
		names := make([]string, 0, len(w.Models))
		for name := range w.Models {
			names = append(names, fmt.Sprintf("%s %g%%", name, 100*w.Models[name]))
		}
		slices.Sort(names)
		s.warn("models", "the workload goes to %d models (%s), and the plan serves all of it with %s: plan each with its share of the load", len(names), strings.Join(names, ", "), s.model.Name)
	}
	if w.Cancel.Fraction > 0 {
		s.warn("cancelled", "%g%% of the requests are abandoned, and the plan has them stay to the end: it takes more hardware than they do", 100*w.Cancel.Fraction)
	}
	if share := max(w.Tools, w.Schema); share > 0 {
		s.warn("structured-output", "%g%% of the requests offer tools or demand JSON: count the tokens of the definitions in --isl; the time of constrained decoding is not planned for", 100*share)
	}
}

// warnOfUsers says how many users are in flight at once. By Little's law it is
// the share of a user's round, answer and thinking, that the answer takes.
func (s *situation) warnOfUsers(q *Performance) {
	if s.users == 0 || s.think == 0 {
		return
	}
	flying := max(1, int(float64(s.users)*q.E2E.Mean/(q.E2E.Mean+s.think.Seconds())))
	s.warn("users", "the %d users are planned as if all were in flight at once; with %s of thinking between answers of %s about %d are: --concurrency %d plans for these",
		s.users, s.think, duration(q.E2E.Mean).Round(time.Millisecond), flying, flying)
}
