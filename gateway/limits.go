package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
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

// limited is the failure of a request that a limit turned away.
func limited(err error) *failure {
	rejection, ok := errors.AsType[*limit.Rejection](err)
	if !ok {
		return &failure{status: http.StatusInternalServerError, outcome: outcomeInternal,
			body: openai.NewError("server_error", "the limiter failed", "", "")}
	}
	kind := "tokens"
	if rejection.Resource == limit.Requests || rejection.Resource == limit.Slots {
		kind = "requests"
	}
	f := &failure{
		status:   http.StatusTooManyRequests,
		outcome:  outcomeRateLimited,
		resource: rejection.Resource,
		body:     openai.NewError(kind, rejection.Error(), "", "rate_limit_exceeded"),
	}
	if rejection.Retryable {
		f.retryAfter = strconv.FormatInt(rejection.RetryAfterSeconds(), 10)
	} else {
		f.noRetry = true
	}
	return f
}
