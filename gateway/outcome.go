package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/internal/openai"
)

// outcome says how a request ended; exactly one applies. The list is closed:
// the values are metric labels and fields of the log.
type outcome string

const (
	outcomeOK outcome = "ok"

	// The gateway turned the request away.
	outcomeUnauthorized      outcome = "unauthorized"
	outcomeForbidden         outcome = "forbidden"
	outcomeInvalid           outcome = "invalid_request"
	outcomeTooLarge          outcome = "request_too_large"
	outcomeFiltered          outcome = "content_filter"
	outcomeUnknownModel      outcome = "model_not_found"
	outcomeUnroutable        outcome = "unroutable" // no target of the model can serve it
	outcomeUnknownRoute      outcome = "route_not_found"
	outcomeRateLimited       outcome = "rate_limited"
	outcomeIdempotency       outcome = "idempotency_refused"
	outcomeLimitsUnavailable outcome = "limits_unavailable"
	outcomeDraining          outcome = "draining"
	outcomeInternal          outcome = "internal_error"
	outcomeShed              outcome = "shed"                // no room at the model's servers
	outcomeQueueTimeout      outcome = "queue_timeout"       // none came free in time
	outcomeUnhealthy         outcome = "no_healthy_upstream" // all of them are left alone
	outcomeResting           outcome = "upstream_resting"    // they asked for it
	outcomeUpstreamRefused   outcome = "upstream_refused"    // 4xx: the request's own fault, or its limit there

	// The request was cut off.
	outcomeClientGone outcome = "client_gone"
	outcomeFirstToken outcome = "timeout_first_token"
	outcomeIdle       outcome = "timeout_idle"
	outcomeTotal      outcome = "timeout_total"
	outcomeShutdown   outcome = "shutdown"

	// The upstream failed.
	outcomeConnect     outcome = "connect"
	outcomeAuth        outcome = "upstream_auth_error"
	outcomeUpstream    outcome = "upstream_error"     // 5xx, or an answer that makes no sense
	outcomeInterrupted outcome = "stream_interrupted" // the stream ended without a terminal signal
	outcomeStreamError outcome = "stream_error"       // an error event inside the stream
)

// alone tells whether all of the model's servers are left alone, so that none was asked.
func (o outcome) alone() bool { return o == outcomeUnhealthy || o == outcomeResting }

// timeout tells whether one of the configured time-outs ended the request.
func (o outcome) timeout() bool {
	return o == outcomeFirstToken || o == outcomeIdle || o == outcomeTotal
}

// statusClientGone is nginx's code for a client that left; it is logged and
// counted, there is nobody to send it to.
const statusClientGone = 499

// cut is a reason of the gateway's own to end a request, as the cause of its
// context: a time-out of ours must never look like a client that left.
type cut struct {
	outcome outcome
	status  int
	kind    string // type of the error object
	code    string
	message string
	remedy  remedy
}

func (c *cut) Error() string { return c.message }

var (
	cutFirstToken = &cut{outcomeFirstToken, http.StatusGatewayTimeout, "timeout_error", "upstream_timeout", "the model did not answer in time", anotherTry}
	cutIdle       = &cut{outcomeIdle, http.StatusGatewayTimeout, "timeout_error", "upstream_timeout", "the model stopped answering", noRemedy}
	cutTotal      = &cut{outcomeTotal, http.StatusGatewayTimeout, "timeout_error", "upstream_timeout", "the request took too long", noRemedy}
	cutShutdown   = &cut{outcomeShutdown, http.StatusServiceUnavailable, "server_error", "overloaded", "the gateway is shutting down", noRemedy}
)

// failure is an answer other than success. body is nil when there is nobody to
// answer, raw replaces body when the upstream's own answer is passed on.
type failure struct {
	status     int
	outcome    outcome
	body       *openai.Error
	raw        []byte
	retryAfter string         // seconds, or a date from upstream; empty leaves the header out
	wait       time.Duration  // the same to the millisecond, where it is known; zero leaves that header out
	noRetry    bool           // the same request can never succeed
	deserted   bool           // no endpoint of the target's can be reached
	resource   limit.Resource // which limit turned it away
	cause      error          // for the log only
	remedy     remedy
}

// remedy says what could make good a failure before any output.
type remedy uint8

const (
	noRemedy      remedy = iota // every upstream would answer the same, or nobody waits any more
	anotherTarget               // this one cannot serve the request
	anotherTry                  // the same target may yet
)

// interruption turns the end of ctx into a failure, or returns nil when ctx is
// still alive and the error came from elsewhere.
func interruption(ctx context.Context) *failure {
	if ctx.Err() == nil {
		return nil
	}
	if c, ok := errors.AsType[*cut](context.Cause(ctx)); ok {
		return &failure{status: c.status, outcome: c.outcome, remedy: c.remedy, body: openai.NewError(c.kind, c.message, "", c.code)}
	}
	return &failure{status: statusClientGone, outcome: outcomeClientGone}
}

func invalid(message string) *failure {
	return &failure{status: http.StatusBadRequest, outcome: outcomeInvalid, body: openai.NewError("invalid_request_error", message, "", "")}
}

// invalidField is invalid for a request whose error may name a field.
func invalidField(err error) *failure {
	f := invalid(err.Error())
	if bad, ok := errors.AsType[*fieldError](err); ok {
		f.body = openai.NewError("invalid_request_error", bad.Error(), bad.field, bad.code)
	}
	return f
}

// badAnswer is an upstream that answered something that cannot be passed on.
func badAnswer(message string, cause error) *failure {
	return &failure{status: http.StatusBadGateway, outcome: outcomeUpstream, remedy: anotherTry, cause: with(message, cause),
		body: openai.NewError("upstream_error", message, "", "upstream_error")}
}

// tooLong is an answer that does not fit into what one may be. Another try would make
// another one.
func tooLong(most int64) *failure {
	f := badAnswer(fmt.Sprintf("the upstream's answer is larger than %d bytes", most), nil)
	f.remedy = noRemedy
	return f
}

// hopeless is the wait from which on clients are told not to retry by themselves:
// OpenAI's SDKs ignore a Retry-After of a minute and more, and would come again at
// once.
const hopeless = time.Minute

// write answers the client.
func (f *failure) write(w http.ResponseWriter) {
	h := w.Header()
	if f.retryAfter != "" {
		h.Set("Retry-After", f.retryAfter)
	}
	if f.wait > 0 {
		h.Set("Retry-After-Ms", strconv.FormatInt(max(1, (f.wait+time.Millisecond-1).Milliseconds()), 10)) // OpenAI's SDKs read it first
	}
	if f.noRetry || f.wait >= hopeless {
		h.Set("X-Should-Retry", "false") // read by OpenAI's SDKs
	}
	switch {
	case f.raw != nil:
		h.Set("Content-Type", "application/json")
		w.WriteHeader(f.status)
		_, _ = w.Write(f.raw) // the client may have left; there is nobody to tell
	case f.body != nil:
		openai.WriteError(w, f.status, f.body)
	}
}
