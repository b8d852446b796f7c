package gateway

import (
	"fmt"
	"net/http"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/optional"
)

// account is what the ledger will say of a request, beside what its exchange knows
// anyway.
type account struct {
	allowed int64 // output tokens that the request may have; 0 without a limit
	tries   int   // requests that were sent, or that found no endpoint to take them
	again   *again
}

// again is an answer that was given before.
type again struct {
	by    usage.Saving
	from  *target
	first usage.Tokens // what it used then
	share float64      // of its price that is charged now
}

// price gives every deployment its price.
func (t *table) price(c *config.Config) error {
	for i := range c.Models {
		m := t.models[c.Models[i].Alias]
		for _, list := range []struct {
			configured []config.Target
			targets    []*target
		}{{c.Models[i].Targets, m.targets}, {c.Models[i].Fallback, m.fallbacks}} {
			for j, target := range list.targets {
				p := list.configured[j].USDPer1M
				var err error
				if target.price, err = usage.NewPrice(p.Input, p.CachedInput, p.Output); err != nil {
					return fmt.Errorf("model %q: deployment %q: %w", m.alias, target.name, err)
				}
			}
		}
		if share := c.Models[i].Cache.Charge; share != nil {
			m.hitCharge = *share
		}
	}
	return nil
}

// deployment finds one of the alias by its name; the first one stands in for one
// that a new configuration does not have any more.
func (m *model) deployment(name string) *target {
	for _, list := range [][]*target{m.targets, m.fallbacks} {
		for _, t := range list {
			if t.name == name {
				return t
			}
		}
	}
	return m.targets[0]
}

// repeat notes that the answer is one that was given before, by a deployment and
// for tokens that were counted then. Its tenant is charged no tokens for it, and of
// the price what the alias's cache says; the replay of an idempotency key is free.
func (x *exchange) repeat(by usage.Saving, deployment string, first usage.Tokens) {
	share := x.model.hitCharge
	if by == usage.Replay {
		share = 0
	}
	x.account.again = &again{by: by, from: x.model.deployment(deployment), first: first, share: share}
}

// used is what the tenant is charged for: nothing when the request failed before
// its first output, and for an answer that was given before.
func (x *exchange) used() (t usage.Tokens) {
	if !x.chargeable() {
		return t
	}
	return x.spent.used()
}

// cost is what the tenant is charged, and what was saved. Both can change until
// the request has ended.
func (x *exchange) cost() (usage.Cost, usage.Saved) {
	if a := x.account.again; a != nil {
		saved, cost := usage.Repeated(a.by, a.from.price, a.first, a.share)
		return cost, saved
	}
	var price usage.Price
	if x.try != nil {
		price = x.try.target.price
	}
	tokens := x.used()
	var saved usage.Saved
	if x.outcome() == outcomeClientGone && x.atWork() {
		saved = usage.Cancelled(price, x.account.allowed, tokens.Output)
	}
	return price.Cost(tokens), saved
}

// setCostHeader tells the client what its answer cost, where that is known before
// the header goes out: for answers that come as a whole, and have a price.
func (x *exchange) setCostHeader(h http.Header) {
	cost, _ := x.cost()
	if total, ok := cost.Total().Value(); ok {
		h["X-Llmctl-Response-Cost"] = []string{total.String()}
	}
}

// meter brings the request to the ledger and the metrics. What the gateway turned
// away has used nothing and is kept nowhere.
func (x *exchange) meter(end time.Time) {
	if x.who == nil || x.model == nil || x.reservation == nil && x.account.again == nil {
		return
	}
	r := x.entry(end)
	x.g.metrics.used(r)
	x.g.ledger.Append(r)
}

func (x *exchange) entry(end time.Time) *usage.Record {
	r := &usage.Record{
		RequestID: x.id, At: end,
		Tenant: x.who.tenant.name, Key: x.who.key, Alias: x.model.alias,
		Class: x.class, Outcome: string(x.outcome()), OK: x.failure == nil, Status: x.status(),
		Tokens: x.used(), Attempts: x.account.tries, Queue: x.waited(), EngineQueue: x.spent.engineQueue,
	}
	r.Cost, r.Saved = x.cost()
	if t := x.answeredBy(); t != nil {
		r.Provider, r.Model, r.Arm, r.Fallback = t.provider.name, t.model, t.arm(), t.fallback
	}
	if d, ok := x.ttft(); ok {
		r.TTFT = optional.Measured(d)
	}
	if d, ok := x.tpot(); ok {
		r.TPOT = optional.Measured(d)
	}
	if x.failure == nil {
		r.E2E = optional.Measured(x.ended(end).Sub(x.began))
	}
	return r
}

// waste counts what the upstream of a try says to have used for no answer. No tenant pays
// for it, and the operator may have to.
func (x *exchange) waste() {
	if !x.spent.reported {
		return
	}
	used := x.spent.used()
	m, alias, deployment := &x.g.metrics.money, x.model.alias, x.try.target.name
	m.wasted.WithLabelValues(alias, deployment, "input").Add(float64(used.Input))
	m.wasted.WithLabelValues(alias, deployment, "output").Add(float64(used.Output))
	if cost, ok := x.try.target.price.Cost(used).Total().Value(); ok {
		m.wastedCost.WithLabelValues(alias, deployment).Add(cost.USD())
	}
}

// answeredBy is the deployment that the answer is from, or that was tried last.
func (x *exchange) answeredBy() *target {
	switch {
	case x.account.again != nil:
		return x.account.again.from
	case x.try != nil:
		return x.try.target
	}
	return nil
}

// ended is when the answer was complete, or else when the request ended.
func (x *exchange) ended(end time.Time) time.Time {
	if x.closed.IsZero() {
		return end
	}
	return x.closed
}
