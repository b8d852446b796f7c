package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/loadgen/client/wire"
	"github.com/llmctl/llmctl/reports/record"
)

// Options say to whom requests go and how long they may take. Zero limits are
// none.
type Options struct {
	Endpoint string   // base URL, with or without /v1
	Others   []string // further endpoints of the same kind, among which sessions are dealt out in turn
	APIKey   string   // sent as a bearer token; never part of an error, a log or a record
	API      API      // Chat when empty
	Headers  http.Header

	HTTP HTTP        // HTTP1 when empty
	TLS  *tls.Config // of https endpoints; nil verifies by the system's certificates

	FirstTokenTimeout time.Duration // from Sent to the first output
	IdleTimeout       time.Duration // between outputs
	TotalTimeout      time.Duration // from Sent to the end
	ConnectTimeout    time.Duration // of one attempt to connect; DefaultConnectTimeout when 0

	// MaxEvent is the largest event of a stream, in bytes; openai.MaxEventBytes
	// when 0.
	MaxEvent int

	// Retries is how often a request is sent again that could not connect or was
	// answered by a status that says “later”. Time runs from the first attempt.
	Retries int

	// Now is the time since the start of the run, by which records are stamped.
	Now func() time.Duration

	// Dial replaces the network; nil is TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// CountTokens counts the tokens of all that an answer said, where the server
	// does not tell; nil takes the events with output for tokens.
	CountTokens func(text string) int

	// OnFirst and OnOutput are told of first tokens and of output as they
	// arrive, from several goroutines; nil is nobody.
	OnFirst  func(now, ttft time.Duration)
	OnOutput func(tokens int)
}

// Endpoints are all base URLs, in the order of the index in a record.
func (o Options) Endpoints() []string { return append([]string{o.Endpoint}, o.Others...) }

// Request is one request to be sent.
type Request struct {
	Body []byte
	// WithoutUsage writes the body again without stream_options, for a server
	// that refuses them by name; nil when the body has none.
	WithoutUsage func() []byte
	// Keep asks for the text and the tool calls of the answer, which the next
	// turn of a session carries.
	Keep bool
	// CancelAfter is when the user leaves, since Sent; 0 is never. The request is
	// then cancelled and its connection closed, unless it has ended before.
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
	transport *http.Transport // for what our own transport does not speak
	wires     *wire.Transport
	servers   []*server
	dialect   dialect
	secrets   []string // replaced wherever a server's message repeats one

	bounds  bounds
	retries int
	largest int                  // event, in bytes; 0 is the usual limit
	now     func() time.Duration // since the start of the run

	refusals atomic.Uint32 // a bit for each of optional that the server does not know

	countTokens func(text string) int // may be nil
	onFirst     func(now, ttft time.Duration)
	onOutput    func(tokens int)
}

// New returns a client, or an error when an endpoint is no URL or an option no
// choice.
func New(o Options) (*Client, error) {
	if o.API.dialect() == (dialect{}) {
		return nil, fmt.Errorf("unknown API %q, expected one of %q", o.API, APIs())
	}
	if o.Now == nil {
		start := time.Now()
		o.Now = func() time.Duration { return time.Since(start) }
	}
	if err := o.HTTP.check(); err != nil {
		return nil, err
	}
	c := &Client{
		transport:   o.NewTransport(),
		wires:       wire.New(wire.Options{Dial: o.Dial, ConnectTimeout: o.connectTimeout(), Now: o.Now}),
		dialect:     o.API.dialect(),
		bounds:      bounds{firstToken: o.FirstTokenTimeout, idle: o.IdleTimeout, total: o.TotalTimeout},
		retries:     o.Retries,
		largest:     o.MaxEvent,
		now:         o.Now,
		countTokens: o.CountTokens,
		onFirst:     o.OnFirst,
		onOutput:    o.OnOutput,
	}
	for _, base := range o.Endpoints() {
		s, err := c.newServer(o, base)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, s)
		c.secrets = append(c.secrets, secrets(o, s.target)...)
	}
	if c.onFirst == nil {
		c.onFirst = func(time.Duration, time.Duration) {}
	}
	if c.onOutput == nil {
		c.onOutput = func(int) {}
	}
	return c, nil
}

// Close ends the connections that nobody uses. No request may be in flight.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.wires.Close()
}

// Warm opens connections ahead of need, n over all endpoints, so that the first
// requests of a window need not wait for theirs. They are paced and stay usable
// for 20 s. Endpoints of HTTPS and HTTP/2, and those behind a proxy, are left
// out. The error is that of the first endpoint with one; the connections
// that could be opened are.
func (c *Client) Warm(ctx context.Context, n int) error {
	failed := make([]error, len(c.servers))
	var warming sync.WaitGroup
	for i, s := range c.servers {
		share := (n + len(c.servers) - 1 - i) / len(c.servers)
		if s.pool == nil {
			continue
		}
		warming.Go(func() {
			if err := s.pool.Warm(ctx, share); err != nil {
				failed[i] = fmt.Errorf("opening %d connections to %s: %w", share, s.target, err)
			}
		})
	}
	warming.Wait()
	return cmp.Or(failed...)
}

// Do sends a request and fills its record. It returns when the request has ended
// in one way or another, at the latest a moment after ctx has; a request that
// the end of ctx ended was cut. The session of the record decides which endpoint
// it goes to.
func (c *Client) Do(ctx context.Context, request Request, r *record.Record) Answer {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{Client: c, request: request, record: r, server: c.servers[0]}
	if n := len(c.servers); n > 1 {
		i := int(uint64(r.Session) % uint64(n))
		x.server, r.Endpoint = c.servers[i], record.Counted(i)
	}
	x.answer.decoder.Max = c.largest
	x.watch = watchdog{now: c.now, cancel: cancel, bounds: c.bounds}
	x.watch.bounds.leave = request.CancelAfter
	x.send(ctx)
	x.watch.stop()
	r.Wrote = record.Moment(x.wrote.Load())
	r.FirstByte = record.Moment(x.firstByte.Load())
	for _, text := range []*string{&r.Detail, &r.FinishReason, &r.RequestID} {
		*text = redact(*text, c.secrets)
	}
	return Answer{Text: string(x.answer.text), ToolCalls: x.answer.calls.message()}
}

// send makes as many attempts as the server's refusals, a connection that had
// been closed and the retries that were asked for take.
func (x *exchange) send(ctx context.Context) {
	body := x.known(x.request.Body)
	fresh := false
	for try := 0; ; {
		switch x.attempt(ctx, body, fresh) {
		case resend:
			fresh = true
		case without:
			body = x.known(body)
		default:
			if try == x.retries || !x.later(ctx, try) {
				return
			}
			try++
		}
	}
}
