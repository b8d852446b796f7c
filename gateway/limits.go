package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/store"
	"github.com/llmctl/llmctl/internal/openai"
)

// ask is what the request may use at most.
func (r *request) ask() limit.Ask {
	if r.free {
		return limit.Ask{}
	}
	output, unbounded := r.maxTokens, false
	if output == 0 {
		output, unbounded = assumedOutput, true
	}
	return limit.Ask{
		Tokens:    limit.Tokens{Input: r.input, Output: output * r.choices},
		Unbounded: unbounded || r.maxKey == "",
	}
}

// tellLimits tells a client where it stands, of whom nothing was asked.
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
	for _, l := range []struct {
		name  string
		level limit.Level
	}{
		{"Requests", levels.Requests}, {"Tokens", tokens}, {"Input-Tokens", levels.Input}, {"Output-Tokens", levels.Output},
	} {
		if l.level.Limit == 0 {
			continue
		}
		h["X-Ratelimit-Limit-"+l.name] = []string{strconv.FormatInt(l.level.Limit, 10)}
		h["X-Ratelimit-Remaining-"+l.name] = []string{strconv.FormatInt(l.level.Remaining, 10)}
		h["X-Ratelimit-Reset-"+l.name] = []string{l.level.Reset.Round(time.Millisecond).String()}
	}
}

// hopeless is the wait from which on clients are told not to retry by themselves:
// OpenAI's SDKs ignore a Retry-After of a minute and more, and would come again at
// once.
const hopeless = time.Minute

// limited is the failure of a request that its limits did not admit.
func (x *exchange) limited(err error) *failure {
	if f := interruption(x.r.Context()); f != nil {
		return f
	}
	if away, ok := errors.AsType[*store.Unavailable](err); ok {
		return &failure{status: http.StatusServiceUnavailable, outcome: outcomeLimitsUnavailable, retryAfter: "1", wait: away.RetryAfter,
			body: openai.NewError("server_error", "limits cannot be checked at the moment", "", "limits_unavailable")}
	}
	if rejection, ok := errors.AsType[*limit.Rejection](err); ok {
		return rejected(rejection)
	}
	return &failure{status: http.StatusInternalServerError, outcome: outcomeInternal, cause: err,
		body: openai.NewError("server_error", "the limiter failed", "", "")}
}

// rejected is the failure of a request that a limit turned away.
func rejected(r *limit.Rejection) *failure {
	kind, code := "tokens", "rate_limit_exceeded"
	switch r.Resource {
	case limit.Requests, limit.Slots:
		kind = "requests"
	case limit.DayBudget, limit.MonthBudget:
		kind, code = "insufficient_quota", "insufficient_quota"
	}
	f := &failure{
		status: http.StatusTooManyRequests, outcome: outcomeRateLimited, resource: r.Resource,
		body: openai.NewError(kind, r.Error(), "", code),
	}
	if r.Retryable {
		f.retryAfter, f.wait = strconv.FormatInt(r.RetryAfterSeconds(), 10), r.RetryAfter
	}
	f.noRetry = !r.Retryable || r.Quota() && r.RetryAfter > hopeless
	return f
}
