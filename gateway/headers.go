package gateway

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// clocked is where a request's time has gone, as far as its answer's header tells.
type clocked struct {
	upstream time.Duration // with upstreams, in tries that have ended
	sent     time.Time     // when the try under way was sent; zero without one
	heard    time.Time     // when an answer's last part came
}

// back ends the time with an upstream.
func (c *clocked) back(now time.Time) {
	if !c.sent.IsZero() {
		c.upstream += now.Sub(c.sent)
		c.sent = time.Time{}
	}
}

// with is the time with upstreams until now: of a try under way, until it was last
// heard of, since what follows is the gateway's own doing.
func (c *clocked) with() time.Duration {
	if c.heard.After(c.sent) && !c.sent.IsZero() {
		return c.upstream + c.heard.Sub(c.sent)
	}
	return c.upstream
}

// tellTaken says in the header, which is about to go out, how long the answer took
// and after how many tries it came. A stream's header goes out with its first
// output, so that its times are those until then.
func (x *exchange) tellTaken() {
	if x.dialect == nil {
		return
	}
	h, taken := x.w.Header(), x.g.now().Sub(x.began)
	values := [4]string{inMilliseconds(taken), inMilliseconds(taken - x.with())} // one piece of memory for all
	h["X-Llmctl-Response-Duration-Ms"] = values[0:1:1]
	h["X-Llmctl-Overhead-Duration-Ms"] = values[1:2:2]
	if x.try == nil {
		return
	}
	values[2], values[3] = strconv.Itoa(x.retries()), strconv.Itoa(x.fallbacks)
	h["X-Llmctl-Attempted-Retries"] = values[2:3:3]
	h["X-Llmctl-Attempted-Fallbacks"] = values[3:4:4]
	handLimits(h, x.try)
}

// inMilliseconds writes a duration with three decimals.
func inMilliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(max(0, d))/float64(time.Millisecond), 'f', 3, 64)
}

// What is handed on of an upstream's limits: fields of any kind's API, for vendors have
// their own beside OpenAI's protocol too, with a prefix that keeps them apart from the
// tenant's own, and no more of them, nor longer ones, than any sends.
const (
	upstreamPrefix  = "X-Llmctl-Upstream-"
	maxLimitHeaders = 32
	maxLimitHeader  = 64 // bytes of a value
)

// tellsLimits tells whether a header field is about limits in one of the protocols.
func tellsLimits(name string) bool {
	for _, k := range kinds {
		if strings.HasPrefix(name, k.limits()) {
			return true
		}
	}
	return false
}

// handLimits hands on what the upstream says of its own limits. They are those of
// the provider's key, which tenants share: whether they may see how much all of them
// use is for the configuration to say.
func handLimits(h http.Header, a *attempt) {
	if a.answered == nil || !a.target.provider.limitHeaders {
		return
	}
	n := 0
	for name, values := range a.answered {
		if !tellsLimits(name) {
			continue
		}
		if n == maxLimitHeaders || len(values[0]) > maxLimitHeader {
			continue
		}
		h[upstreamPrefix+name] = []string{string(a.target.provider.redact([]byte(values[0])))}
		n++
	}
}
