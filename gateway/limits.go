package gateway

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/store"
	"github.com/llmctl/llmctl/internal/openai"
)

// ask is what the request may use at most. Where its client names no limit of the
// output, that is the alias's own, or an assumption, and no more than room, the tokens
// of output that the roomiest of its targets has; 0 where that is not known.
func (r *request) ask(room int64) limit.Ask {
	if r.free {
		return limit.Ask{}
	}
	if !r.dialect.generates {
		return limit.Ask{Tokens: limit.Tokens{Input: r.input}}
	}
	output, unbounded := cmp.Or(r.maxTokens, assumedOutput), r.maxKey == ""
	if unbounded && room > 0 {
		output = min(output, room)
	}
	return limit.Ask{
		Tokens:    limit.Tokens{Input: r.input, Output: output * r.generated},
		Unbounded: unbounded,
	}
}

// reserve takes what the request may use from its tenant's and key's limits, and
// returns what of the plan they allow. Where a budget does not hold the dearest of its
// targets, the request may still go to cheaper ones: a fallback that costs much must not
// keep a request from the target that is to serve it.
func (x *exchange) reserve(q *request, plan []step) ([]step, *failure) {
	ask := q.ask(roomiest(plan, q.input))
	ask.Counted = x.caching.embedding.close()
	for {
		ask.Cost = dearest(plan)
		reservation, levels, err := x.g.limits.Reserve(x.r.Context(), x.who.account, ask)
		if r, ok := errors.AsType[*limit.Rejection](err); ok && r.Quota() {
			if cheaper := x.cheaper(plan, ask.Tokens); len(cheaper) > 0 {
				plan = cheaper
				continue
			}
		}
		setLimitHeaders(x.w.Header(), levels)
		x.toldLimits = true
		if err != nil {
			return nil, x.limited(err)
		}
		x.reservation = reservation
		x.g.metrics.reserved(x.who.tenant.name, reservation.Reserved().Tokens)
		return plan, nil
	}
}

// settleAndTell settles before the header of an answer goes out, and tells its client
// where it stands after that: what it may ask for next, debt included. Where the store
// does not say, the levels of the reservation stay.
func (x *exchange) settleAndTell() {
	x.settle()
	x.toldLimits = x.toldLimits && x.reservation == nil
	x.tellLimits()
}

// tellLimits tells a client where it stands, who was not told yet.
func (x *exchange) tellLimits() {
	if x.who == nil || x.toldLimits {
		return
	}
	x.toldLimits = true
	if levels, err := x.g.limits.Levels(x.r.Context(), x.who.account); err == nil {
		setLimitHeaders(x.w.Header(), levels)
	}
}

// setLimitHeaders tells the client where it stands, on every answer. Names and
// forms are OpenAI's; since input and output have limits of their own here,
// -tokens is the one with less left, and both follow under their names.
func setLimitHeaders(h http.Header, levels limit.Levels) {
	tokens := levels.Output
	if levels.Input.Limit > 0 && (tokens.Limit == 0 || levels.Input.Remaining < tokens.Remaining) {
		tokens = levels.Input
	}
	values := make([]string, 0, 3*len(limitHeaderNames)) // one piece of memory for all
	for i, l := range []limit.Level{levels.Requests, tokens, levels.Input, levels.Output} {
		if l.Limit == 0 {
			continue
		}
		values = append(values, strconv.FormatInt(l.Limit, 10), strconv.FormatInt(l.Remaining, 10), l.Reset.Round(time.Millisecond).String())
		for j, name := range limitHeaderNames[i] {
			at := len(values) - 3 + j
			h[name] = values[at : at+1 : at+1]
		}
	}
}

// limitHeaderNames are the limit, what remains of it, and when it is whole again: of
// requests, tokens, and tokens of input and output.
var limitHeaderNames = [4][3]string{
	{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"X-Ratelimit-Limit-Input-Tokens", "X-Ratelimit-Remaining-Input-Tokens", "X-Ratelimit-Reset-Input-Tokens"},
	{"X-Ratelimit-Limit-Output-Tokens", "X-Ratelimit-Remaining-Output-Tokens", "X-Ratelimit-Reset-Output-Tokens"},
}

// limited is the failure of a request that its limits did not admit.
func (x *exchange) limited(err error) *failure {
	if f := interruption(x.r.Context()); f != nil {
		return f
	}
	if away, ok := errors.AsType[*store.Unavailable](err); ok {
		return &failure{status: http.StatusServiceUnavailable, outcome: outcomeLimitsUnavailable, retryAfter: "1", wait: away.RetryAfter, cause: away,
			body: openai.NewError("server_error", "limits cannot be checked at the moment", "", "limits_unavailable")}
	}
	if rejection, ok := errors.AsType[*limit.Rejection](err); ok {
		return rejected(rejection)
	}
	// Such as a key of another kind in Redis: as good as a store that is away.
	return &failure{status: http.StatusServiceUnavailable, outcome: outcomeLimitsUnavailable, retryAfter: "1", wait: time.Second, cause: err,
		body: openai.NewError("server_error", "limits cannot be checked at the moment", "", "limits_unavailable")}
}

// rejected is the failure of a request that a limit turned away.
func rejected(r *limit.Rejection) *failure {
	kind, code := "tokens", "rate_limit_exceeded"
	switch {
	case r.UsedUp:
		kind, code = "insufficient_quota", "insufficient_quota"
	case r.TooCostly():
		code = "request_too_costly"
	case r.Resource == limit.Requests, r.Resource == limit.Slots:
		kind = "requests"
	}
	f := &failure{
		status: http.StatusTooManyRequests, outcome: outcomeRateLimited, resource: r.Resource,
		body: openai.NewError(kind, r.Error(), "", code),
	}
	// One that is too costly would fit when the day or month has ended, and a cheaper one
	// does now: clients that stay away from a key until then must not hear of that time.
	if r.Retryable && (!r.TooCostly() || r.RetryAfter < hopeless) {
		f.retryAfter, f.wait = strconv.FormatInt(r.RetryAfterSeconds(), 10), r.RetryAfter
	}
	f.noRetry = !r.Retryable || r.RetryAfter >= hopeless
	return f
}
