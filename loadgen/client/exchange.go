package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/loadgen/client/wire"
	"github.com/llmctl/llmctl/reports/record"
)

// exchange is one request on its way.
type exchange struct {
	*Client
	server  *server
	request Request
	body    []byte // of this attempt
	dropped uint32 // a bit for each of optional that a refusal of this request named
	record  *record.Record
	watch   watchdog

	// The transport writes these, maybe from other goroutines.
	wrote, firstByte atomic.Int64 // a record.Moment

	reply     *reply // nil until the head of the answer is there
	satisfied bool   // the rest of the answer is of no interest
	form      form   // of a successful answer
	page      []byte // the body of an answer that is no stream
	answer    answer

	parser wire.Parser // of our own transport
	broken error       // what it found
}

// reply is what the head of an answer says.
type reply struct {
	status     int
	kind       string // media type
	requestID  string
	retryAfter string
	encoding   string // of the content, which was not asked for; empty when it has none
}

func newReply(status int, field func(name string) string) *reply {
	encoding := strings.ToLower(strings.TrimSpace(field("Content-Encoding")))
	if encoding == "identity" {
		encoding = ""
	}
	return &reply{status, mediaType(field("Content-Type")), field("X-Request-Id"), field("Retry-After"), encoding}
}

func (r *reply) success() bool { return r.status/100 == 2 }

// streams reports whether the answer is a stream of events, as far as can be
// told.
func (x *exchange) streams() bool { return x.reply.success() && !x.dialect.document && x.form != page }

// begin notes the head of the answer.
func (x *exchange) begin(r *reply) {
	x.reply = r
	x.record.HTTPStatus, x.record.RequestID = r.status, OneLine(r.requestID)
}

// maxErrorBody is how much of an error page is read, in bytes, and maxDocument
// how much of a document: a batch of embeddings in JSON takes about 20 KB each.
const (
	maxErrorBody = 64 << 10
	maxDocument  = 256 << 20
)

// take handles a piece of the body of the answer. wanted reports whether more
// of it is of interest.
func (x *exchange) take(p []byte, now time.Duration) (wanted bool) {
	if x.form == undecided && x.streams() {
		p = x.decide(p)
	}
	if x.streams() {
		return x.push(p, now)
	}
	limit := maxErrorBody
	if x.dialect.document && x.reply.success() {
		limit = maxDocument
	}
	x.page = append(x.page, p[:min(len(p), limit-len(x.page))]...)
	return len(x.page) < limit
}

// ended notes that the HTTP message is complete.
func (x *exchange) ended(now time.Duration) {
	switch {
	case x.satisfied:
	case x.streams():
		if x.form == undecided {
			x.push(x.page, now)
		}
		x.end(now)
	case x.dialect.document:
		x.record.Closed = record.At(now)
	}
}

// next is what follows an attempt.
type next int

const (
	over    next = iota
	resend       // the same request, on a fresh connection
	without      // the request without what the server refused by name
)

// attempt sends the request once. Only a fresh connection will do after one that
// the server had closed.
func (x *exchange) attempt(ctx context.Context, body []byte, fresh bool) next {
	x.body, x.reply, x.satisfied, x.form, x.page, x.broken = body, nil, false, undecided, x.page[:0], nil
	r := x.record
	sent := x.now()
	if !r.Sent.Known() {
		r.Sent = record.At(sent)
		x.watch.start(sent)
	}
	r.Attempts++
	var (
		reused bool
		err    error
	)
	if x.server.pool != nil {
		reused, err = x.overWire(ctx, body, fresh)
	} else {
		reused, err = x.overHTTP(ctx, body)
	}
	switch {
	case x.reply != nil:
		return x.finish(ctx, err)
	case giveUp(ctx, r, x.now()):
	case reused && stale(err) && x.now()-sent < raceWindow:
		return resend
	case errors.Is(err, io.EOF):
		fail(r, record.Connect, "the server closed the connection without an answer")
	default:
		failTransport(r, err)
	}
	return over
}

// raceWindow is how soon after sending on an idle connection its end must show
// for the two to have crossed: a round trip, and some. Later it is the server's
// answer to this request.
const raceWindow = time.Second

// stale reports whether a connection turned out to be closed.
func stale(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// finish writes the outcome of an attempt that got at least the head of an
// answer; err is why reading ended, nil for a proper end.
func (x *exchange) finish(ctx context.Context, err error) next {
	if x.satisfied {
		err = nil
	}
	if x.reply.success() {
		x.confirm()
	}
	gaveUp := func() bool { return giveUp(ctx, x.record, x.now()) }
	defer x.encoded()
	switch {
	case x.streams():
		x.conclude(err, gaveUp)
	case !x.reply.success():
		return x.refused()
	case err != nil && gaveUp():
	case x.dialect.document:
		x.document(err)
	default:
		x.noStream()
	}
	return over
}

// refused handles a status other than 2xx.
func (x *exchange) refused() next {
	badRequest := x.reply.status == 400 || x.reply.status == 422
	if badRequest && x.learn(x.page) {
		return without
	}
	fail(x.record, record.HTTPFailure(x.reply.status), errorText(x.reply.status, x.reply.kind, x.page))
	return over
}

// noStream handles a successful answer that says that it is something else than
// a stream of events.
func (x *exchange) noStream() {
	text := errorText(x.reply.status, x.reply.kind, x.page)
	var chunk openai.Chunk
	if chunk.Parse(x.page) == nil && chunk.Failed {
		fail(x.record, record.StreamError, text)
	} else {
		fail(x.record, record.NotSSE, x.reply.contentType()+text)
	}
}

// contentType tells the type under which a page came instead of a stream.
func (r *reply) contentType() string {
	switch r.kind {
	case "":
		return "answered without a content type instead of text/event-stream: "
	case "text/event-stream":
		return "answered no events as text/event-stream: "
	}
	return "answered " + r.kind + " instead of text/event-stream: "
}

// encoded explains the failure of a request whose answer can not be read because
// of its encoding, which was not asked for.
func (x *exchange) encoded() {
	r := x.record
	if x.reply.encoding == "" {
		return
	}
	if r.Failure == record.NotSSE || r.Failure == record.Malformed || !x.reply.success() {
		r.Detail = OneLine("the answer came in Content-Encoding " + x.reply.encoding + ", which was not asked for")
	}
}

// document handles an answer that is one JSON document: its only output arrives
// with its last byte, and is of no countable tokens.
func (x *exchange) document(err error) {
	r := x.record
	chunk := &x.answer.chunk
	parsed := chunk.Parse(bytes.TrimSpace(x.page))
	switch {
	case err != nil:
		fail(r, bodyFailure(err), err.Error())
	case parsed != nil || chunk.Done:
		fail(r, record.Malformed, "the answer is not a JSON object: "+errorText(x.reply.status, x.reply.kind, x.page))
	case chunk.Failed:
		fail(r, record.StreamError, errorText(x.reply.status, x.reply.kind, x.page))
	case !chunk.Embedding:
		fail(r, record.NoOutput, "the answer holds no embedding: "+errorText(x.reply.status, x.reply.kind, x.page))
	default:
		x.usage()
		x.disbelieve()
		if n, known := r.Output.Value(); known && n == 0 {
			r.Output, r.TokensSource = 0, "" // it was not asked for any
		}
		arrived, _ := r.Closed.Since()
		x.first(arrived)
		r.FirstVisible, r.Last, r.Outcome = r.First, r.First, record.OK
	}
}
