package gateway

import (
	"strconv"

	"go.opentelemetry.io/otel/propagation"

	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/internal/openai"
)

// provider is a configured provider.
type provider struct {
	name         string
	kind         kind
	sendPriority bool   // the class's, as vLLM's priority
	kindName     string // as configured: also gen_ai.provider.name
	key          string // empty for none
	cacheSalt    bool
	streamUsage  bool
	limitHeaders bool // clients may see what the upstream says of its own limits
	pool         *fleet.Pool
}

// newProvider builds a provider from configuration that was checked before.
func newProvider(c config.Provider, env config.Environment) *provider {
	spoken := kinds[c.Protocol()]
	return &provider{
		name: c.Name, kind: spoken, kindName: c.Protocol(), sendPriority: c.SendPriority, key: env[c.KeyEnv],
		cacheSalt: config.On(c.CacheSalt), streamUsage: config.On(c.StreamUsage) || spoken.counts(),
		limitHeaders: c.LimitHeaders,
	}
}

// redact takes out of what an upstream says about an error what no client may know:
// keys, and addresses within the network.
func (p *provider) redact(text []byte) []byte {
	return inner.ReplaceAll(p.withoutKeys(text), []byte(redacted))
}

// withoutKeys takes the provider's key out of a text, and what looks like a part of one,
// as vendors mask them.
func (p *provider) withoutKeys(text []byte) []byte {
	if p.key != "" {
		text = bytes.ReplaceAll(text, []byte(p.key), []byte(redacted))
	}
	return keyLike.ReplaceAll(text, []byte(redacted))
}

// keyLike matches keys in the form of most vendors.
var keyLike = regexp.MustCompile(`\bsk-[A-Za-z0-9_*.-]*[A-Za-z0-9_*-]`)

// inner matches private addresses (RFC 1918) with their scheme and port.
var inner = regexp.MustCompile(`(?:https?://)?\b(?:localhost:\d+|(?:(?:10|127)\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b(?::\d+)?)`)

// transportBuffer is what a connection to an upstream reads and writes through: most
// requests fit and all events, and each open stream has two. What is larger goes
// around it.
const transportBuffer = 2 << 10

// newClient returns the client for upstreams. It differs from Go's default in
// six points: it never asks for gzip, which would lump a stream; it keeps as
// many idle connections as there is load; it drops them before the five seconds
// after which uvicorn, and so most engines, close them, since a request that
// meets the closing is lost; it reads no more than 256 KiB of header, where Go's
// 10 MB would let a broken server fill the memory; its buffers are half as large;
// and it follows no redirect, which could carry the provider's key elsewhere.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   5 * time.Second,
			DisableCompression:    true,
			MaxIdleConnsPerHost:   4096,
			IdleConnTimeout:       4 * time.Second,
			ExpectContinueTimeout: time.Second,
			ForceAttemptHTTP2:     true,
			ReadBufferSize:        transportBuffer,
			WriteBufferSize:       transportBuffer,

			MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// carried are the client's headers that go upstream: the trace context. All
// others stay here, above all credentials, cookies and whatever could pass for
// an internal header of the upstream's own network.
var carried = []string{"Traceparent", "Tracestate", "Baggage"}

// Values of headers that all requests share, and nobody changes.
var (
	ofJSON     = []string{"application/json"}
	ofIdentity = []string{"identity"}
	ofGateway  = []string{"llmctl-gateway"}
)

// newUpstreamRequest builds the request to one endpoint. The body is a
// bytes.Reader, so the transport can send it again on a fresh connection when an
// idle one turns out to be closed.
func newUpstreamRequest(ctx context.Context, p *provider, e *fleet.Endpoint, path string, body []byte, client http.Header, id string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("building the request to %s: %w", e.Host, err)
	}
	for _, name := range carried {
		if v := client.Values(name); len(v) > 0 {
			r.Header[name] = v
		}
	}
	w3c.Inject(ctx, propagation.HeaderCarrier(r.Header)) // without a span of ours the client's stays
	r.Header["Content-Type"] = ofJSON
	r.Header["Accept-Encoding"] = ofIdentity
	r.Header["User-Agent"] = ofGateway
	r.Header["X-Request-Id"] = []string{id}
	// An empty list is not sent. It tells net/http that it may send the request once
	// more when an idle connection, closed by its server just then, has brought
	// nothing back.
	r.Header["X-Idempotency-Key"] = nil
	p.kind.authorize(r.Header, p.key)
	return r, nil
}

// maxErrorBody is how much of an upstream's error is read.
const maxErrorBody = 64 << 10

// upstreamFailure maps an answer that is not 200. What is wrong with the
// request, and not with the gateway's configuration, is passed on as it came.
func upstreamFailure(d *dialect, t *target, response *http.Response, now time.Time) *failure {
	p, status := t.provider, response.StatusCode
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // a cut error is still an error
	if lacksPath(d, status, body) {
		return pathless(d, t, status)
	}
	if f := misconfigured(t, status); f != nil {
		return f
	}
	f := &failure{status: http.StatusBadGateway, outcome: outcomeUpstream, remedy: anotherTry}
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		f.status = http.StatusGatewayTimeout
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		f.status = status
		if f.wait = retryHint(response.Header, now); f.wait > 0 {
			f.retryAfter = strconv.FormatInt(int64((f.wait+time.Second-1)/time.Second), 10)
		}
	case status >= 400 && status < 500:
		f.status, f.remedy = status, noRemedy
	}
	if f.status < 500 {
		f.outcome = outcomeUpstreamRefused
	}
	e := gjson.Result{}
	if validJSON(body) {
		e = gjson.GetBytes(body, "error")
	}
	f.cause = reported(status, e)
	switch {
	case p.wellFormed(e):
		f.raw = p.redact(body)
	case e.IsObject():
		f.body = p.shaped(e, status)
	default:
		f.body = openai.NewError("upstream_error", string(p.redact([]byte(errorText(status, body)))), "", "upstream_error")
	}
	return f
}

// misconfigured is the failure for a status that is about the gateway's own
// configuration, or nil for another one. The upstream's words would look like a
// mistake of the client's, who sent neither that key nor that model, and could
// quote the key.
func misconfigured(t *target, status int) *failure {
	f := &failure{
		status: http.StatusBadGateway, outcome: outcomeUpstream, remedy: anotherTarget,
		cause: fmt.Errorf("the upstream answered %d for model %q", status, t.model),
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		f.outcome = outcomeAuth
		f.body = openai.NewError("upstream_error", "the gateway's own credentials were refused upstream", "", "upstream_auth_error")
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		f.body = openai.NewError("upstream_error", "the gateway is configured with a model or an address that the upstream does not know", "", "upstream_error")
	default:
		return nil
	}
	return f
}

// errorText finds the message in an error that has not OpenAI's shape: older
// vLLM has message at the top, FastAPI has detail.
func errorText(status int, body []byte) string {
	if validJSON(body) {
		for _, key := range []string{"message", "detail"} {
			if text := gjson.GetBytes(body, key).Str; text != "" {
				return text
			}
		}
	}
	return strings.TrimSpace(fmt.Sprintf("the upstream answered %d %s", status, http.StatusText(status)))
}
