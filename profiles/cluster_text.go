package profiles

import (
	"fmt"
	"slices"
	"strings"
)

// Set reads a routing policy and its bound, such as prefix_affinity or
// prefix_affinity:load_cap=1.5; what is not said stays as it is, but the bound of
// another policy.
func (r *Router) Set(text string) error {
	before := *r
	err := setPairs(text, r)
	if r.Policy != before.Policy && r.LoadCap == before.LoadCap && !strings.Contains(text, "load_cap=") {
		r.LoadCap = 0
	}
	return wrapParse("router", text, firstError(err, r.Validate))
}

// String writes the router as Set reads it.
func (r Router) String() string { return sectionText(&r) }

// Set reads settings of the gateway such as in_flight=64,max_queue=1000,timeout=20s;
// what is not said stays as it is.
func (g *Gateway) Set(text string) error {
	return wrapParse("gateway", text, firstError(setPairs(text, g), g.Validate))
}

// Set reads an autoscaler such as queue_depth:target=4,min=1,max=8, or off; what is
// not said stays as it is, but the target of another metric.
func (a *Autoscale) Set(text string) error {
	if strings.TrimSpace(text) == "off" {
		*a = Autoscale{}
		return nil
	}
	before := *a
	err := setPairs(text, a)
	if a.Metric != before.Metric && a.Target == before.Target && !strings.Contains(text, "target=") {
		a.Target = 0
	}
	return wrapParse("autoscale", text, firstError(err, a.Validate))
}

// String writes the autoscaler as Set reads it.
func (a Autoscale) String() string { return sectionText(&a) }

// ParseLimits reads the limits of each tenant, such as rpm=600,input_tpm=200k, or
// off.
func ParseLimits(text string) (l Limits, err error) {
	err = parseSection(text, &l)
	return l, err
}

// String writes the limits as ParseLimits reads them.
func (l Limits) String() string { return sectionText(&l) }

// ParseRetry reads how requests are tried again, such as
// attempts=3,budget=0.1,backoff=100ms, or off.
func ParseRetry(text string) (r Retry, err error) {
	err = parseSection(text, &r)
	return r, err
}

// String writes the retries as ParseRetry reads them.
func (r Retry) String() string { return sectionText(&r) }

// ParseFallback reads a provider that answers in the place of the replicas, such as
// ttft=800ms,tpot=20ms,usd_per_1m_output=0.6, or off.
func ParseFallback(text string) (f Fallback, err error) {
	err = parseSection(text, &f)
	return f, err
}

// String writes the fallback as ParseFallback reads it.
func (f Fallback) String() string { return sectionText(&f) }

// ParseLink reads the link between pools, such as bandwidth=50GB/s,latency=10us.
func ParseLink(text string) (l Link, err error) {
	err = parseSection(text, &l)
	return l, err
}

// String writes the link as ParseLink reads it.
func (l Link) String() string { return sectionText(&l) }

// ParseFailure reads what goes wrong, such as crash:replica=0,at=60s,for=30s,
// slow:replica=1,factor=3 or outage:target=fallback,at=2m.
func ParseFailure(text string) (f Failure, err error) {
	err = parseSection(text, &f)
	return f, err
}

// String writes the failure as ParseFailure reads it.
func (f Failure) String() string { return sectionText(&f) }

// ParsePools reads numbers of replicas by role or by accelerator:
//
//	pools = name "=" replicas { "," name "=" replicas }
//	name  = "prefill" | "decode" | accelerator
//
// such as prefill=2,decode=4 or h100-sxm-80gb=2,l40s-48gb=4.
func ParsePools(text string) ([]Pool, error) {
	var pools []Pool
	err := eachPair(text, func(name, value string) error {
		p := Pool{Name: name}
		if slices.Contains(Roles[1:], name) {
			p.Role = name
		} else {
			if _, err := LoadAccelerator(name); err != nil {
				known := slices.Concat(Roles[1:], AcceleratorNames())
				return unknown("pool", name, known, "expected prefill, decode, or an accelerator")
			}
			p.Accelerator, p.Name = name, poolName(name)
		}
		pools = append(pools, p)
		if err := pools[len(pools)-1].slots()[1].set(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err == nil {
		err = (&Cluster{Pools: pools}).checkPools()
	}
	return pools, wrapParse("pools", text, err)
}

// poolName is an accelerator's name without what a pool's can not have.
func poolName(accelerator string) string {
	name := []byte(accelerator)
	for i, c := range name {
		if !isName(string(c)) {
			name[i] = '-'
		}
	}
	return string(name[:min(len(name), 64)])
}

// firstError is err, else what check finds.
func firstError(err error, check func() error) error {
	if err != nil {
		return err
	}
	return check()
}
