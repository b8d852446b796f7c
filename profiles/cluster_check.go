package profiles

import (
	"errors"
	"fmt"
	"time"
)

// Validate reports the first part of a cluster that is out of range or that
// contradicts another.
func (c *Cluster) Validate() error {
	if err := checkSlots(c); err != nil {
		return err
	}
	if err := c.checkPools(); err != nil {
		return fmt.Errorf("pools: %w", err)
	}
	for _, s := range []section{&c.Router, &c.Gateway, &c.Link, &c.Autoscale} {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("%s: %w", s.form().what, err)
		}
	}
	for i := range c.Failures {
		if err := c.Failures[i].Validate(); err != nil {
			return fmt.Errorf("failures: %w", err)
		}
	}
	return c.contradiction()
}

// contradiction reports two parts of which one would have no effect.
func (c *Cluster) contradiction() error {
	a := c.Autoscale
	first := c.Replicas
	if len(c.Pools) > 0 {
		first = max(1, c.Pools[0].Replicas)
	}
	switch {
	case c.Replicas > 0 && len(c.Pools) > 0:
		return fmt.Errorf("replicas %d stand beside pools, which have replicas of their own; leave one of them out", c.Replicas)
	case c.Link != Link{} && len(c.Pools) == 0:
		return errors.New("link carries caches between a prefill and a decode pool, and there are no pools; add them, or leave link out")
	case a.Metric != "" && first > 0 && (first < max(1, a.Min) || first > a.Max):
		return fmt.Errorf("autoscale: %d replicas to begin with are outside of min %d to max %d", first, max(1, a.Min), a.Max)
	}
	return c.checkFailures()
}

// checkPools holds the pools against each other.
func (c *Cluster) checkPools() error {
	names, roles := map[string]bool{}, map[string]int{}
	for i := range c.Pools {
		p := &c.Pools[i]
		if err := p.Validate(); err != nil {
			return err
		}
		if p.Name != "" && names[p.Name] {
			return fmt.Errorf("%q is the name of two", p.Name)
		}
		names[p.Name] = true
		roles[or(p.Role, "serve")]++
	}
	switch prefill, decode := roles["prefill"], roles["decode"]; {
	case prefill > 0 && decode == 0:
		return errors.New("a prefill pool needs a decode pool that goes on with its requests")
	case decode > 0 && prefill == 0:
		return errors.New("a decode pool needs a prefill pool that its requests come from")
	case prefill > 0 && roles["serve"] > 0:
		return errors.New("one that serves requests whole stands beside prefill and decode pools; say the role of each")
	}
	return nil
}

// checkFailures finds failures of what there is not.
func (c *Cluster) checkFailures() error {
	there := c.largest()
	for _, f := range c.Failures {
		switch {
		case f.Kind == "outage" && f.Target == "fallback" && c.Gateway.Fallback.TTFT == 0:
			return errors.New("failures: an outage of the fallback, and the gateway has none; say its ttft and tpot in gateway: fallback")
		case f.Kind != "outage" && there > 0 && f.Replica >= there:
			return fmt.Errorf("failures: replica %d does not exist; there are %d, counted from 0", f.Replica, there)
		}
	}
	return nil
}

// largest is the number of replicas that there may be; 0 when it is not said.
func (c *Cluster) largest() int {
	n := c.Replicas
	for i, p := range c.Pools {
		if i == 0 {
			n += max(1, p.Replicas, c.Autoscale.Max)
		} else {
			n += max(1, p.Replicas)
		}
	}
	return max(n, c.Autoscale.Max)
}

// Validate reports the first value of a pool out of range. Its serving is checked
// in Scenario.Validate, where what it leaves unsaid is known.
func (p *Pool) Validate() error {
	if err := checkSlots(p); err != nil {
		return err
	}
	if p.Name != "" && !isName(p.Name) {
		return fmt.Errorf("name %q is not one of letters, digits, - and _", p.Name)
	}
	if err := p.Parallel.Validate(); err != nil {
		return fmt.Errorf("parallel: %w", err)
	}
	if err := p.Serving.checkRanges(); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// Validate reports a policy that is none, or a bound that has no policy.
func (r *Router) Validate() error {
	if err := checkSlots(r); err != nil {
		return err
	}
	switch {
	case r.LoadCap != 0 && r.Policy == "":
		return errors.New("load_cap bounds prefix_affinity: say policy: prefix_affinity")
	case r.LoadCap > 0 && r.LoadCap < 1:
		return fmt.Errorf("load_cap %v is no factor of at least 1 on the mean load", r.LoadCap)
	}
	return nil
}

// Validate reports the first part of a gateway that is out of range or has no
// effect without another.
func (g *Gateway) Validate() error {
	if err := checkSlots(g); err != nil {
		return err
	}
	for _, s := range []section{&g.Limits, &g.Retry, &g.Fallback} {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("%s: %w", s.form().what, err)
		}
	}
	if g.Fallback.WhenSaturated && g.MaxQueue == 0 {
		return errors.New("fallback: when_saturated has no effect: the gateway sheds only where max_queue bounds those who wait")
	}
	return nil
}

// Validate reports the first limit out of range.
func (l *Limits) Validate() error { return checkSlots(l) }

// Validate reports the first value out of range, or that nothing is tried again.
func (r *Retry) Validate() error {
	if err := checkSlots(r); err != nil {
		return err
	}
	if r.Attempts < 2 && (r.Budget > 0 || r.Backoff > 0) {
		return errors.New("nothing is tried again: say attempts of 2 or more")
	}
	return nil
}

// Validate reports the first value out of range, or half a fallback.
func (f *Fallback) Validate() error {
	if err := checkSlots(f); err != nil {
		return err
	}
	if *f != (Fallback{}) && (f.TTFT == 0 || f.TPOT == 0) {
		return errors.New("a fallback needs ttft and tpot, the times that it answers in")
	}
	return nil
}

// Validate reports the first value out of range.
func (l *Link) Validate() error { return checkSlots(l) }

// LeastScaleInterval is the shortest time between two decisions of an autoscaler.
// Metrics are not scraped more often than that, and a simulation with a decision at
// every nanosecond would not end.
const LeastScaleInterval = 100 * time.Millisecond

// Validate reports the first value out of range, or half an autoscaler.
func (a *Autoscale) Validate() error {
	if err := checkSlots(a); err != nil {
		return err
	}
	switch {
	case *a == Autoscale{}:
		return nil
	case a.Metric == "":
		return errors.New("autoscale needs a metric: queue_depth, kv_usage or utilization")
	case a.Target == 0:
		return fmt.Errorf("autoscale needs the target of %s per replica", a.Metric)
	case a.Max == 0:
		return errors.New("autoscale needs max, the most replicas that there may be")
	case a.Min > a.Max:
		return fmt.Errorf("min %d is above max %d", a.Min, a.Max)
	case a.Interval > 0 && a.Interval < LeastScaleInterval:
		return fmt.Errorf("interval %v is too short, expected %v or more", a.Interval, LeastScaleInterval)
	case a.Metric != "queue_depth" && a.Target > 1:
		return fmt.Errorf("target %v of %s is a share, expected one up to 1", a.Target, a.Metric)
	}
	return nil
}

// Validate reports the first value out of range, or one that its kind does not have.
func (f *Failure) Validate() error {
	if err := checkSlots(f); err != nil {
		return err
	}
	switch {
	case f.Kind == "":
		return errors.New("a failure needs a kind: crash, slow or outage")
	case f.At < 0 || f.For < 0 || f.Replica < 0:
		return fmt.Errorf("a %s has a value below 0", f.Kind)
	case f.Kind == "slow" && f.Factor == 0:
		return errors.New("slow needs a factor on the time of the replica's steps")
	case f.Kind != "slow" && f.Factor != 0:
		return fmt.Errorf("factor is of slow, not of %s", f.Kind)
	case f.Kind != "outage" && f.Target != "":
		return fmt.Errorf("target is of outage; %s names a replica", f.Kind)
	case f.Kind == "outage" && f.Replica != 0:
		return errors.New("an outage is of all replicas or of the fallback; crash is of one replica")
	}
	return nil
}
