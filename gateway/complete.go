package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/gateway/websocket"
	"github.com/llmctl/llmctl/internal/openai"
)

// bodyTimeout is how long a client may take to send its request body.
const bodyTimeout = 60 * time.Second

// complete is the pipeline of a request for a model, in the order in which it can
// fail without costing anything: who, what, whether it may, whether it fits, and
// only then the upstream.
func (x *exchange) complete() *failure {
	if f := x.authenticate(); f != nil {
		return f
	}
	q, f := x.read()
	if f != nil {
		return f
	}
	if f := x.resolve(q.model); f != nil {
		return f
	}
	inFlight := x.g.metrics.inFlight.WithLabelValues(x.model.alias)
	inFlight.Inc()
	defer inFlight.Dec()
	if f := x.classify(); f != nil {
		return f
	}
	if err := q.bound(x.model.limit); err != nil {
		return invalidField(err)
	}
	if f := x.check(q); f != nil {
		return f
	}
	x.account.allowed = q.maxTokens * q.generated
	if known, f := x.claimKey(q); known || f != nil {
		return f
	}
	if answered, f := x.recall(q); answered || f != nil {
		return f
	}
	plan, f := x.plan(q)
	if f != nil {
		return f
	}
	if plan, f = x.reserve(q, plan); f != nil {
		return f
	}
	defer x.sketch(q)
	return x.forward(q, plan)
}

// read takes the body in and makes sense of it.
func (x *exchange) read() (*request, *failure) {
	rc := x.deadline.control
	// Writers without deadlines, as in tests, simply have none.
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	// A body that does not come must not hold up the end of the gateway.
	stop := context.AfterFunc(x.g.alive, func() { _ = rc.SetReadDeadline(time.Now()) })
	from := x.weigh(http.MaxBytesReader(x.w, x.r.Body, x.table.maxBody))
	body, err := readAll(from, min(x.r.ContentLength, x.table.maxBody), math.MaxInt64)
	stop()
	_ = rc.SetReadDeadline(time.Time{})
	if websocket.IsMessage(x.r) {
		x.began = x.g.now() // how long the client took to send it after it connected is its own affair
	}
	if errors.Is(err, errBodies) {
		return nil, crowded(errBodies)
	}
	if err != nil {
		if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, &failure{status: http.StatusRequestEntityTooLarge, outcome: outcomeTooLarge,
				body: openai.NewError("invalid_request_error", fmt.Sprintf("the body is larger than %d bytes", big.Limit), "", "request_too_large")}
		}
		for _, ctx := range []context.Context{x.r.Context(), x.g.alive} {
			if f := interruption(ctx); f != nil {
				return nil, f
			}
		}
		return nil, invalid("the body ended early")
	}
	q, err := parseRequest(x.dialect, body)
	if err != nil {
		return nil, invalidField(err)
	}
	return q, nil
}

// resolve finds the alias and checks that the tenant may use it.
func (x *exchange) resolve(alias string) *failure {
	m, ok := x.table.models[alias]
	if !ok {
		return unknownModel(alias)
	}
	x.model = m
	if !x.who.allows(alias) {
		return &failure{status: http.StatusForbidden, outcome: outcomeForbidden,
			body: openai.NewError("permission_error", notAllowed(alias), "model", "model_not_allowed")}
	}
	return nil
}

// whole passes on an answer that is not a stream. It is read to its end first:
// an upstream that dies half-way then becomes a clean error.
func (x *exchange) whole(ctx context.Context, response *http.Response) *failure {
	x.weighAnswer(response)
	body, err := readAll(response.Body, response.ContentLength, x.table.maxAnswer)
	x.heard = x.g.now()
	if errors.Is(err, errAnswers) {
		return crowded(errAnswers)
	}
	if errors.Is(err, errTooLong) {
		return tooLong(x.table.maxAnswer)
	}
	if err != nil {
		if f := interruption(ctx); f != nil {
			return f
		}
		return badAnswer("the upstream's answer broke off", err)
	}
	if !validJSON(body) {
		return badAnswer("the upstream's answer is not valid JSON", fmt.Errorf("%d bytes of content type %q", len(body), response.Header.Get("Content-Type")))
	}
	if f := x.notAnAnswer(body); f != nil {
		return f
	}
	a := x.dialect.whole(body)
	x.spent.seen = int64(len(body))
	x.spent.estimate.Output = a.output // which stands in where the report cannot be
	x.report(a.usage)
	x.finishReason = a.finishReason
	if x.model.rename {
		body = renamed(body, "model", x.model.alias)
	}
	body, f := x.screen(body)
	if f != nil {
		return f
	}
	x.caching.recorder.Document(body)
	x.try.lease.Release(fleet.OK)
	x.setCostHeader(x.w.Header())
	x.succeed("application/json", body)
	return nil
}

// notAnAnswer is the failure for a body that is called a success, and is none: some
// servers report errors with status 200, and nobody is to pay for one.
func (x *exchange) notAnAnswer(body []byte) *failure {
	document := gjson.ParseBytes(body)
	if !document.IsObject() {
		return badAnswer("the upstream's answer is not a JSON object", nil)
	}
	problem, answered := document.Get("error"), false
	for _, key := range []string{"choices", "data", "output"} {
		answered = answered || document.Get(key).Exists()
	}
	if answered || !problem.IsObject() {
		return nil
	}
	f := chunk{failed: true, failure: problem}.streamError(x.try.target)
	if f.outcome == outcomeStreamError {
		f.outcome = outcomeUpstream
	}
	if f.status < http.StatusInternalServerError {
		f.outcome = outcomeUpstreamRefused
	}
	return f
}
