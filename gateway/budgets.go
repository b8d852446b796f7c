package gateway

import (
	"context"
	"slices"

	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/gateway/store"
	"github.com/llmctl/llmctl/gateway/usage"
)

// cheaper returns the plan without its dearest steps: none, when all cost the same.
func (x *exchange) cheaper(plan []step, t limit.Tokens) (rest []step) {
	most := dearest(plan)(t)
	var out []route.Left
	for _, s := range plan {
		if dearest([]step{s})(t) < most {
			rest = append(rest, s)
			continue
		}
		i, fallback := x.model.place(s.target)
		out = append(out, route.Left{Target: i, Fallback: fallback, Why: route.OverBudget})
	}
	if len(rest) == 0 {
		return nil
	}
	x.left = append(x.left, out...)
	if rest[0].target != plan[0].target {
		rest[0].instead = string(route.OverBudget)
	}
	return rest
}

// place is where a target is among the model's: at is its inverse.
func (m *model) place(t *target) (i int, fallback bool) {
	if t.fallback {
		return slices.Index(m.fallbacks, t), true
	}
	return slices.Index(m.targets, t), false
}

// dearest is what tokens cost at most: at the dearest of the deployments that the
// request may go to. A price that is unknown is none.
func dearest(plan []step) func(limit.Tokens) limit.Money {
	return func(t limit.Tokens) (most limit.Money) {
		tokens := usage.Tokens{Input: t.Input, Output: t.Output}
		for _, s := range plan {
			most = max(most, charge(s.target.price.Cost(tokens)))
		}
		return most
	}
}

// charge is the part of a cost that is known, as the ledger sums it up.
func charge(c usage.Cost) limit.Money {
	input, _ := c.Input.Value()
	output, _ := c.Output.Value()
	return limit.Money(input + output)
}

// seedBudgets tells the limits what the ledger knows to be spent: at the start,
// when budgets are configured anew, and when the store of limits has come back,
// maybe empty. Without it budgets would begin anew, so a failure is logged; it is
// no reason not to serve.
func (g *Gateway) seedBudgets(ctx context.Context, scopes []store.Scope) {
	if g.ledger == nil { // a new one in memory, which knows nothing yet
		return
	}
	var bounded []store.Scope
	for _, s := range scopes {
		if s.Budgets != (limit.Budgets{}) {
			bounded = append(bounded, s)
		}
	}
	if len(bounded) == 0 {
		return
	}
	spending, err := g.ledger.Spending(ctx, g.now())
	for _, s := range bounded {
		if err != nil {
			break
		}
		spent := spending.Tenants[s.Tenant]
		if s.Key != "" {
			spent = spending.Keys[usage.KeyName{Tenant: s.Tenant, Key: s.Key}]
		}
		err = g.limits.Seed(ctx, s.Account, limit.Money(spent.Day), limit.Money(spent.Month))
	}
	if err != nil {
		g.log.Warn("budgets: what was spent before is not known", "cause", err.Error())
	}
}
