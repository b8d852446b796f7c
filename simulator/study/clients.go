package study

import (
	"fmt"
	"math"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// Clients of a closed loop that all begin at once stay together: their prompts are
// computed in one burst, their answers end in one, and when all requests are alike
// that never changes. Times are then those of the burst at the start, and not of
// clients that know nothing of each other. So clients come in one after another,
// evenly over the time that one of their requests takes, unless somebody says
// otherwise.

// Bounds of the time over which clients come in when nobody says.
const (
	leastRamp = time.Second
	mostRamp  = 24 * time.Hour
)

// spreadClients fills in the ramp of a closed loop of which nobody says one.
func (s *Study) spreadClients() {
	a := &s.request.Sizing.Scenario.Workload.Arrival
	if !a.ClosedLoop() || s.rampSaid {
		return
	}
	a.RampUp = 0
	if a.Concurrency+a.Count < 2 {
		return
	}
	a.RampUp = readable(s.clientRound())
	s.assumeLength("concurrency ramp", a.RampUp.String(), "--concurrency-ramp")
}

// clientRound is about how many seconds pass between two requests of a client, all
// of them at work: what a request takes by the closed form of size, and of a user
// the mean time to think.
func (s *Study) clientRound() float64 {
	w := &s.request.Sizing.Scenario.Workload
	at, replicas := 0, 0
	for i, p := range s.pools {
		if p.Kind.Role == "prefill" {
			continue
		}
		if replicas == 0 {
			at = i
		}
		replicas += p.Replicas
	}
	clients := float64(w.Arrival.Concurrency+w.Arrival.Count) / float64(max(1, replicas))
	round := s.served[at].ClosedE2E(max(1, clients))
	if w.Arrival.Process == profiles.Users {
		round += w.Session.Think.Average().Seconds()
	}
	return round
}

// readable rounds seconds up to whole ones, and many of them to two digits.
func readable(seconds float64) time.Duration {
	if !(seconds < mostRamp.Seconds()) {
		return mostRamp
	}
	return max(leastRamp, time.Duration(math.Ceil(nice(seconds)))*time.Second)
}

// inStep is the warning of clients that stay together for ever; nil when they do
// not: requests differ, or clients come in one by one.
func (s *Study) inStep() *record.Warning {
	w := &s.request.Sizing.Scenario.Workload
	a := w.Arrival
	alike := w.Input.Kind == profiles.Fixed && w.Output.Kind == profiles.Fixed && w.Cancel.Fraction == 0 &&
		(a.Process == profiles.Closed || w.Session.Think == profiles.Delay{}) && len(s.request.Sizing.Recorded) == 0
	clients := a.Concurrency + a.Count
	if !a.ClosedLoop() || !alike || clients < 2*s.Replicas() {
		return nil
	}
	round := s.clientRound()
	if a.RampUp.Seconds() >= round/2 {
		return nil
	}
	return &record.Warning{Code: "in_step", Text: fmt.Sprintf(
		"the %d clients begin within %s and all send the same lengths, so that they go in step for ever: ttft is that of one burst, not of clients that know nothing of each other; leave out --concurrency-ramp, or give %s or more",
		clients, a.RampUp, readable(round))}
}
