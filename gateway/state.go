package gateway

import (
	"context"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/store"
	"github.com/llmctl/llmctl/internal/buildinfo"
)

// stateSchema and liveSchema name the documents of /admin/state and /admin/live.
const (
	stateSchema = "llmctl/gateway-state/v1"
	liveSchema  = "llmctl/gateway-live/v1"
)

// State is a picture of the gateway, as /admin/state answers it and the page shows
// it. What is not known is left out.
type State struct {
	Schema    string          `json:"schema"`
	Time      time.Time       `json:"time"`
	Version   string          `json:"version"`
	Config    ConfigState     `json:"config"`
	Totals    Totals          `json:"totals"`
	Tenants   []TenantState   `json:"tenants"`
	Models    []ModelState    `json:"models"`
	Endpoints []EndpointState `json:"endpoints"`
	Queues    []QueueState    `json:"queues"`
	Live      Live            `json:"live"`
}

// ConfigState is the configuration in use. Without a file there is nothing to tell.
type ConfigState struct {
	Source        string     `json:"source,omitempty"`
	Hash          string     `json:"hash,omitempty"`
	Loaded        *time.Time `json:"loaded_at,omitempty"`
	Refused       string     `json:"refused,omitempty"` // why the file's newest content is not in use
	RestartNeeded []string   `json:"restart_needed,omitempty"`
}

// TenantState is a tenant and where it stands.
type TenantState struct {
	Name   string       `json:"name"`
	Keys   int          `json:"keys"`
	Limits []LimitState `json:"limits"`
}

// LimitState is one limit: of the tenant as a whole, or of one of its keys. Units are
// those of the resource: a minute's requests or tokens, requests at once, or $.
type LimitState struct {
	Key      string         `json:"key,omitempty"`
	Resource limit.Resource `json:"resource"`
	Limit    float64        `json:"limit"`
	Left     *float64       `json:"left,omitempty"` // below zero is debt; absent while the store is away
}

// QueueState is how many requests of a class wait for a provider's endpoints.
type QueueState struct {
	Provider string `json:"provider"`
	Class    string `json:"class"`
	Waiting  int    `json:"waiting"`
}

// Live are requests that are being served: the oldest, and how many there are.
type Live struct {
	Serving  int           `json:"serving"`
	Requests []LiveRequest `json:"requests"`
}

// patience that a picture has with the stores that it asks.
const stateTimeout = 2 * time.Second

// State returns a picture of the gateway with its oldest n requests.
func (g *Gateway) State(ctx context.Context, n int) State {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	t, now := g.table.Load(), g.now()
	s := State{
		Schema: stateSchema, Time: now.UTC(), Version: buildinfo.Version(), Config: g.configState(),
		Totals: g.totals(ctx, now), Tenants: g.tenantStates(ctx, t), Models: g.modelStates(t), Live: g.live(n),
	}
	s.Endpoints, s.Queues = g.fleetState(t)
	return s
}

func (g *Gateway) live(n int) (l Live) {
	l.Requests, l.Serving = g.lives.list(g.now(), n)
	return l
}

func (g *Gateway) configState() (c ConfigState) {
	file := g.file.Load()
	if file == nil {
		return c
	}
	s := file.Status()
	loaded := s.Loaded.UTC()
	return ConfigState{Source: s.Path, Hash: s.Hash, Loaded: &loaded, Refused: s.Err, RestartNeeded: s.Restart}
}

// tenantStates are the tenants in the order of the configuration. Once the store of
// limits does not answer, it is asked no more.
func (g *Gateway) tenantStates(ctx context.Context, t *table) []TenantState {
	states := []TenantState{}
	away := false
	for i := 0; i < len(t.scopes); {
		j := i + 1 // a tenant's own scope comes before those of its keys
		for j < len(t.scopes) && t.scopes[j].Tenant == t.scopes[i].Tenant {
			j++
		}
		own := t.scopes[i:j]
		state := TenantState{Name: own[0].Tenant, Keys: j - i - 1, Limits: []LimitState{}}
		standing := map[store.Account]limit.State{}
		if !away && anyBound(own) {
			all, err := g.limits.Standing(ctx, state.Name)
			away = err != nil
			for _, s := range all {
				standing[s.Account] = s.State
			}
		}
		for _, scope := range own {
			counters, known := standing[scope.Account]
			state.Limits = append(state.Limits, limitStates(scope, counters, known)...)
		}
		states = append(states, state)
		i = j
	}
	return states
}

func anyBound(scopes []store.Scope) bool {
	for _, s := range scopes {
		if s.Any() {
			return true
		}
	}
	return false
}

// limitStates are the limits that a scope has.
func limitStates(s store.Scope, now limit.State, known bool) (states []LimitState) {
	for _, l := range []struct {
		resource    limit.Resource
		limit, left float64
	}{
		{limit.Requests, float64(s.RPM), float64(now.Requests.Level)},
		{limit.InputTokens, float64(s.InputTPM), float64(now.Input.Level)},
		{limit.OutputTokens, float64(s.OutputTPM), float64(now.Output.Level)},
		{limit.Slots, float64(s.Concurrent), float64(s.Concurrent - now.Open)},
		{limit.DayBudget, s.Day.Dollars(), (s.Day - now.Day.Spent - now.Held).Dollars()},
		{limit.MonthBudget, s.Month.Dollars(), (s.Month - now.Month.Spent - now.Held).Dollars()},
	} {
		if l.limit == 0 {
			continue
		}
		state := LimitState{Key: s.Key, Resource: l.resource, Limit: l.limit}
		if known {
			state.Left = &l.left
		}
		states = append(states, state)
	}
	return states
}
