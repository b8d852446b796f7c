package gateway

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/llmctl/llmctl/internal/openai"
)

// send tries the provider's endpoints, each once, until one takes the
// connection. Only a request of which nothing was sent goes on to the next: a
// model must not answer twice. An endpoint without an answer rests for a while.
func (x *exchange) send(ctx context.Context, body []byte) (*http.Response, *failure) {
	g, p := x.g, x.target.provider
	var tried []*endpoint
	for {
		response, connected, err := x.attempt(ctx, body)
		now := g.elapsed(g.now())
		f := interruption(ctx)
		p.judge(x.endpoint, x.pass, err == nil, f == nil || !connected && f.outcome.timeout(), now)
		if err == nil {
			return response, nil
		}
		if f != nil {
			return nil, f
		}
		tried = append(tried, x.endpoint)
		if connected {
			return nil, unreachable(err)
		}
		next, pass := p.acquire(now, tried...)
		if next == nil {
			return nil, unreachable(err)
		}
		g.metrics.upstream.WithLabelValues(p.name, x.endpoint.base, string(outcomeConnect)).Inc()
		x.endpoint.release()
		x.endpoint, x.pass = next, pass
		x.retries++
	}
}

// attempt sends the request to the endpoint; connected tells whether there was a
// connection that could have carried some of it.
func (x *exchange) attempt(ctx context.Context, body []byte) (response *http.Response, connected bool, err error) {
	var got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The transport asks for another connection only when the one before,
		// an idle one that was closed meanwhile, has carried nothing.
		GetConn:      func(string) { got.Store(false); x.reached.Store(false) },
		GotConn:      func(httptrace.GotConnInfo) { got.Store(true) },
		WroteHeaders: func() { x.reached.Store(true) },
	})
	upstream, err := newUpstreamRequest(ctx, x.target.provider, x.endpoint, x.r.URL.Path, body, x.r.Header, x.id)
	if err != nil {
		return nil, false, err
	}
	response, err = x.g.client.Do(upstream)
	return response, got.Load(), err
}

// unreachable is a request that got no answer at all.
func unreachable(err error) *failure {
	return &failure{status: http.StatusBadGateway, outcome: outcomeConnect, cause: err,
		body: openai.NewError("upstream_error", "the model's server cannot be reached", "", "upstream_unreachable")}
}
