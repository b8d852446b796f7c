package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/reports/record"
)

// API is the endpoint's dialect.
type API string

// The dialects.
const (
	Chat        API = "chat"        // POST /v1/chat/completions
	Completions API = "completions" // POST /v1/completions
	Responses   API = "responses"   // POST /v1/responses
	Embeddings  API = "embeddings"  // POST /v1/embeddings; the answer is one JSON document
)

// Options say to whom requests go and how long they may take. Zero limits are
// none.
type Options struct {
	Endpoint string // base URL, with or without /v1
	APIKey   string // sent as a bearer token; never part of an error, a log or a record
	API      API    // Chat when empty
	Headers  http.Header

	FirstTokenTimeout time.Duration // from Sent to the first output
	IdleTimeout       time.Duration // between outputs
	TotalTimeout      time.Duration // from Sent to the end

	// Now is the time since the start of the run, by which records are stamped.
	Now func() time.Duration
	// Dial replaces the network; nil is TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// OnFirst and OnOutput are told of first tokens and of output as they
	// arrive, from many goroutines; nil is nobody.
	OnFirst  func(now, ttft time.Duration)
	OnOutput func(tokens int)
}

// Request is one request to be sent.
type Request struct {
	Body []byte
	// WithoutUsage writes the body again without stream_options, for a server
	// that refuses them by name; nil when the body has none.
	WithoutUsage func() []byte
	// Keep asks for the text of the answer, which the next turn of a session
	// carries.
	Keep bool
	// CancelAfter is when the user leaves, since Sent; 0 is never. The request is
	// then cancelled, unless it has ended before.
	CancelAfter time.Duration
	// Exact means that the server was asked for exactly the record's
	// AskedOutput tokens, so that fewer are a short output.
	Exact bool
}

// Answer is what a server said, as the next turn of a session carries it.
type Answer struct {
	Text      string          // content, without reasoning
	ToolCalls json.RawMessage // a JSON array as in an assistant message; nil without
}

// Client sends requests and writes down what comes back. It is shared by all
// requests of a run.
type Client struct {
	transport *http.Transport
	target    endpoint
	url       string
	header    http.Header
	secrets   []string // replaced wherever a server's message repeats one

	firstToken, idle, total time.Duration
	now                     func() time.Duration // since the start of the run

	usageRefused atomic.Bool // the server does not know stream_options

	onFirst  func(now, ttft time.Duration)
	onOutput func(tokens int)
}

// New returns a client, or an error when the endpoint is no URL.
func New(o Options) (*Client, error) {
	target, err := parseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	switch o.API {
	case "":
		o.API = Chat
	case Chat, Completions, Responses, Embeddings:
	default:
		return nil, fmt.Errorf("unknown API %q, expected chat, completions, responses or embeddings", o.API)
	}
	header := http.Header{}
	for name, values := range o.Headers {
		header[http.CanonicalHeaderKey(name)] = append([]string(nil), values...)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "llmctl")
	}
	authorize(header, o.APIKey, target)
	c := &Client{
		transport:  NewTransport(o.Dial),
		target:     target,
		url:        target.generate(o.API),
		header:     header,
		secrets:    secrets(o, target),
		firstToken: o.FirstTokenTimeout,
		idle:       o.IdleTimeout,
		total:      o.TotalTimeout,
		now:        o.Now,
		onFirst:    o.OnFirst,
		onOutput:   o.OnOutput,
	}
	if c.onFirst == nil {
		c.onFirst = func(time.Duration, time.Duration) {}
	}
	if c.onOutput == nil {
		c.onOutput = func(int) {}
	}
	return c, nil
}

// Close ends the connections that nobody uses.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// UsageRefused reports that the server does not know stream_options, so that
// bodies are better written without.
func (c *Client) UsageRefused() bool { return c.usageRefused.Load() }

// authorize sets the credentials: the API key, else what the URL holds.
func authorize(header http.Header, key string, target endpoint) {
	switch {
	case key != "":
		header.Set("Authorization", "Bearer "+key)
	case target.user != nil && header.Get("Authorization") == "":
		password, _ := target.user.Password()
		basic := http.Request{Header: header}
		basic.SetBasicAuth(target.user.Username(), password)
	}
}

// exchange is one request on its way.
type exchange struct {
	*Client
	request Request
	record  *record.Record
	watch   watchdog

	// The transport's goroutines write these, at times after it has returned.
	wrote, firstByte atomic.Int64 // a record.Moment

	answer answer
}

// Do sends a request and fills its record. It returns when the request has ended
// in one way or another, at the latest a moment after ctx has; a request that
// the end of ctx ended was cut.
func (c *Client) Do(ctx context.Context, request Request, r *record.Record) Answer {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{Client: c, request: request, record: r}
	if request.CancelAfter > 0 {
		leave := time.AfterFunc(request.CancelAfter, func() { cancel(errLeft) })
		defer leave.Stop()
	}
	x.watch = watchdog{now: c.now, cancel: cancel, firstToken: c.firstToken, idle: c.idle, total: c.total}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.wrote.Store(int64(record.At(c.now()))) },
		GotFirstResponseByte: func() { x.firstByte.Store(int64(record.At(c.now()))) },
	})
	body := request.Body
	if x.request.WithoutUsage != nil && c.usageRefused.Load() {
		body = x.withoutUsage()
	}
	if again := x.attempt(ctx, cancel, body); again {
		x.attempt(ctx, cancel, x.withoutUsage())
	}
	x.watch.stop()
	r.Wrote = record.Moment(x.wrote.Load())
	r.FirstByte = record.Moment(x.firstByte.Load())
	r.Detail = redact(r.Detail, c.secrets)
	return Answer{Text: string(x.answer.text)}
}

// withoutUsage writes the body again, for a server that does not know
// stream_options.
func (x *exchange) withoutUsage() []byte {
	body := x.request.WithoutUsage()
	x.request.WithoutUsage = nil
	return body
}

// attempt sends the request once. again reports that the server refuses
// stream_options by name and the request should be sent without it; there are
// no other retries.
func (x *exchange) attempt(ctx context.Context, cancel context.CancelCauseFunc, body []byte) (again bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(body))
	if err != nil {
		fail(x.record, record.Malformed, err.Error())
		return false
	}
	request.Header = x.header // shared: the transport does not change it
	if sent := x.now(); !x.record.Sent.Known() {
		x.record.Sent = record.At(sent)
		x.watch.start(sent)
	}
	x.record.Attempts++
	response, err := x.transport.RoundTrip(request)
	if err != nil {
		if !giveUp(ctx, x.record, x.now()) {
			failTransport(x.record, err)
		}
		return false
	}
	defer func() { _ = response.Body.Close() }() // nothing is left to read
	x.record.HTTPStatus = response.StatusCode
	x.record.RequestID = OneLine(response.Header.Get("X-Request-Id"))
	if response.StatusCode/100 != 2 {
		return x.refused(response)
	}
	if !x.notAStream(response) {
		x.read(ctx, response.Body)
		finishBody(response.Body, cancel)
	}
	return false
}

// afterlife is how long an answer that is over may take to end its HTTP
// message, so that its connection can be used again.
const afterlife = 100 * time.Millisecond

func finishBody(body io.Reader, cancel context.CancelCauseFunc) {
	timer := time.AfterFunc(afterlife, func() { cancel(nil) })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(body, readSize)) // only the connection depends on it
}

// maxErrorBody is how much of an error page is read, in bytes.
const maxErrorBody = 64 << 10

// refused handles a status other than 2xx.
func (x *exchange) refused(response *http.Response) (again bool) {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // half a message is better than none
	badRequest := response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnprocessableEntity
	named := bytes.Contains(body, []byte("stream_options")) || bytes.Contains(body, []byte("include_usage")) ||
		bytes.Contains(body, []byte("continuous_usage_stats"))
	if badRequest && named && x.request.WithoutUsage != nil {
		x.usageRefused.Store(true)
		return true
	}
	fail(x.record, record.HTTPFailure(response.StatusCode), errorText(response, body))
	return false
}

// notAStream handles a successful answer that says that it is something else
// than a stream of events.
func (x *exchange) notAStream(response *http.Response) bool {
	kind := mediaType(response)
	if kind != "text/html" && kind != "application/json" {
		return false
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	var chunk openai.Chunk
	if chunk.Parse(body) == nil && chunk.Failed {
		fail(x.record, record.StreamError, errorText(response, body))
	} else {
		fail(x.record, record.NotSSE, "answered "+kind+" instead of text/event-stream: "+errorText(response, body))
	}
	return true
}
