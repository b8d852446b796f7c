package gateway

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/internal/openai"
)

// placement is what an exchange knows of the places that it had and looked for.
type placement struct {
	failed []*fleet.Endpoint // in earlier attempts; others are preferred
	spills bool              // another provider takes it when the one that is tried has no room
	queued time.Duration     // waiting for endpoints
}

// admit gets the attempt a place at an endpoint that it has not tried. Where none
// has room, it waits for one in the provider's queue, unless another deployment
// takes what finds no room.
func (x *exchange) admit(ctx context.Context, q *request, tried []*fleet.Endpoint) *failure {
	p := x.try.target.provider
	ask := q.ask(x.try.target.room(q.input)).Tokens
	asked := x.g.now()
	lease, err := p.pool.Acquire(ctx, fleet.Want{
		Model: x.try.target.model, Tenant: x.who.tenant.name, Class: x.class, Weight: x.who.tenant.weight,
		Tokens: ask.Input + ask.Output,
		Prompt: x.prompt(q),
		Tried:  tried, Avoid: x.failed, NoWait: x.spills,
	})
	m := x.g.metrics
	if err == nil {
		x.try.lease = lease
		x.queued += lease.Waited
		m.queueWait.WithLabelValues(p.name, x.class).Observe(lease.Waited.Seconds())
		return nil
	}
	if refused, ok := errors.AsType[*fleet.Refused](err); ok {
		x.queued += refused.Waited
		if refused.Reason != fleet.Exhausted {
			m.shed.WithLabelValues(p.name, x.class, string(refused.Reason)).Inc()
		}
		return refusal(refused)
	}
	if f := interruption(ctx); f != nil {
		x.queued += x.g.now().Sub(asked) // it left the queue, which has forgotten it
		return f
	}
	return &failure{status: http.StatusInternalServerError, outcome: outcomeInternal, cause: err,
		body: openai.NewError("server_error", "no endpoint could be picked", "", "")}
}

// prompt is what the endpoint's cache may hold of the request; nil where nobody
// asks.
func (x *exchange) prompt(q *request) []route.Block {
	p := x.try.target.provider
	if !p.pool.ByPrefix() {
		return nil
	}
	salt := q.fields["cache_salt"].Str
	if p.cacheSalt && q.dialect.salted {
		salt = combineSalt(x.who.tenant.salt, q.fields["cache_salt"])
	}
	return q.blocks(x.try.target.model, salt)
}

// refusal is the failure of a request for which a provider has no endpoint.
func refusal(r *fleet.Refused) *failure {
	f := &failure{status: http.StatusServiceUnavailable, remedy: anotherTarget, cause: r}
	if r.RetryAfter > 0 {
		f.retryAfter, f.wait = strconv.Itoa(int(math.Ceil(r.RetryAfter.Seconds()))), r.RetryAfter
	}
	switch {
	case r.Reason == fleet.QueueTimeout:
		f.outcome = outcomeQueueTimeout
		f.body = openai.NewError("server_error", "the model's servers had no room in time", "", "overloaded")
	case r.Saturated():
		f.outcome = outcomeShed
		f.body = openai.NewError("server_error", "the model's servers have too much to do", "", "overloaded")
	case r.Resting: // as the client was told that met their limit
		f.status, f.outcome = http.StatusTooManyRequests, outcomeResting
		f.body = openai.NewError("rate_limit_error", "the model's servers are at a limit of their own, and asked to be left alone for "+f.retryAfter+" s", "", "rate_limit_exceeded")
	default:
		f.outcome = outcomeUnhealthy
		f.body = openai.NewError("server_error", "none of the model's servers is healthy", "", "no_healthy_upstream")
	}
	return f
}

// fared is how an attempt ended, as the endpoint's breakers see it. No failure of
// the endpoint's is one of which the client, or the gateway's own configuration,
// was the reason.
func (x *exchange) fared(f *failure) fleet.Outcome {
	switch {
	case x.try.unreached:
		return fleet.Unreached
	case f == nil:
		return fleet.OK
	}
	switch f.outcome {
	case outcomeFirstToken, outcomeIdle, outcomeInterrupted:
		return fleet.Failed
	case outcomeTotal: // an answer may just be long
		if x.first.IsZero() {
			return fleet.Failed
		}
	case outcomeUpstream, outcomeStreamError:
		if f.remedy != anotherTarget && (f.status == 0 || f.status >= http.StatusInternalServerError) {
			return fleet.Failed
		}
	}
	return fleet.Neutral
}

// spilling tells whether a later step takes requests for which this one's provider
// has no room.
func spilling(later []step, t *target) bool {
	return slices.ContainsFunc(later, func(s step) bool { return !s.target.patient && s.target.provider != t.provider })
}

// coolDown leaves an endpoint alone that says it gets too many requests, for as
// long as it says.
func (x *exchange) coolDown(response *http.Response) {
	if response.StatusCode == http.StatusTooManyRequests {
		x.try.lease.CoolDown(retryHint(response.Header, x.g.now()))
	}
}

// retryHint reads how long an upstream asks to wait: milliseconds as OpenAI says
// it, seconds, or a date. 0 is no hint.
func retryHint(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, maxHint.Seconds()*1e3) * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return time.Duration(min(s, maxHint.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), maxHint))
	}
	return 0
}

// maxHint bounds a hint before it is reckoned with.
const maxHint = 24 * time.Hour
