package config

import (
	"errors"
	"fmt"
)

// What a model's Sticky and ResponseModel may be.
const (
	StickyRequest = "request"
	StickyTenant  = "tenant"
	StickySession = "session"

	ResponseUpstream = "upstream"
	ResponseAlias    = "alias"
)

func (c *Config) checkModels(all *collection) error {
	for i, m := range c.Models {
		for _, check := range []func(*Model, *collection) error{
			(*Model).checkTargets, (*Model).checkFallback, (*Model).checkLimits, (*Model).checkCache,
		} {
			if err := check(&m, all); err != nil {
				return at(fmt.Errorf("model %q: %w", m.Alias, err), "models", i)
			}
		}
	}
	return nil
}

func (m *Model) checkLimits(all *collection) error {
	if err := choice("sticky", m.Sticky, StickyRequest, StickyTenant, StickySession); err != nil {
		return err
	}
	if err := choice("response_model", m.ResponseModel, ResponseUpstream, ResponseAlias); err != nil {
		return err
	}
	if err := all.filters.checkList("filters", m.Filters); err != nil {
		return err
	}
	if limit := m.MaxTokens; limit.Cap > 0 && limit.Default > limit.Cap {
		return at(fmt.Errorf("max_tokens.default %d is above cap %d", limit.Default, limit.Cap), "max_tokens", "default")
	}
	return m.checkCeiling()
}

func (m *Model) checkCeiling() error {
	ceiling := m.CostCeiling
	if ceiling == nil {
		return nil
	}
	switch {
	case ceiling.USDPerRequest == 0:
		return at(errors.New("cost_ceiling.usd_per_request is missing, expected an amount like 0.002"), "cost_ceiling")
	case ceiling.UnlessComplexity == 0:
		return at(errors.New("cost_ceiling.unless_complexity is missing, expected a score above 0 and at most 1, like 0.6"), "cost_ceiling")
	}
	for i, t := range m.Targets {
		if t.USDPer1M.Input == nil || t.USDPer1M.Output == nil {
			return at(fmt.Errorf("target %d has no usd_per_1m with input and output, so cost_ceiling cannot tell what it costs", i+1), "targets", i)
		}
	}
	return nil
}

func (m *Model) checkCache(all *collection) error {
	s := m.Cache.Semantic
	if m.Cache.TTL != 0 && !m.Cache.Exact && (s == nil || !s.Enabled) {
		return at(errors.New("cache.ttl without a cache: set cache.exact or cache.semantic"), "cache", "ttl")
	}
	if s == nil {
		return nil
	}
	if s.Enabled && (s.Provider == "" || s.Model == "") {
		return at(errors.New("cache.semantic needs the provider and the model that make its embeddings"), "cache", "semantic")
	}
	if s.Provider == "" {
		return nil
	}
	if err := all.providers.check(s.Provider); err != nil {
		return at(fmt.Errorf("cache.semantic: %w", err), "cache", "semantic")
	}
	if p := (Provider{Kind: all.kinds[s.Provider]}); !p.Embeds() {
		return at(fmt.Errorf("cache.semantic: provider %q is of kind %s, which has no embeddings", s.Provider, p.Protocol()), "cache", "semantic", "provider")
	}
	return nil
}
