package config

import (
	"fmt"
	"net/url"
	"slices"
	"time"
)

// Warnings are what the configuration allows and its author may not expect, one
// line each, in the order of the file.
func (c *Config) Warnings() []string {
	w := &warnings{c: c}
	w.listeners()
	w.store()
	w.unused()
	for _, m := range c.Models {
		w.model(&m)
	}
	w.budgets()
	return w.lines
}

type warnings struct {
	c     *Config
	lines []string
}

func (w *warnings) add(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *warnings) listeners() {
	c := w.c
	if !loopback(c.Listen) && c.TLS.Cert == "" {
		w.add("tls: none, so keys and prompts reach %s in the clear unless something in front ends TLS", c.Listen)
	}
	if p := c.Picker; p.Listen != "" && !loopback(p.Listen) && p.TLS.ClientCA == "" {
		w.add("picker.tls.client_ca: none, so whoever reaches %s can take up the room at the endpoints of %s", p.Listen, p.Provider)
	}
	switch {
	case c.Admin.Listen == "":
		w.add("admin.listen: none, so there are no metrics, no usage and no reload over HTTP")
	case c.Admin.TokenEnv == "" && c.Admin.TLS.ClientCA == "":
		w.add("admin.token_env: none, so whoever is on this machine sees metrics and usage, and nobody can reload over HTTP")
	}
}

// store warns of limits that several gateways would each grant for themselves. One
// that other machines cannot reach is taken for the only one.
func (w *warnings) store() {
	s := w.c.Store
	var limited, budgeted bool
	for _, l := range w.c.limits() {
		limited = limited || l.RPM > 0 || l.InputTPM > 0 || l.OutputTPM > 0 || l.Concurrent > 0
		budgeted = budgeted || l.budgeted()
	}
	if (s.Limits == "" || s.Limits == StoreMemory) && limited && !loopback(w.c.Listen) {
		w.add("limits are per instance: store.limits is memory, so n gateways allow n times each limit; a redis:// URL shares them")
	}
	if s.Usage != StoreNone {
		return
	}
	w.add("store.usage: none, so usage is not kept")
	if budgeted {
		w.add("budgets in $ begin anew at each start, since store.usage is none")
	}
}

// limits are those of all tenants and keys.
func (c *Config) limits() (all []Limits) {
	for _, t := range c.Tenants {
		all = append(all, t.Limits)
		for _, k := range t.Keys {
			all = append(all, k.Limits)
		}
	}
	return all
}

// unused warns of what is named and then used nowhere, which a typing error in
// another place can be the reason for.
func (w *warnings) unused() {
	providers, flags, filters := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range w.c.Models {
		for _, t := range slices.Concat(m.Targets, m.Fallback) {
			providers[t.Provider], flags[t.Flag] = true, true
		}
		for _, f := range m.Filters {
			filters[f] = true
		}
		if m.Cache.Semantic != nil {
			providers[m.Cache.Semantic.Provider] = true
		}
	}
	providers[w.c.Picker.Provider] = true
	for _, f := range w.c.Flags {
		if !flags[f.Name] {
			w.add("flag %q is used by no target", f.Name)
		}
	}
	for _, f := range w.c.Filters {
		if !filters[f.Name] {
			w.add("filter %q is used by no model", f.Name)
		}
	}
	for _, p := range w.c.Providers {
		if !providers[p.Name] {
			w.add("provider %q is used by no model", p.Name)
		}
		if p.KeyEnv != "" && slices.ContainsFunc(p.URLs(), inTheClear) {
			w.add("provider %q: its key is sent over http:// in the clear", p.Name)
		}
		if p.InFlight == 0 && p.Shed == (Shed{}) && (p.MaxQueue != 0 || p.QueueTimeout != 0) {
			w.add("provider %q: without in_flight or shed, only requests for endpoints that are left alone for a while ever wait in its queue", p.Name)
		}
	}
}

func inTheClear(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Scheme == "http" && !local(u.Hostname())
}

func (w *warnings) model(m *Model) {
	w.timeouts(m)
	all := slices.Concat(m.Targets, m.Fallback)
	for _, class := range w.c.AllClasses() {
		serves := func(t Target) bool {
			return (t.Weight == nil || *t.Weight > 0) && (t.Classes == nil || slices.Contains(t.Classes, class.Name))
		}
		if !slices.ContainsFunc(all, serves) {
			w.add("model %q: no target serves the class %q", m.Alias, class.Name)
		}
	}
	for _, t := range all {
		for _, word := range t.Capabilities {
			if meant := meantCapability(word); meant != "" {
				w.add("model %q: %s of %s: no request asks for the capability %q unless a header names it, did you mean %q?", m.Alias, t.Model, t.Provider, word, meant)
			}
		}
	}
}

// timeouts warns of those that never come.
func (w *warnings) timeouts(m *Model) {
	total := m.Timeouts.WithDefaults().Total
	for _, t := range []struct {
		key   string
		value Duration
	}{{"first_token", m.Timeouts.FirstToken}, {"idle", m.Timeouts.Idle}} {
		if t.value > total {
			w.add("model %q: timeouts.%s %v never comes, since timeouts.total is %v", m.Alias, t.key, time.Duration(t.value), time.Duration(total))
		}
	}
}
