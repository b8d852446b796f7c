package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/loadgen/client/wire"
	"github.com/llmctl/llmctl/reports/record"
)

// overWire sends the request over our own transport. The error is nil when the
// answer is complete.
func (x *exchange) overWire(ctx context.Context, body []byte, fresh bool) (reused bool, err error) {
	x.parser.Reset()
	reused, err = x.server.pool.RoundTrip(ctx, x.server.headFor(len(body)), body, (*wireStream)(x), fresh)
	switch {
	case x.broken != nil:
		err = x.broken
	case err == io.EOF: //nolint:errorlint // itself: the connection was closed
		if err = x.parser.End(); err == nil {
			x.ended(x.now())
		}
	}
	return reused, err
}

// wireStream is an exchange as our own transport sees it.
type wireStream exchange

// Wrote implements wire.Stream.
func (s *wireStream) Wrote(now time.Duration) { s.wrote.Store(int64(record.At(now))) }

// Push implements wire.Stream.
func (s *wireStream) Push(p []byte, now time.Duration) wire.Verdict {
	x := (*exchange)(s)
	if !x.parser.Began() {
		x.firstByte.Store(int64(record.At(now)))
	}
	for len(p) > 0 && !x.parser.Ended() {
		var body []byte
		if body, p, x.broken = x.parser.Next(p); x.broken != nil {
			return wire.Close
		}
		if head := x.parser.Head(); head != nil && x.reply == nil {
			x.begin(newReply(head.Status, head.Get))
		}
		if len(body) > 0 && !x.satisfied {
			x.satisfied = !x.take(body, now)
		}
	}
	switch {
	case x.parser.Ended():
		x.ended(now)
		if len(p) == 0 && x.parser.Reusable() {
			return wire.Reuse
		}
		return wire.Close
	case x.satisfied && !x.streams():
		return wire.Close
	case x.satisfied:
		x.watch.linger(now)
	}
	return wire.More
}

// overHTTP sends the request over net/http. reused reports that the connection
// had carried another one.
func (x *exchange) overHTTP(ctx context.Context, body []byte) (reused bool, err error) {
	var used atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(c httptrace.GotConnInfo) { used.Store(c.Reused) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.wrote.Store(int64(record.At(x.now()))) },
		GotFirstResponseByte: func() { x.firstByte.Store(int64(record.At(x.now()))) },
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, x.server.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header = x.server.header // shared: the transport does not change it
	request.Host = x.server.host
	response, err := x.transport.RoundTrip(request)
	if err != nil {
		return used.Load(), err
	}
	defer func() { _ = response.Body.Close() }() // nothing is left to read
	x.begin(newReply(response.StatusCode, response.Header.Get))
	return used.Load(), x.readBody(response.Body)
}

// readBody follows the body to its end. When the answer is complete before it,
// the rest is given a moment to come, for the sake of the connection.
func (x *exchange) readBody(body io.Reader) error {
	err := wire.Read(body, x.now, func(p []byte, now time.Duration) (more bool) {
		if x.satisfied {
			return true
		}
		if x.satisfied = !x.take(p, now); !x.satisfied {
			return true
		}
		if x.streams() {
			x.watch.linger(now)
		}
		return x.streams()
	})
	if err == io.EOF { //nolint:errorlint // the contract of io.Reader
		x.ended(x.now())
		return nil
	}
	return err
}
