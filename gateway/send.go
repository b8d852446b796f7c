package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"

	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/internal/openai"
)

// send tries the provider's endpoints, each once, until one takes the
// connection. Going on to the next one is no retry: nothing was sent. An endpoint
// without an answer rests for a while.
func (x *exchange) send(ctx context.Context, q *request, path string, body []byte) (*http.Response, *failure) {
	var tried []*fleet.Endpoint
	for {
		response, connected, err := x.post(ctx, path, body)
		if err == nil {
			x.try.lease.Answered()
			return response, nil
		}
		x.back(x.g.now())
		if f := exhausted(err); f != nil {
			return nil, f
		}
		f := interruption(ctx)
		// A dial that goes on until a time-out says as much as a refusal.
		x.try.unreached = f == nil || !connected && f.outcome.timeout()
		if f != nil {
			return nil, f
		}
		if connected {
			return nil, unreachable(err)
		}
		e := x.try.endpoint()
		tried = append(tried, e)
		x.try.lease.Release(fleet.Unreached)
		if f := x.admit(ctx, q, tried); f != nil {
			if f.outcome.alone() {
				f := unreachable(err)
				f.deserted = true
				return nil, f
			}
			return nil, f
		}
		x.blame(e, unreachable(err))
		x.try.unreached = false
		x.account.tries++
	}
}

// post sends the request to the endpoint; connected tells whether there was a
// connection that could have carried some of it.
func (x *exchange) post(ctx context.Context, path string, body []byte) (response *http.Response, connected bool, err error) {
	var got atomic.Bool
	try := x.try
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The transport asks for another connection only when the one before,
		// an idle one that was closed meanwhile, has brought nothing back.
		GetConn:      func(string) { got.Store(false); try.reached.Store(false) },
		GotConn:      func(httptrace.GotConnInfo) { got.Store(true) },
		WroteHeaders: func() { try.reached.Store(true) },
	})
	upstream, err := newUpstreamRequest(ctx, try.target.provider, try.endpoint(), path, body, x.r.Header, x.id)
	if err != nil {
		return nil, false, err
	}
	x.sent = x.g.now()
	response, err = x.g.client.Do(upstream)
	return response, got.Load(), err
}

// exhausted is the failure of a request for which this process has no file left to
// open: no fault of the endpoint's, nor one that another try makes good.
func exhausted(err error) *failure {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return nil
	}
	return &failure{status: http.StatusServiceUnavailable, outcome: outcomeInternal, retryAfter: "1", cause: err,
		body: openai.NewError("server_error", "the gateway has too many connections open", "", "overloaded")}
}

// unreachable is a request that got no answer at all.
func unreachable(err error) *failure {
	return &failure{status: http.StatusBadGateway, outcome: outcomeConnect, remedy: anotherTry, cause: err,
		body: openai.NewError("upstream_error", "the model's server cannot be reached", "", "upstream_unreachable")}
}
