package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
)

// Router policies.
const (
	PolicyPrefixAffinity = "prefix_affinity"
	PolicyLeastLoaded    = "least_loaded"
	PolicyRoundRobin     = "round_robin"
)

// MetricsNone is the value of a provider's metrics that reads none.
const MetricsNone = "none"

// Watched tells whether the provider's endpoints have metrics that are read.
func (p Provider) Watched() bool { return p.Metrics != "" && p.Metrics != MetricsNone }

// Policy is how an endpoint of the provider is picked.
func (p Provider) Policy() string {
	switch {
	case p.Router.Policy != "":
		return p.Router.Policy
	case p.Watched():
		return PolicyPrefixAffinity
	}
	return PolicyLeastLoaded
}

func (c *Config) checkProviders(*collection) error {
	for i, p := range c.Providers {
		for _, check := range []func(*Provider) error{
			(*Provider).checkKind, c.checkEndpoints, (*Provider).checkMetrics,
		} {
			if err := check(&p); err != nil {
				return at(fmt.Errorf("provider %q: %w", p.Name, err), "providers", i)
			}
		}
	}
	return nil
}

// wayTo is where the file has the endpoint at an index.
func (p *Provider) wayTo(i int) []any {
	if p.BaseURL != "" {
		return []any{"base_url"}
	}
	return []any{"endpoints", i}
}

func (c *Config) checkEndpoints(p *Provider) error {
	switch {
	case p.BaseURL != "" && len(p.Endpoints) > 0:
		return at(errors.New("expected either endpoints or base_url, got both"), "base_url")
	case len(p.URLs()) == 0:
		return errors.New("no endpoints, expected URLs like http://10.0.0.5:8000")
	}
	seen := map[string]bool{}
	for i, e := range p.URLs() {
		u, err := ParseEndpoint(e)
		switch {
		case err != nil:
		case seen[u.String()]:
			err = errors.New("appears twice")
		case c.self(u):
			err = errors.New("is the gateway itself: requests would go round in a circle")
		}
		if err != nil {
			return at(fmt.Errorf("endpoint %d: %w", i+1, err), p.wayTo(i)...)
		}
		seen[u.String()] = true
	}
	return nil
}

// self tells whether a URL is the address that the API listens on, as far as that
// can be seen from here.
func (c *Config) self(u *url.URL) bool {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil || port == "0" || u.Port() != port {
		return false
	}
	return host == u.Hostname() || local(u.Hostname()) && (every(host) || local(host))
}

func (p *Provider) checkMetrics() error {
	if err := choice("metrics", p.Metrics, "vllm", "sglang", "trtllm", "llmctl", "auto", MetricsNone); err != nil {
		return err
	}
	if err := choice("router.policy", p.Router.Policy, PolicyPrefixAffinity, PolicyLeastLoaded, PolicyRoundRobin); err != nil {
		return err
	}
	switch {
	case p.MetricsEvery != 0 && !p.Watched():
		return at(errors.New("metrics_every without metrics reads nothing: say whose metrics the endpoints have, such as metrics: auto"), "metrics_every")
	case p.Shed != Shed{} && !p.Watched():
		return at(errors.New("shed goes by the endpoints' metrics: say whose they are, such as metrics: auto"), "shed")
	case p.Router.LoadCap != nil && p.Policy() != PolicyPrefixAffinity:
		return at(fmt.Errorf("router.load_cap is of the policy %s, and this provider has %s", PolicyPrefixAffinity, p.Policy()), "router", "load_cap")
	}
	return nil
}
