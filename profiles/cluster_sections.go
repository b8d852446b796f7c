package profiles

import (
	"encoding/json"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

// The words that settings of a cluster may be.
var (
	Roles            = []string{"serve", "prefill", "decode"}
	RouterPolicies   = []string{"least_loaded", "round_robin", "prefix_affinity"}
	AutoscaleMetrics = []string{"queue_depth", "kv_usage", "utilization"}
	FailureKinds     = []string{"crash", "slow", "outage"}
	OutageTargets    = []string{"replicas", "fallback"}
)

// longestTime bounds the times of a cluster: no simulation is as long.
const longestTime = 30 * 24 * time.Hour

func (c *Cluster) form() form { return form{what: "cluster"} }

func (c *Cluster) slots() []slot {
	return []slot{
		{name: "replicas", to: &c.Replicas, as: count(1, 100_000)},
		{name: "pools", to: list[Pool, *Pool]{&c.Pools}},
		{name: "router", to: inside{&c.Router}},
		{name: "gateway", to: inside{&c.Gateway}},
		{name: "link", to: inside{&c.Link}},
		{name: "autoscale", to: inside{&c.Autoscale}},
		{name: "failures", to: list[Failure, *Failure]{&c.Failures}},
	}
}

// IsZero reports a cluster of which nothing was said.
func (c Cluster) IsZero() bool { return !said(&c) }

// Over returns c with what it leaves unsaid taken from base. Each section is taken
// as a whole, and pools leave no place for a number of replicas.
func (c Cluster) Over(base Cluster) Cluster {
	switch {
	case len(c.Pools) > 0:
		base.Replicas = 0
	case c.Replicas > 0:
		base.Pools = nil
	}
	overlay(&c, &base)
	return c
}

// MarshalJSON writes what was said, with units in the keys.
func (c Cluster) MarshalJSON() ([]byte, error) { return json.Marshal(sectionJSON(&c)) }

func (p *Pool) form() form { return form{what: "a pool"} }

func (p *Pool) slots() []slot {
	return []slot{
		{name: "name", to: &p.Name},
		{name: "replicas", to: &p.Replicas, as: count(1, 100_000)},
		{name: "role", to: &p.Role, words: Roles},
		{name: "accelerator", to: &p.Accelerator},
		{name: "engine", to: &p.Engine},
		{name: "parallel", to: degrees{&p.Parallel}},
		{name: "serving", to: part{&p.Serving}},
		{name: "slowdown", to: &p.Slowdown, as: amount(0.01, 1000)},
	}
}

func (r *Router) form() form { return form{what: "router", lead: true} }

func (r *Router) slots() []slot {
	return []slot{
		{name: "policy", to: &r.Policy, words: RouterPolicies},
		{name: "load_cap", to: &r.LoadCap, as: loadCap},
	}
}

// loadCap is a factor on the mean load, or none, which is −1.
var loadCap = measure{
	low: -1, high: 1000,
	parse: func(s string) (float64, error) {
		if s == "none" {
			return -1, nil
		}
		v, err := number(s)
		if err == nil && !(v >= 1) {
			err = fmt.Errorf("%s is no factor of at least 1 on the mean load, and not none", s)
		}
		return v, err
	},
	format: func(v float64) string {
		if v < 0 {
			return "none"
		}
		return formatNumber(v)
	},
}

func (g *Gateway) form() form { return form{what: "gateway"} }

func (g *Gateway) slots() []slot {
	return []slot{
		{name: "limits", to: inside{&g.Limits}},
		{name: "max_queue", to: &g.MaxQueue, as: count(1, 1<<30)},
		{name: "in_flight", to: &g.InFlight, as: count(1, 1<<20)},
		{name: "timeout", to: &g.Timeout, as: above0(period(longestTime))},
		{name: "retry", to: inside{&g.Retry}},
		{name: "fallback", to: inside{&g.Fallback}},
		{name: "propagate_cancel", to: &g.PropagateCancel, words: onOff},
	}
}

func (l *Limits) form() form { return form{what: "limits", off: true} }

func (l *Limits) slots() []slot {
	return []slot{
		{name: "rpm", to: &l.RPM, as: count(1, 1e12)},
		{name: "input_tpm", to: &l.InputTPM, as: count(1, 1e15)},
		{name: "output_tpm", to: &l.OutputTPM, as: count(1, 1e15)},
		{name: "concurrent", to: &l.Concurrent, as: count(1, 1e9)},
	}
}

func (r *Retry) form() form { return form{what: "retry", off: true} }

func (r *Retry) slots() []slot {
	return []slot{
		{name: "attempts", to: &r.Attempts, as: count(1, 100)},
		{name: "budget", to: &r.Budget, as: above0(amount(0, 100))},
		{name: "backoff", to: &r.Backoff, as: period(time.Hour)},
	}
}

func (f *Fallback) form() form { return form{what: "fallback", off: true} }

func (f *Fallback) slots() []slot {
	return []slot{
		{name: "ttft", to: &f.TTFT, as: above0(period(time.Hour))},
		{name: "tpot", to: &f.TPOT, as: above0(period(time.Hour))},
		{name: "concurrent", to: &f.Concurrent, as: count(1, 1<<30)},
		{name: "usd_per_1m_input", to: &f.USDPer1MIn, as: amount(0, 1e6)},
		{name: "usd_per_1m_output", to: &f.USDPer1MOut, as: amount(0, 1e6)},
		{name: "when_saturated", to: &f.WhenSaturated},
	}
}

func (l *Link) form() form { return form{what: "link", off: true} }

func (l *Link) slots() []slot {
	return []slot{
		{name: "bandwidth", to: &l.BandwidthPerS, as: bandwidth},
		{name: "latency", to: &l.Latency, as: period(time.Minute)},
	}
}

func (a *Autoscale) form() form { return form{what: "autoscale", lead: true, off: true} }

func (a *Autoscale) slots() []slot {
	return []slot{
		{name: "metric", to: &a.Metric, words: AutoscaleMetrics},
		{name: "target", to: &a.Target, as: above0(amount(0, 1e6))},
		{name: "min", to: &a.Min, as: count(1, 100_000)},
		{name: "max", to: &a.Max, as: count(1, 100_000)},
		{name: "interval", to: &a.Interval, as: above0(period(longestTime))},
		{name: "start_delay", to: &a.StartDelay, as: period(longestTime)},
		{name: "scale_down", to: &a.ScaleDown, as: above0(period(longestTime))},
	}
}

func (f *Failure) form() form { return form{what: "a failure", lead: true} }

func (f *Failure) slots() []slot {
	return []slot{
		{name: "kind", to: &f.Kind, words: FailureKinds},
		{name: "replica", to: &f.Replica, as: count(0, 1<<30), always: f.Kind == "crash" || f.Kind == "slow"},
		{name: "target", to: &f.Target, words: OutageTargets},
		{name: "at", to: &f.At, as: period(longestTime), always: f.Kind != ""},
		{name: "for", to: &f.For, as: above0(period(longestTime))},
		{name: "factor", to: &f.Factor, as: amount(0.01, 1000)},
	}
}

// degrees are the parallel degrees of a pool as a nested value.
type degrees struct{ to *Parallel }

func (d degrees) readYAML(node *yaml.Node) error { return d.to.readYAML(node) }
func (d degrees) mapping() mapping               { return d.to.yaml() }
func (d degrees) json() any                      { return *d.to }
func (d degrees) said() bool                     { return *d.to != Parallel{} }
func (d degrees) over(base nested)               { *d.to = d.to.Over(*base.(degrees).to) }

// part is the serving of a pool, which the scenario's completes: only its ranges
// can be checked by itself.
type part struct{ *Serving }

func (p part) readYAML(node *yaml.Node) error { return readSection(node, unchecked(p)) }
func (p part) mapping() mapping               { return sectionMapping(p.Serving) }
func (p part) json() any                      { return sectionJSON(p.Serving) }
func (p part) said() bool                     { return said(p.Serving) }
func (p part) over(base nested)               { overlay(p.Serving, base.(part).Serving) }

// unchecked is a serving whose contradictions are looked for once it is complete.
type unchecked struct{ *Serving }

func (u unchecked) Validate() error { return u.checkRanges() }
