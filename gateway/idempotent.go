package gateway

import (
	"errors"
	"net/http"
	"time"

	"github.com/llmctl/llmctl/gateway/idempotency"
	"github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/optional"
)

// headerIdempotency is the client's key for a request that it may send again.
const headerIdempotency = "Idempotency-Key"

// claimKey takes the request's idempotency key, if it has one. known says that the
// request was answered before, and now again. A stream has no answer that could be
// given again, and its key counts for nothing: clients send one with every request.
func (x *exchange) claimKey(q *request) (known bool, f *failure) {
	values := x.r.Header.Values(headerIdempotency)
	if len(values) == 0 || q.stream {
		return false, nil
	}
	if len(values) > 1 {
		return false, invalid("expected one " + headerIdempotency + " header")
	}
	id, err := idempotency.NewID(x.who.tenant.name, values[0])
	if err != nil {
		return false, invalid(err.Error())
	}
	answer, claim, err := x.g.keys.Claim(x.r.Context(), id, idempotency.FingerprintOf(x.r.Method, x.dialect.path, q.body))
	switch {
	case err != nil:
		return false, x.unclaimed(err)
	case answer != nil:
		x.giveAgain(answer)
		return true, nil
	}
	x.claim = claim
	return false, nil
}

// unclaimed is the failure of a request whose key was not to be had.
func (x *exchange) unclaimed(err error) *failure {
	if f := interruption(x.r.Context()); f != nil {
		return f
	}
	refusal := func(status int, message, code string) *failure {
		return &failure{status: status, outcome: outcomeIdempotency,
			body: openai.NewError("invalid_request_error", message, "", code)}
	}
	switch {
	case errors.Is(err, idempotency.ErrConflict): // not 409: OpenAI's SDKs would try again
		return refusal(http.StatusUnprocessableEntity, err.Error(), "idempotency_key_conflict")
	case errors.Is(err, idempotency.ErrInProgress):
		f := refusal(http.StatusConflict, err.Error(), "idempotency_in_progress")
		f.retryAfter, f.wait = "2", 2*time.Second
		return f
	}
	return &failure{status: http.StatusServiceUnavailable, outcome: outcomeLimitsUnavailable, retryAfter: "1", wait: time.Second, cause: err,
		body: openai.NewError("server_error", idempotency.ErrUnavailable.Error(), "", "limits_unavailable")}
}

// keepAnswer keeps the answer that is about to be given, for a request with a key.
func (x *exchange) keepAnswer(contentType string, body []byte) {
	if x.claim == nil {
		return
	}
	a := idempotency.Answer{Header: map[string]string{"Content-Type": contentType}, Body: body}
	if v := x.w.Header().Get("X-Llmctl-Deployment"); v != "" { // not its cost: to give it again is free
		a.Header["X-Llmctl-Deployment"] = v
	}
	if t := x.answeredBy(); t != nil {
		used := x.used()
		cached, _ := used.Cached.Value()
		a.Deployment, a.Input, a.Cached, a.Output = t.name, used.Input, int64(cached), used.Output
	}
	x.claim.Keep(a, x.table.answersFor)
}

// releaseKey gives up a key whose request has no answer to keep: its client may send
// it again. It runs before the client hears of the failure.
func (x *exchange) releaseKey() {
	if x.claim != nil {
		x.claim.Release()
	}
}

// giveAgain gives the answer to a key again. It is free: the request did not reach a model.
func (x *exchange) giveAgain(a *idempotency.Answer) {
	h := x.w.Header()
	for name, value := range a.Header {
		h.Set(name, value)
	}
	h.Set("Idempotent-Replayed", "true")
	x.repeat(usage.Replay, a.Deployment, usage.Tokens{Input: a.Input, Cached: optional.Counted(int(a.Cached)), Output: a.Output})
	x.g.metrics.replays.WithLabelValues(x.who.tenant.name).Inc()
	x.succeed(a.Header["Content-Type"], a.Body)
}
