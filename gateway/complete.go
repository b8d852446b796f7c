package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/internal/openai"
)

const (
	bodyTimeout   = 60 * time.Second // for a client to send its request body
	maxAnswerBody = 256 << 20        // largest answer that is not streamed
)

// complete is the pipeline of both completion endpoints, in the order in which a
// request can fail without costing anything: who, what, whether it may, whether
// it fits, and only then the upstream.
func (g *Gateway) complete(x *exchange) *failure {
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
	inFlight := g.metrics.inFlight.WithLabelValues(x.deployment.alias)
	inFlight.Inc()
	defer inFlight.Dec()
	q.bound(x.deployment.limit)
	if f := x.reserve(q); f != nil {
		return f
	}
	return x.forward(q)
}

// read takes the body in and makes sense of it.
func (x *exchange) read() (*request, *failure) {
	rc := http.NewResponseController(x.w)
	// Writers without deadlines, as in tests, simply have none.
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, x.g.maxBody))
	_ = rc.SetReadDeadline(time.Time{})
	if err != nil {
		if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, &failure{status: http.StatusRequestEntityTooLarge, outcome: outcomeTooLarge,
				body: openai.NewError("invalid_request_error", fmt.Sprintf("the body is larger than %d bytes", big.Limit), "", "request_too_large")}
		}
		if f := interruption(x.r.Context()); f != nil {
			return nil, f
		}
		return nil, invalid("the body ended early")
	}
	q, err := parseRequest(body)
	if err != nil {
		return nil, invalid(err.Error())
	}
	return q, nil
}

// resolve finds the alias and checks that the tenant may use it.
func (x *exchange) resolve(alias string) *failure {
	d, ok := x.g.deploy[alias]
	if !ok {
		return &failure{status: http.StatusNotFound, outcome: outcomeUnknownModel,
			body: openai.NewError("invalid_request_error", "no such model", "model", "model_not_found")}
	}
	x.deployment = d
	if !x.who.tenant.allows(alias) {
		return &failure{status: http.StatusForbidden, outcome: outcomeForbidden,
			body: openai.NewError("permission_error", "this key may not use the model", "model", "model_not_allowed")}
	}
	return nil
}

// reserve takes what the request may use from its tenant's and key's limits.
func (x *exchange) reserve(q *request) *failure {
	at := x.g.elapsed(x.g.now())
	reservation, err := x.g.limiter.Reserve(at, q.ask(), x.who.scopes...)
	setLimitHeaders(x.w.Header(), x.g.limiter.Levels(at, x.who.scopes...))
	if err != nil {
		return limited(err)
	}
	x.reservation = reservation
	x.spent.estimate.Input = q.input
	x.g.metrics.reserved(x.who.tenant.name, reservation.Reserved.Tokens)
	return nil
}

// forward sends the request to one target and passes the answer on.
func (x *exchange) forward(q *request) *failure {
	g, d := x.g, x.deployment
	x.target = &d.targets[route.Weighted(d.weights, g.rand())]
	x.w.Header().Set("X-Llmctl-Deployment", x.target.name)
	p := x.target.provider
	x.endpoint, x.pass = p.acquire(g.elapsed(g.now()))
	defer func() { x.endpoint.release() }() // the one that was tried last

	salt := ""
	if p.cacheSalt {
		salt = x.who.tenant.salt
	}
	hideUsage, err := q.address(x.target.model, salt, p.streamUsage)
	if err != nil {
		return invalid(err.Error())
	}
	ctx, cancel := context.WithCancelCause(x.r.Context())
	defer cancel(nil)
	defer context.AfterFunc(g.alive, func() { cancel(context.Cause(g.alive)) })()
	t := newTimers(cancel, d.timeouts, q.stream)
	defer t.stop()

	response, f := x.send(ctx, q.encode())
	if f != nil {
		return f
	}
	defer func() { _ = response.Body.Close() }() // nothing is left to read that anybody waits for
	if response.StatusCode != http.StatusOK {
		return upstreamFailure(x.target, response)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return x.stream(ctx, response, &relay{hideUsage: hideUsage, choices: q.choices, timers: t})
	}
	return x.whole(ctx, kind, response)
}

// whole passes on an answer that is not a stream. It is read to its end first:
// an upstream that dies half-way then becomes a clean error.
func (x *exchange) whole(ctx context.Context, kind string, response *http.Response) *failure {
	if kind != "application/json" {
		return badAnswer("the upstream answered something that is not JSON", fmt.Errorf("content type %q", kind))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBody+1))
	if err != nil {
		if f := interruption(ctx); f != nil {
			return f
		}
		return badAnswer("the upstream's answer broke off", err)
	}
	if len(body) > maxAnswerBody || tooDeep(body) || !gjson.ValidBytes(body) {
		return badAnswer("the upstream's answer is not valid JSON", nil)
	}
	x.spent.report(gjson.GetBytes(body, "usage"))
	gjson.GetBytes(body, "choices").ForEach(func(_, choice gjson.Result) bool {
		text := len(choice.Get("message.content").Str) + len(choice.Get("text").Str)
		x.spent.estimate.Output += int64((text + bytesPerToken - 1) / bytesPerToken)
		x.finishReason = choice.Get("finish_reason").Str
		return true
	})
	x.settle(x.g.now())
	x.succeed("application/json", body)
	return nil
}
