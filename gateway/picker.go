package gateway

import (
	"strings"

	"google.golang.org/grpc"

	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/gateway/picker"
)

// Headers by which a Gateway API data plane says what a request is.
const (
	objectiveHeader = "x-gateway-inference-objective"
	fairnessHeader  = "x-gateway-inference-fairness-id"
)

// Picker returns a server that picks endpoints for Envoy, from the provider that the
// configuration of the moment names: with the counts, breakers, metrics and queue
// that the gateway's own requests go by. The caller closes it before the gateway.
func (g *Gateway) Picker(options ...grpc.ServerOption) *picker.Server {
	return picker.New(picker.Options{
		Pool: func() *fleet.Pool {
			if p := g.table.Load().picker; p != nil {
				return p.pool
			}
			return nil
		},
		Want:    g.wantOf,
		MaxBody: g.table.Load().maxBody,
		Hold:    g.holdEnvoys,
	}, options...)
}

// envoys is the share of all requests that come by way of Envoy. No tenant can have it
// as its name.
const envoys = "\x00envoy"

// holdEnvoys counts bodies of requests that Envoy asks about with those of the gateway's
// own: all of them as one tenant's, and of what that one may hold, each fairness id as
// a tenant's.
func (g *Gateway) holdEnvoys(r picker.Request, n int64) bool {
	id := r.Header(fairnessHeader)
	if n < 0 {
		g.envoys.giveBack(id, -n)
		g.bodies.giveBack(envoys, -n)
		return true
	}
	most := bodiesAtOnce * g.table.Load().maxBody
	mine, all := g.envoys.take(id, n, most/2), g.bodies.take(envoys, n, most)
	if all && !mine {
		g.bodies.refused.Add(1)
	}
	return all && mine
}

// wantOf reads what Envoy tells of a request. A body that makes no sense here is the
// engine's to refuse: its request has no known prompt, and goes by load.
func (g *Gateway) wantOf(r picker.Request) fleet.Want {
	t := g.table.Load()
	w := fleet.Want{Tenant: r.Header(fairnessHeader), Class: t.classes[0]}
	for _, class := range t.classes {
		if class == r.Header(objectiveHeader) {
			w.Class = class
		}
	}
	path, _, _ := strings.Cut(r.Path, "?")
	for _, d := range dialects {
		if d.path != path {
			continue
		}
		q, err := parseRequest(d, r.Body)
		if err != nil {
			return w
		}
		ask := q.ask(0).Tokens
		w.Model, w.Tokens = q.model, ask.Input+ask.Output
		if t.picker != nil && t.picker.pool.ByPrefix() {
			w.Prompt = q.blocks(q.model, q.fields["cache_salt"].Str)
		}
	}
	return w
}
