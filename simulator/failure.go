package simulator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llmctl/llmctl/profiles"
)

// planFailures has happen what goes wrong with replicas. Outages are the front's.
func (s *sim) planFailures() {
	for i := range s.config.Cluster.Failures {
		f := &s.config.Cluster.Failures[i]
		switch f.Kind {
		case "crash":
			s.agenda.plan(f.At, crash{f})
		case "slow":
			s.agenda.plan(f.At, slow{f})
			if f.For > 0 {
				s.agenda.plan(f.At+f.For, slow{f})
			}
		}
	}
}

// broken is the replica that a failure is of; nil when there is none by now.
func (s *sim) broken(f *profiles.Failure) *replica {
	if f.Replica >= len(s.front.replicas) || s.front.replicas[f.Replica].life.left {
		return nil
	}
	return s.front.replicas[f.Replica]
}

// crash is a replica's process that dies: the requests it had are lost, and so is
// its cache. It is paid for all the same.
type crash struct{ f *profiles.Failure }

func (c crash) happen(s *sim) {
	p := s.broken(c.f)
	if p == nil || p.state == down {
		return
	}
	drained, unborn := p.state == draining, p.state == starting
	s.tell(p, Crashes)
	s.stop(p)
	lost := p.requests
	p.requests = nil
	for _, key := range slices.Sorted(maps.Keys(lost)) {
		lost[key].catchUp(p, p.steps.Next())
		s.front.lost(lost[key])
	}
	s.noteFleet()
	switch {
	case drained: // it was to go anyway
		s.leave(p)
	case c.f.For > 0:
		s.agenda.plan(s.now+c.f.For, revival{p, unborn})
	}
}

// revival is a crashed replica that is back, with nothing in its cache. One that had
// not started yet begins to start anew.
type revival struct {
	p        *replica
	starting bool
}

func (r revival) happen(s *sim) {
	switch {
	case r.p.life.left:
	case r.starting:
		s.boot(s.renew(r.p), s.config.Cluster.Autoscale.StartDelay)
	default:
		s.begin(s.renew(r.p))
	}
}

// slow changes the pace of a replica; the step that runs keeps its own.
type slow struct{ f *profiles.Failure }

func (c slow) happen(s *sim) {
	if p := s.broken(c.f); p != nil {
		p.life.factor = s.slowness(p.index)
	}
}

// slowness is the factor on the time of steps in a replica's place by the failures
// that are in force there now. It is of the place: a replica that is born into it is
// slow, too.
func (s *sim) slowness(place int) float64 {
	factor := 1.0
	for i := range s.config.Cluster.Failures {
		f := &s.config.Cluster.Failures[i]
		if f.Kind == "slow" && f.Replica == place && s.now >= f.At && (f.For == 0 || s.now < f.At+f.For) {
			factor = min(max(factor*f.Factor, leastPace), mostPace)
		}
	}
	return factor
}

// The bounds of factors together: many failures at once must neither have time
// stand still nor a step take none.
const leastPace, mostPace = 1e-4, 1e6

// pace is the factor on the time of a replica's steps.
func (p *replica) pace() float64 {
	pace := 1.0
	if p.kind.Slowdown > 0 {
		pace = p.kind.Slowdown
	}
	if p.life.factor > 0 {
		pace *= p.life.factor
	}
	return min(max(pace, leastPace), mostPace)
}

// checkFailures reports a failure that can not happen.
func (c *Config) checkFailures(replicas int) error {
	for i, f := range c.Cluster.Failures {
		switch {
		case f.Kind != "crash" && f.Kind != "slow" && f.Kind != "outage":
			return fmt.Errorf("failure %d: kind %q, expected crash, slow or outage", i+1, f.Kind)
		case f.At < 0 || f.For < 0:
			return fmt.Errorf("failure %d: at %v for %v, expected no time below 0", i+1, f.At, f.For)
		case f.Kind == "slow" && !(f.Factor > 0):
			return fmt.Errorf("failure %d: factor %g on the time of steps, expected more than 0", i+1, f.Factor)
		case f.Kind != "outage" && (f.Replica < 0 || f.Replica >= replicas):
			return fmt.Errorf("failure %d: replica %d, expected one from 0 to %d", i+1, f.Replica, replicas-1)
		}
	}
	return nil
}
