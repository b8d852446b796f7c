package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/idempotency"
	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/store"
)

// openStore opens the places where state is kept, once: what has been counted
// cannot move while requests run, so that another place needs a restart.
func (g *Gateway) openStore(c config.Store, env config.Environment) error {
	if g.limits != nil {
		return nil
	}
	if c.Limits == "" || c.Limits == config.StoreMemory {
		g.limits, g.keys = store.NewMemory(g.now), idempotency.NewMemory(g.now)
		return nil
	}
	password := env[c.LimitsKeyEnv]
	patience := config.DefaultStoreTimeout
	if c.Timeout > 0 {
		patience = time.Duration(c.Timeout)
	}
	client, err := store.Dial(c.Limits, password, patience)
	if err != nil {
		return fmt.Errorf("store.limits: %w", err)
	}
	limits, err := store.NewRedis(c.Limits, password, store.RedisOptions{
		WhenDown: store.WhenDown(c.WhenDown), Patience: patience, Now: g.now, Logger: g.log, Recovered: func(ctx context.Context) {
			if t := g.table.Load(); t != nil {
				g.seedBudgets(ctx, t.scopes)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("store.limits: %w", err)
	}
	g.limits, g.keys = limits, idempotency.NewRedis(client, c.WhenDown == config.WhenDownLocal, g.now)
	return nil
}

// accountOf is the account of the i-th key of a tenant.
func accountOf(t *config.Tenant, i int) store.Account {
	return store.Account{Tenant: t.Name, Key: t.Keys[i].Label(i)}
}

// scopesOf are all scopes of a configuration.
func scopesOf(c *config.Config) (scopes []store.Scope) {
	for i := range c.Tenants {
		t := &c.Tenants[i]
		scopes = append(scopes, store.Scope{Account: store.Account{Tenant: t.Name}, Bounds: boundsOf(t.Limits)})
		for j, k := range t.Keys {
			scopes = append(scopes, store.Scope{Account: accountOf(t, j), Bounds: boundsOf(k.Limits)})
		}
	}
	return scopes
}

func boundsOf(l config.Limits) limit.Bounds {
	return limit.Bounds{
		Limits:  limit.Limits{RPM: int64(l.RPM), InputTPM: int64(l.InputTPM), OutputTPM: int64(l.OutputTPM), Concurrent: int64(l.Concurrent)},
		Budgets: limit.Budgets{Day: limit.Dollars(float64(l.USDPerDay)), Month: limit.Dollars(float64(l.USDPerMonth))},
	}
}
