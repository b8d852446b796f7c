package config

import (
	"errors"
	"reflect"
)

// Validate checks what the shape of the file does not say: references, ranges,
// names that appear twice, and settings that contradict each other or do nothing.
// Errors are one line, and quote no value that may hold a secret.
func (c *Config) Validate() error {
	if err := checkRanges("", reflect.ValueOf(*c)); err != nil {
		return err
	}
	if err := c.Segments.check(); err != nil {
		return at(err, "segments", "excerpt")
	}
	all, err := c.collect()
	if err != nil {
		return err
	}
	for _, check := range []func(*collection) error{
		c.checkListeners, c.checkStore, c.checkTraces, c.checkFlags, c.checkFilters, c.checkProviders, c.checkModels, c.checkTenants, c.checkPicker,
	} {
		if err := check(all); err != nil {
			return err
		}
	}
	return nil
}

// collection is every name that keys refer to.
type collection struct {
	classes, flags, filters, tenants, providers, aliases names

	kinds map[string]string // of providers
}

func (c *Config) collect() (*collection, error) {
	all := &collection{kinds: map[string]string{}}
	var errs [6]error
	all.tenants, errs[0] = namesOf("tenant", "tenants", "name", c.Tenants, func(t Tenant) string { return t.Name })
	all.providers, errs[1] = namesOf("provider", "providers", "name", c.Providers, func(p Provider) string { return p.Name })
	all.aliases, errs[2] = namesOf("model", "models", "alias", c.Models, func(m Model) string { return m.Alias })
	all.classes, errs[3] = namesOf("class", "classes", "name", c.AllClasses(), func(c Class) string { return c.Name })
	all.flags, errs[4] = namesOf("flag", "flags", "name", c.Flags, func(f Flag) string { return f.Name })
	all.filters, errs[5] = namesOf("filter", "filters", "name", c.Filters, func(f Filter) string { return f.Name })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	switch {
	case len(c.Tenants) == 0:
		return nil, errors.New("tenants is empty, expected at least one with a key")
	case len(c.Providers) == 0:
		return nil, errors.New("providers is empty, expected at least one")
	case len(c.Models) == 0:
		return nil, errors.New("models is empty, expected at least one")
	}
	for _, p := range c.Providers {
		all.kinds[p.Name] = p.Kind
	}
	return all, nil
}
