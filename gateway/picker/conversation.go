package picker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	mode "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/internal/openai"
)

// conversation is the messages about one request.
type conversation struct {
	options *Options

	// How Envoy sends bodies. Envoys that do not say have to be in the mode that the
	// endpoint picker protocol asks for.
	requestBody, responseBody mode.ProcessingMode_BodySendMode
	began                     bool

	header  map[string]string // of the request
	subset  subset
	body    []byte // of the request, so far
	renamed bool   // the body is not what the client sent
	held    int64  // bytes of it that count

	lease    *fleet.Lease
	response response
	over     bool // it was refused: nothing else is said
}

// Process implements the protocol's only call.
func (s *service) Process(stream extproc.ExternalProcessor_ProcessServer) error {
	c := &conversation{
		options: &s.options, header: map[string]string{},
		requestBody: mode.ProcessingMode_FULL_DUPLEX_STREAMED, responseBody: mode.ProcessingMode_FULL_DUPLEX_STREAMED,
	}
	ctx := stream.Context()
	defer func() { c.end(ctx) }()
	defer func() { c.letGo() }()
	for !c.over {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil // Envoy has heard all that it wants to
		}
		if err != nil {
			return err
		}
		out, err := c.answer(ctx, in)
		if err != nil {
			return err
		}
		for _, m := range out {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
		if c.body == nil {
			c.letGo() // what was sent is with Envoy now
		}
	}
	return nil
}

// answer takes a message in. The error ends the conversation.
func (c *conversation) answer(ctx context.Context, in *extproc.ProcessingRequest) ([]*extproc.ProcessingResponse, error) {
	if !c.began {
		c.began = true
		if p := in.GetProtocolConfig(); p != nil {
			c.requestBody, c.responseBody = p.GetRequestBodyMode(), p.GetResponseBodyMode()
		}
	}
	switch m := in.GetRequest().(type) {
	case *extproc.ProcessingRequest_RequestHeaders:
		c.read(m.RequestHeaders, in.GetMetadataContext())
		if !m.RequestHeaders.GetEndOfStream() && c.awaitsBody() {
			if c.requestBody == mode.ProcessingMode_FULL_DUPLEX_STREAMED {
				return nil, nil // the header is answered once the body is there
			}
			return one(headersReply(nil)), nil
		}
		return c.pick(ctx, func(d *destination) []*extproc.ProcessingResponse { return one(headersReply(d)) })
	case *extproc.ProcessingRequest_RequestBody:
		return c.take(ctx, m.RequestBody)
	case *extproc.ProcessingRequest_RequestTrailers:
		return c.trailers(ctx)
	case *extproc.ProcessingRequest_ResponseHeaders:
		c.respond(ctx, m.ResponseHeaders, answeredBy(in))
		return one(responseHeadersReply()), nil
	case *extproc.ProcessingRequest_ResponseBody:
		return c.pass(m.ResponseBody), nil
	case *extproc.ProcessingRequest_ResponseTrailers:
		c.response.whole = true
		return one(responseTrailersReply()), nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "unknown message %T", in.GetRequest())
}

// read takes the request's header in, and which endpoints are allowed.
func (c *conversation) read(h *extproc.HttpHeaders, metadata *corev3.Metadata) {
	for _, v := range h.GetHeaders().GetHeaders() {
		key := strings.ToLower(v.GetKey())
		if _, seen := c.header[key]; !seen {
			c.header[key] = valueOf(v)
		}
	}
	c.subset = subsetOf(metadata)
}

// awaitsBody tells whether the whole body comes before Envoy needs an endpoint.
func (c *conversation) awaitsBody() bool {
	switch c.requestBody {
	case mode.ProcessingMode_BUFFERED, mode.ProcessingMode_BUFFERED_PARTIAL, mode.ProcessingMode_FULL_DUPLEX_STREAMED:
		return true
	}
	return false
}

// take takes in a part of the request's body, or all of it.
func (c *conversation) take(ctx context.Context, b *extproc.HttpBody) ([]*extproc.ProcessingResponse, error) {
	if !c.awaitsBody() {
		return one(bodyReply(nil)), nil
	}
	if int64(len(c.body)+len(b.GetBody())) > c.options.MaxBody {
		return c.refuse(http.StatusRequestEntityTooLarge, "invalid_request_error", "the body is larger than "+strconv.FormatInt(c.options.MaxBody, 10)+" bytes", "request_too_large", 0), nil
	}
	if !c.hold(int64(len(b.GetBody()))) {
		return c.refuse(http.StatusServiceUnavailable, "server_error", "too many large requests at once", "overloaded", time.Second), nil
	}
	c.body = openai.AppendDoubling(c.body, b.GetBody())
	if c.requestBody != mode.ProcessingMode_FULL_DUPLEX_STREAMED {
		return c.pick(ctx, func(d *destination) []*extproc.ProcessingResponse {
			if c.renamed {
				return one(replacedBodyReply(d, c.body))
			}
			return one(bodyReply(d))
		})
	}
	if !b.GetEndOfStream() {
		return nil, nil
	}
	return c.pick(ctx, func(d *destination) []*extproc.ProcessingResponse { return c.replay(d, true) })
}

// hold counts more of the body, and reports whether there is room for it.
func (c *conversation) hold(n int64) bool {
	if c.options.Hold == nil || n == 0 {
		return true
	}
	c.held += n
	return c.options.Hold(c.request(), n)
}

// letGo forgets what of the body counts.
func (c *conversation) letGo() {
	if c.held > 0 {
		c.options.Hold(c.request(), -c.held)
		c.held = 0
	}
}

// request is what is known of the request.
func (c *conversation) request() Request {
	return Request{Path: c.header[":path"], Header: func(name string) string { return c.header[name] }, Body: c.body}
}

// trailers end a request's body that has not ended yet.
func (c *conversation) trailers(ctx context.Context) ([]*extproc.ProcessingResponse, error) {
	if c.lease != nil || c.requestBody != mode.ProcessingMode_FULL_DUPLEX_STREAMED {
		return one(requestTrailersReply()), nil
	}
	out, err := c.pick(ctx, func(d *destination) []*extproc.ProcessingResponse { return c.replay(d, false) })
	if err != nil || c.over {
		return out, err
	}
	return append(out, requestTrailersReply()), nil
}

// replay answers the header, and gives back the body, which ends there unless
// trailers follow.
func (c *conversation) replay(d *destination, end bool) []*extproc.ProcessingResponse {
	out := one(headersReply(d))
	var last *extproc.StreamedBodyResponse
	for part := range parts(c.body) {
		last = &extproc.StreamedBodyResponse{Body: part}
		out = append(out, streamedBodyReply(last))
	}
	last.EndOfStream = end
	return out
}

// pick gets the request a place at an endpoint, and answers with it or refuses.
func (c *conversation) pick(ctx context.Context, reply func(*destination) []*extproc.ProcessingResponse) ([]*extproc.ProcessingResponse, error) {
	if c.lease != nil {
		return nil, status.Error(codes.InvalidArgument, "a second request in one stream")
	}
	pool := c.options.Pool()
	if pool == nil {
		return c.refuse(http.StatusServiceUnavailable, "server_error", "the picker has no endpoints", "no_healthy_upstream", 0), nil
	}
	if problem := c.rename(); problem != "" {
		return c.refuse(http.StatusBadRequest, "invalid_request_error", problem, "", 0), nil
	}
	want := c.options.Want(c.request())
	if c.subset.set {
		want.Only = func(e *fleet.Endpoint) bool { return c.subset.allows(addressOf(e)) }
	}
	lease, err := pool.Acquire(ctx, want)
	if refused, ok := errors.AsType[*fleet.Refused](err); ok {
		if refused.Saturated() {
			return c.refuse(http.StatusTooManyRequests, "rate_limit_error", "the model's servers have too much to do", "overloaded", refused.RetryAfter), nil
		}
		if refused.Resting {
			return c.refuse(http.StatusTooManyRequests, "rate_limit_error", "the model's servers are at a limit of their own, and asked to be left alone", "rate_limit_exceeded", refused.RetryAfter), nil
		}
		return c.refuse(http.StatusServiceUnavailable, "server_error", "none of the model's servers is healthy", "no_healthy_upstream", refused.RetryAfter), nil
	}
	if err != nil {
		return nil, status.FromContextError(err).Err()
	}
	c.lease = lease
	out := reply(&destination{address: addressOf(lease.Endpoint())})
	c.body = nil
	return out, nil
}

func (c *conversation) refuse(code int, kind, message, name string, retryAfter time.Duration) []*extproc.ProcessingResponse {
	c.over = true
	return one(immediateReply(code, kind, message, name, retryAfter))
}
