package config

import (
	"fmt"
	"slices"
	"strings"
)

// spender is a tenant, or one of its keys, with a budget in $.
type spender struct {
	name   string
	models []string // that it may use; nil means all
}

// spenders are those that have a budget. A key whose tenant has one is covered by
// the tenant's, since its models are among the tenant's.
func (c *Config) spenders() (all []spender) {
	for _, t := range c.Tenants {
		if t.Limits.budgeted() {
			all = append(all, spender{fmt.Sprintf("tenant %q", t.Name), t.Models})
			continue
		}
		for i, k := range t.Keys {
			if !k.Limits.budgeted() {
				continue
			}
			models := t.Models
			if k.Models != nil {
				models = k.Models
			}
			all = append(all, spender{fmt.Sprintf("key %q of tenant %q", k.Label(i), t.Name), models})
		}
	}
	return all
}

func (l Limits) budgeted() bool { return l.USDPerDay > 0 || l.USDPerMonth > 0 }

// unpriced names the deployments that models may lead to and whose whole price is
// not known, each once. Those that are switched off cost nothing.
func (c *Config) unpriced(models []string) (names []string) {
	for _, m := range c.Models {
		if models != nil && !slices.Contains(models, m.Alias) {
			continue
		}
		for _, t := range slices.Concat(m.Targets, m.Fallback) {
			name := fmt.Sprintf("%s/%s (%s)", t.Provider, t.Model, m.Alias)
			if (t.USDPer1M.Input == nil || t.USDPer1M.Output == nil) && t.Share() > 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// unpricedCaches names the embedding models that caches by meaning ask for models, each
// once, and whose price is not known.
func (c *Config) unpricedCaches(models []string) (names []string) {
	for _, m := range c.Models {
		s := m.Cache.Semantic
		if s == nil || !s.Enabled || s.USDPer1M.Input != nil || models != nil && !slices.Contains(models, m.Alias) {
			continue
		}
		names = append(names, fmt.Sprintf("%s/%s (%s)", s.Provider, s.Model, m.Alias))
	}
	return names
}

// budgets warns of budgets that do not count all that is spent. Who is in the same
// position shares a line.
func (w *warnings) budgets() {
	w.uncounted(w.c.unpriced, "what goes to", "give usd_per_1m with input and output there")
	w.uncounted(w.c.unpricedCaches, "embeddings by", "give cache.semantic.usd_per_1m.input there")
}

// uncounted warns of what budgets do not count, which find names for some models.
func (w *warnings) uncounted(find func(models []string) []string, what, remedy string) {
	var order [][]string
	who := map[string][]string{} // by the deployments
	for _, s := range w.c.spenders() {
		missing := find(s.models)
		if len(missing) == 0 {
			continue
		}
		same := strings.Join(missing, " ")
		if who[same] == nil {
			order = append(order, missing)
		}
		who[same] = append(who[same], s.name)
	}
	for _, missing := range order {
		w.add("%s: budgets in $ do not count in full %s %s: %s", someOf(who[strings.Join(missing, " ")]), what, someOf(missing), remedy)
	}
}

// someOf is a list that fits on a line.
func someOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
