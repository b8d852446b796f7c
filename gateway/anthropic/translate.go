package anthropic

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

const (
	maxMessage   = 256 << 20 // largest answer that is not streamed
	maxErrorBody = 64 << 10  // how much of an error is read
	readBuffer   = 8 << 10
)

// Translate turns an answer, in place, into one that OpenAI's API could have
// given. The status changes at once, the body as it is read. Every chunk of a
// stream has usage, null but in the one that ends it. created is the answer's
// time in Unix seconds.
func Translate(response *http.Response, created int64) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	source := response.Body
	switch {
	case response.StatusCode != http.StatusOK:
		status := response.StatusCode
		response.StatusCode = statusOf(status)
		response.Header.Set("Content-Type", "application/json")
		cut := struct { // a cut error is still an error
			io.Reader
			io.Closer
		}{io.LimitReader(source, maxErrorBody), source}
		response.Body = &wholeReader{source: cut, translate: func(body []byte) ([]byte, error) {
			return openai.ErrorBody(Failure(status, body)), nil
		}}
	case kind == "text/event-stream":
		response.Body = &streamReader{source: source, stream: stream{created: created}, in: make([]byte, readBuffer)}
	case kind == "application/json":
		response.Body = &wholeReader{source: source, translate: func(body []byte) ([]byte, error) { return Answer(body, created) }}
	default:
		return // no answer of this API; whoever reads it sees that
	}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
}

// streamReader reads a stream of events in OpenAI's shape. What one read of the
// source brought can be read at once, so nothing is held back.
type streamReader struct {
	source  io.ReadCloser
	decoder openai.Decoder
	stream  stream
	in      []byte
	out     []byte // translated, not read yet: out[at:]
	at      int
	err     error // of the source
}

// Read implements io.Reader.
func (r *streamReader) Read(p []byte) (int, error) {
	for r.at == len(r.out) {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(p, r.out[r.at:])
	r.at += n
	return n, nil
}

func (r *streamReader) fill() {
	r.out, r.at = r.out[:0], 0
	n, err := r.source.Read(r.in)
	r.decoder.Push(r.in[:n])
	r.drain()
	if r.err = r.decoder.Err(); r.err != nil || err == nil {
		return
	}
	r.decoder.End()
	// Half an event is the mark of a connection that ended, not a mistake of the
	// provider's: whoever reads on finds out why it did.
	if last, ok := r.decoder.Next(); ok && gjson.ValidBytes(last.Data) {
		r.out = r.stream.append(r.out, last)
	}
	r.out = r.stream.end(r.out)
	r.err = err
}

func (r *streamReader) drain() {
	for event, ok := r.decoder.Next(); ok; event, ok = r.decoder.Next() {
		r.out = r.stream.append(r.out, event)
	}
}

// Progress is the input of the answer as the vendor counted it when it began, for one
// that does not come to its end; 0 when it did not.
func (r *streamReader) Progress() (input int64) {
	if c := &r.stream.counts; c.plausible() {
		return c.prompt()
	}
	return 0
}

// Close implements io.Closer.
func (r *streamReader) Close() error { return r.source.Close() }

// wholeReader reads a body that can be translated only as a whole.
type wholeReader struct {
	source    io.ReadCloser
	translate func([]byte) ([]byte, error)
	out       *bytes.Reader // nil before the first read
	err       error
}

// Read implements io.Reader.
func (r *wholeReader) Read(p []byte) (int, error) {
	if r.out == nil {
		var out []byte
		out, r.err = r.all()
		r.out = bytes.NewReader(out)
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.out.Read(p)
}

func (r *wholeReader) all() ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.source, maxMessage+1))
	if err != nil {
		return nil, fmt.Errorf("reading the provider's answer: %w", err)
	}
	if len(body) > maxMessage {
		return nil, fmt.Errorf("the provider's answer is larger than %d bytes", maxMessage)
	}
	return r.translate(body)
}

// Close implements io.Closer.
func (r *wholeReader) Close() error { return r.source.Close() }
