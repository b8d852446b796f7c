package gateway

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/internal/openai"
)

// step is one target of a plan.
type step struct {
	target *target
	reason route.Reason
	// instead is why the targets that should have served the request do not; empty
	// for the first choice.
	instead    string
	tried, out bool // it was, and it is of no use to this request any more
}

// routing is how an exchange's target was chosen.
type routing struct {
	class string       // latency class of the request
	left  []route.Left // targets that cannot serve it
	step  *step        // of its plan; nil before the first

	fallbacks int // that were tried
}

// stickiness is what the configuration calls it.
var stickiness = map[string]route.Sticky{"": route.ByRequest, "request": route.ByRequest, "tenant": route.ByTenant, "session": route.BySession}

// newChooser returns what chooses among a model's targets, which m has already.
func newChooser(c *config.Model, flags []config.Flag, m *model) *route.Chooser {
	a := route.Alias{Name: c.Alias, Sticky: stickiness[c.Sticky]}
	if c.CostCeiling != nil {
		a.Ceiling, a.Complex = float64(c.CostCeiling.USDPerRequest), c.CostCeiling.UnlessComplexity
	}
	for i, t := range c.Targets {
		a.Targets = append(a.Targets, routeTarget(t, m.targets[i].provider))
	}
	for i, t := range c.Fallback {
		a.Fallbacks = append(a.Fallbacks, routeTarget(t, m.fallbacks[i].provider))
	}
	for _, f := range flags {
		a.Flags = append(a.Flags, route.Flag{Name: f.Name, Percent: f.Percent, Tenants: f.Tenants})
	}
	return route.NewChooser(a)
}

func routeTarget(t config.Target, p *provider) route.Target {
	usd := func(perMillion *float64) float64 {
		if perMillion == nil {
			return 0
		}
		return *perMillion / 1e6
	}
	return route.Target{
		Name: t.Provider + "/" + t.Model, Weight: t.Share(), Canary: t.Canary,
		Capabilities: t.Capabilities, Classes: t.Classes, Flag: t.Flag, Kind: p.kindName,
		Context: int64(t.Context), TokensFactor: t.TokensFactor,
		InputUSD: usd(t.USDPer1M.Input), OutputUSD: usd(t.USDPer1M.Output),
	}
}

// plan chooses the targets that the request goes to, in their order.
func (x *exchange) plan(q *request) ([]step, *failure) {
	features, f := x.features(q)
	if f != nil {
		return nil, f
	}
	unfit := x.unfit(q)
	features.Unfit = slices.Collect(maps.Keys(unfit))
	p, err := x.model.chooser.Choose(features)
	x.left = p.Left
	if refusal, ok := errors.AsType[*route.Refusal](err); ok && refusal.Why == route.Inexpressible {
		return nil, unfit[refusal.Kind]
	}
	if err != nil {
		return nil, unroutable(err)
	}
	steps := make([]step, len(p.Choices))
	for i, k := range p.Choices {
		steps[i] = step{target: x.model.at(k.Target, k.Fallback), reason: k.Reason}
	}
	if p.Choices[0].Fallback {
		steps[0].instead = string(p.Left[0].Why) // no target is left, so one was left out
	}
	return steps, nil
}

// unfit are the kinds of the model's providers that cannot express the request, each
// with what its client is told when no other is left. A protocol is asked by putting
// the request into it: what it then refuses, it would refuse in any attempt, for no
// target's edits of the body have a part in it.
func (x *exchange) unfit(q *request) map[string]*failure {
	var unfit map[string]*failure
	for name, k := range x.model.kinds {
		if _, _, f := k.encode(x.dialect, x.r.URL.Path, q.body); f != nil {
			if unfit == nil {
				unfit = map[string]*failure{}
			}
			unfit[name] = f
		}
	}
	return unfit
}

// at is a target of the model, or one of its fallbacks.
func (m *model) at(i int, fallback bool) *target {
	if fallback {
		return m.fallbacks[i]
	}
	return m.targets[i]
}

// unroutable is the failure of a request that no target can serve.
func unroutable(err error) *failure {
	f := &failure{status: http.StatusBadRequest, outcome: outcomeUnroutable, noRetry: true}
	refusal, ok := errors.AsType[*route.Refusal](err)
	if !ok {
		return &failure{status: http.StatusInternalServerError, outcome: outcomeInternal, cause: err,
			body: openai.NewError("server_error", "the request cannot be routed", "", "")}
	}
	param, code := "", ""
	switch refusal.Why {
	case route.TooLong:
		param, code = "messages", "context_length_exceeded"
	case route.NoCapability:
		param, code = capabilityParam[refusal.Need], "unsupported_parameter"
	case route.OtherClass:
		code = "class_not_served"
	default:
		f.status, f.outcome, param, code = http.StatusNotFound, outcomeUnknownModel, "model", "model_not_found"
	}
	f.body = openai.NewError("invalid_request_error", refusal.Error(), param, code)
	return f
}

// stepTo notes that the request goes to a target of its plan, and tells the client
// when that is not the one it should have gone to.
func (x *exchange) stepTo(s *step) {
	x.step = s
	if s.target.fallback && !s.tried {
		x.fallbacks++
	}
	if s.instead != "" {
		x.w.Header()["X-Llmctl-Fallback"] = []string{s.target.name + "; reason=" + s.instead}
	}
}

// next is the first step from i on that may follow a failure: a fallback that is
// not for requests without room waits for another failure. It is len(plan) when
// there is none.
func next(plan []step, i int, f *failure) int {
	for i < len(plan) && f.saturated() && plan[i].target.patient {
		i++
	}
	if i < len(plan) {
		plan[i].instead = string(f.outcome)
	}
	return i
}

// saturated tells whether there was no room for the request, here or at the
// upstream.
func (f *failure) saturated() bool {
	return !f.outcome.alone() && (f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests)
}

// routeAttrs say in the log where the request went, and why not elsewhere.
func (x *exchange) routeAttrs(attrs []slog.Attr) []slog.Attr {
	if s := x.step; s != nil {
		attrs = append(attrs, slog.String("route", string(s.reason)))
		if s.instead != "" {
			attrs = append(attrs, slog.String("fallback", s.instead))
		}
	}
	if len(x.left) > 0 {
		words := make([]string, len(x.left))
		for i, l := range x.left {
			words[i] = x.model.at(l.Target, l.Fallback).name + ":" + string(l.Why)
		}
		attrs = append(attrs, slog.String("left_out", strings.Join(words, " ")))
	}
	return attrs
}
