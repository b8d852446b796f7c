package picker

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	mode "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"

	"github.com/llmctl/llmctl/gateway/fleet"
)

// response is what is known of the answer to a request.
type response struct {
	status int // 0 before its header
	from   answerer
	whole  bool // it has ended
}

// respond takes the response's header in.
func (c *conversation) respond(ctx context.Context, h *extproc.HttpHeaders, from answerer) {
	var retryAfter string
	for _, v := range h.GetHeaders().GetHeaders() {
		switch strings.ToLower(v.GetKey()) {
		case ":status":
			c.response.status, _ = strconv.Atoi(valueOf(v)) // 0 is unknown
		case "retry-after":
			retryAfter = valueOf(v)
		}
	}
	c.response.from, c.response.whole = from, h.GetEndOfStream()
	if !c.endpointAnswers() {
		c.end(ctx) // the endpoint has nothing more to do with it, and the client has not heard yet
		return
	}
	c.lease.Answered()
	if c.response.status == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(retryAfter) // a date, or nothing, is no cool-down
		c.lease.CoolDown(min(time.Duration(seconds), 1<<20) * time.Second)
	}
}

// endpointAnswers tells whether the response is that of the endpoint which was
// picked, for all that is known.
func (c *conversation) endpointAnswers() bool {
	return c.lease != nil && !c.response.from.envoy && !c.elsewhere()
}

// elsewhere tells whether Envoy has sent the request to another endpoint than the
// picked one, as it may when it tries again.
func (c *conversation) elsewhere() bool {
	at := c.response.from.address
	return at != "" && at != addressOf(c.lease.Endpoint())
}

// pass gives a part of the response's body back.
func (c *conversation) pass(b *extproc.HttpBody) []*extproc.ProcessingResponse {
	c.response.whole = b.GetEndOfStream()
	if c.endpointAnswers() && c.response.status == http.StatusOK && len(b.GetBody()) > 0 {
		c.lease.Produced()
	}
	if c.responseBody == mode.ProcessingMode_FULL_DUPLEX_STREAMED {
		return one(streamedResponseBodyReply(b))
	}
	return one(responseBodyReply())
}

// end gives the place back, and says how the endpoint fared, the first time.
func (c *conversation) end(ctx context.Context) {
	if c.lease != nil {
		c.lease.Release(c.outcome(ctx))
	}
}

// outcome is how the endpoint fared. Where Envoy sends no response bodies, a good
// header is all that is known; where it does, one that breaks off was left by its
// client, for all that is known.
func (c *conversation) outcome(ctx context.Context) fleet.Outcome {
	r := &c.response
	switch {
	case r.status == 0:
		return fleet.Neutral
	case c.elsewhere() && r.from.again: // the first try was at the picked endpoint, and got no answer
		return fleet.Unreached
	case c.elsewhere():
		return fleet.Neutral
	case r.from.envoy:
		return r.from.outcome
	case r.status >= http.StatusInternalServerError:
		return fleet.Failed
	case r.status >= http.StatusBadRequest, !r.whole && ctx.Err() != nil && c.responseBody != mode.ProcessingMode_NONE:
		return fleet.Neutral
	}
	return fleet.OK
}
