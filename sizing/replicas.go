package sizing

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/units"
)

// resolveReplicas reads how many accelerators there are and how many replicas may
// fail.
func (s *situation) resolveReplicas(r Request) error {
	in := &s.inputs
	if r.Count < 0 || r.Count > 1<<30 {
		return fmt.Errorf("--count %d is outside 1 to 2^30", r.Count)
	}
	if r.Spare < 0 || r.Spare > 1<<20 {
		return fmt.Errorf("--spare %d is outside 0 to 1,048,576", r.Spare)
	}
	in.Count, in.Spare = r.Count, r.Spare
	if r.Count == 0 {
		return nil
	}
	per := in.accelerators()
	replicas := r.Count / per
	if replicas < 1 {
		return fmt.Errorf("--count %d is fewer than the %d accelerators of one replica (tensor %d × pipeline %d × data parallel %d)",
			r.Count, per, in.TensorParallel, in.PipelineParallel, in.DataParallel)
	}
	if r.Spare >= replicas {
		return fmt.Errorf("--spare %d leaves none of the %d replicas that %d accelerators are", r.Spare, replicas, r.Count)
	}
	if left := r.Count % per; left > 0 {
		s.warn("count", "%d of the %d accelerators are left over: a replica takes %d", left, r.Count, per)
	}
	return nil
}

// accelerators is how many one replica takes.
func (in Inputs) accelerators() int { return in.TensorParallel * in.PipelineParallel * in.DataParallel }

// loaded reports whether a load was said.
func (in Inputs) loaded() bool { return in.RPS > 0 || in.Concurrency > 0 }

// targetUtilization is the default: the largest rate of a given number of
// accelerators is all of it. Replicas that a scenario has are loaded as one that
// serves.
func (r Request) targetUtilization() float64 {
	if a := r.Scenario.Workload.Arrival; r.Count > 0 && r.Scenario.Cluster.Replicas == 0 && a.RatePerS == 0 && a.Concurrency == 0 {
		return 1
	}
	return DefaultTargetUtilization
}

// load is how a fleet is loaded.
type load struct {
	replicas   int     // needed and spare, which all take part
	needed     int     // that carry the load when the spare ones have failed
	rate       float64 // per replica
	total      float64 // of the fleet
	operating  state
	perReplica float64 // the largest rate that a replica is planned for
}

// planLoad divides the load among replicas so that each stays within the target
// utilization of its largest rate when as many have failed as may fail; or among
// those that there are.
func planLoad(r replica, in Inputs, maxRate float64) load {
	l := load{needed: 1, perReplica: maxRate * in.TargetUtilization}
	switch {
	case in.Count > 0:
		l.needed = in.Count/in.accelerators() - in.Spare
	case in.loaded():
		l.needed = r.needed(in, maxRate)
	}
	l.replicas = l.needed + in.Spare
	n := float64(l.replicas)
	switch {
	case in.RPS > 0:
		l.total = in.RPS
		l.operating = r.at(l.total / n)
	case in.Concurrency > 0:
		l.operating = r.closedLoop(float64(in.Concurrency) / n)
		l.total = l.operating.rate * float64(r.facts.Pipeline) * n
	default:
		l.total = float64(l.needed) * l.perReplica
		l.operating = r.at(l.total / n)
		// The largest rate may be that of a queue without an end, less what the search
		// for it leaves.
		for range 100 {
			if l.operating.stable {
				break
			}
			l.perReplica *= 0.999
			l.total = float64(l.needed) * l.perReplica
			l.operating = r.at(l.total / n)
		}
	}
	l.rate = l.total / n
	return l
}

// needed is how many replicas of a largest rate a load takes.
func (r replica) needed(in Inputs, maxRate float64) int {
	planned := maxRate * in.TargetUtilization
	if in.RPS > 0 {
		return atLeastOne(in.RPS / planned)
	}
	// By Little's law a replica at its planned rate has rate × latency requests in
	// flight.
	return atLeastOne(float64(in.Concurrency) / (planned * r.at(planned).e2e()))
}

// atLeastOne rounds a number of replicas up. A millionth of a replica too much
// is rounding, not load.
func atLeastOne(n float64) int { return max(1, int(math.Ceil(n-1e-6))) }

// describe fills in the replicas of a fleet.
func (l load) describe(f *Fleet, in Inputs, maxRate float64) {
	f.Replicas, f.RPS = l.replicas, l.total
	f.Accelerators = l.replicas * in.accelerators()
	f.Utilization = l.rate / maxRate
	if in.Spare > 0 {
		f.Needed, f.Spare = l.needed, in.Spare
		f.UtilizationWithFailures = l.total / float64(l.needed) / maxRate
	}
}

// judge says what is wrong with a load on accelerators that are given: beyond
// what they can do at all it is infeasible, and so it is beyond an objective that
// the user has set; it reports whether there are times to show.
func (s *situation) judge(p *Plan, r replica, l load, maxRate float64) bool {
	in := s.inputs
	if in.Count == 0 || !in.loaded() {
		return true
	}
	fleet, breaks := fmt.Sprintf("%d replicas", l.replicas), "break"
	if l.replicas == 1 {
		fleet, breaks = "one replica", "breaks"
	}
	enough := fmt.Sprintf("%d accelerators", atLeastOne(l.total/(maxRate*DefaultTargetUtilization))*in.accelerators())
	if !l.operating.stable {
		most, bound := limits{quantile: s.limits.quantile}.maxRate(r)
		p.Reasons = append(p.Reasons, fmt.Sprintf("%s can not carry %s/s: queues grow beyond %s/s, stopped by %s; %s would carry it at %.0f%% of the largest rate",
			fleet, units.Of(l.total, "request"), units.Of(most*float64(l.replicas), "request"), bound, enough, DefaultTargetUtilization*100))
		return false
	}
	bound := s.limits.stops(r, l.operating)
	switch {
	case bound == "":
	case s.sloGiven:
		p.Reasons = append(p.Reasons, fmt.Sprintf("at %s/s %s %s the %s%s; %s would hold it",
			units.Of(l.total, "request"), fleet, breaks, bound, s.limits.missed(r, l.operating), enough))
	default:
		s.warn("default-slo", "at this load %s %s the default %s%s", fleet, breaks, bound, s.limits.missed(r, l.operating))
	}
	return true
}

// missed words the bounds that a state does not hold.
func (l limits) missed(r replica, st state) string {
	text := ""
	for _, o := range l.objectives() {
		for _, c := range []struct {
			name  string
			bound float64
			got   func() float64
		}{
			{"TTFT", o.ttft, func() float64 { return st.ttftQuantile(o.quantile) }},
			{"TPOT", o.tpot, func() float64 { return st.tpotQuantile(r, o.quantile) }},
			{"E2E", o.e2e, func() float64 { return st.latency(r).quantile(o.quantile) }},
		} {
			if c.bound == 0 {
				continue
			}
			if got := c.got(); got > c.bound {
				text += fmt.Sprintf("; %s p%g is %s against %s", c.name, o.quantile*100, units.Seconds(got), units.Seconds(c.bound))
			}
		}
	}
	return text
}

// tight is the share of a bound from which a lone request leaves hardly any of it.
const tight = 0.9

// warnTight says when a lone request leaves hardly any of a bound to the load: the
// replicas then depend on the last few percent of a forecast.
func (s *situation) warnTight(r replica) {
	idle, l := r.at(idleRate), s.limits
	for _, c := range []struct {
		name  string
		bound float64
		alone func() float64
	}{
		{"TTFT", l.ttft, func() float64 { return idle.ttftQuantile(l.quantile) }},
		{"TPOT", l.tpot, func() float64 { return idle.tpotQuantile(r, l.quantile) }},
		{"E2E", l.e2e, func() float64 { return idle.latency(r).quantile(l.quantile) }},
	} {
		if c.bound == 0 {
			continue
		}
		if alone := c.alone(); alone > tight*c.bound {
			s.warn("tight-slo", "%s p%g is %s for requests that meet no others, against %s: the number of replicas depends on the last few percent of the forecast",
				c.name, l.quantile*100, units.Seconds(alone), units.Seconds(c.bound))
		}
	}
}
