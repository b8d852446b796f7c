package anthropic

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/llmctl/llmctl/internal/openai"
)

const (
	maxMessage   = 256 << 20 // largest answer that is not streamed
	maxErrorBody = 64 << 10  // how much of an error is read
	readBuffer   = 8 << 10
)

// Translate turns an answer, in place, into one that OpenAI's API could have
// given: the body as it is read, and the status and body of an error.
// includeUsage tells whether the client asked for usage in its stream; the chunk
// with usage comes in any case. created is the answer's time in Unix seconds.
func Translate(response *http.Response, includeUsage bool, created int64) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode != http.StatusOK:
		translateError(response)
	case kind == "text/event-stream":
		response.Body = &streamReader{source: response.Body, stream: stream{created: created, nullUsage: includeUsage}, in: make([]byte, readBuffer)}
	case kind == "application/json":
		response.Body = &answerReader{source: response.Body, created: created}
	default:
		return // no answer of this API; whoever reads it sees that
	}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
}

func translateError(response *http.Response) {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // a cut error is still an error
	_ = response.Body.Close()                                          // what is left of it nobody reads
	status, problem := Failure(response.StatusCode, body)
	response.StatusCode = status
	response.Status = fmt.Sprintf("%d %s", status, http.StatusText(status))
	response.Header.Set("Content-Type", "application/json")
	response.Body = io.NopCloser(bytes.NewReader(openai.ErrorBody(problem)))
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
	r.drain()
	r.out = r.stream.end(r.out)
	r.err = err
}

func (r *streamReader) drain() {
	for event, ok := r.decoder.Next(); ok; event, ok = r.decoder.Next() {
		r.out = r.stream.append(r.out, event)
	}
}

// Close implements io.Closer.
func (r *streamReader) Close() error { return r.source.Close() }

// answerReader reads a whole answer in OpenAI's shape.
type answerReader struct {
	source  io.ReadCloser
	created int64
	out     *bytes.Reader
	err     error
}

// Read implements io.Reader.
func (r *answerReader) Read(p []byte) (int, error) {
	if r.out == nil {
		r.translate()
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.out.Read(p)
}

func (r *answerReader) translate() {
	r.out = bytes.NewReader(nil)
	message, err := io.ReadAll(io.LimitReader(r.source, maxMessage+1))
	if err == nil && len(message) > maxMessage {
		err = fmt.Errorf("message is larger than %d bytes", maxMessage)
	}
	if err != nil {
		r.err = err
		return
	}
	answer, err := Answer(message, r.created)
	if err != nil {
		r.err = err
		return
	}
	r.out = bytes.NewReader(answer)
}

// Close implements io.Closer.
func (r *answerReader) Close() error { return r.source.Close() }
