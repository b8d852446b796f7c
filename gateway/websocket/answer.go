package websocket

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	ws "github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// answer is the http.ResponseWriter of a request. Header fields have no place in
// a message; the status and Retry-After end up in the reason of the close frame.
type answer struct {
	conn   *conn
	header http.Header
	status int
	err    error // of a write: the client reads no more

	events   bool // the answer is a stream of events
	decoder  openai.Decoder
	complete bool           // its end has passed
	message  io.WriteCloser // the answer that is not one
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < 200 {
		return
	}
	a.status = status
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	a.events = kind == "text/event-stream"
}

// Write implements http.ResponseWriter. It returns when the client's side of the
// connection has taken p, so a slow reader slows the handler down.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.err == nil {
		a.conn.writing.Store(true)
		a.err = a.write(p)
		a.conn.writing.Store(false)
	}
	if a.err != nil {
		return 0, a.err
	}
	return len(p), nil
}

func (a *answer) write(p []byte) (err error) {
	if !a.events {
		if a.message == nil {
			if a.message, err = a.conn.ws.Writer(context.Background(), ws.MessageText); err != nil {
				return err
			}
		}
		_, err = a.message.Write(p)
		return err
	}
	a.decoder.Push(p)
	for event, ok := a.decoder.Next(); ok; event, ok = a.decoder.Next() {
		if err == nil {
			err = a.send(event)
		}
	}
	return err
}

// send passes one event on. Its name is left out: what has one says it in its
// data, too.
func (a *answer) send(e openai.Event) error {
	data := e.Data
	if !utf8.Valid(data) { // browsers close a connection on such a message
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	a.complete = string(data) == "[DONE]" || len(e.Name) > 0 && endsResponse(gjson.GetBytes(data, "type").Str)
	return a.conn.ws.Write(context.Background(), ws.MessageText, data)
}

// endsResponse tells whether an event of the Responses API, which has no [DONE],
// is the last one of an answer.
func endsResponse(kind string) bool {
	return kind == "response.completed" || kind == "response.incomplete"
}

// FlushError implements what http.ResponseController looks for. Every message is
// sent at once.
func (a *answer) FlushError() error { return a.err }

// SetReadDeadline bounds the time for the client to send its message.
func (a *answer) SetReadDeadline(t time.Time) error { return a.conn.net.SetReadDeadline(t) }

// SetWriteDeadline bounds the time for the client to take in what is written.
func (a *answer) SetWriteDeadline(t time.Time) error { return a.conn.net.SetWriteDeadline(t) }

// finish ends the answer and closes the connection.
func (a *answer) finish() {
	if a.err == nil && a.message != nil {
		_ = a.conn.net.SetWriteDeadline(time.Now().Add(closeGrace))
		a.err = a.message.Close()
	}
	interrupted := a.conn.interrupted.Load()
	if a.err != nil || a.status == 0 && !interrupted {
		a.conn.cut() // nobody reads, or the handler found nobody to answer
		return
	}
	// The library gives both halves of the closing five seconds; deadlines that the
	// handler left behind do not count.
	_ = a.conn.net.SetDeadline(time.Time{})
	code, reason := a.end()
	if interrupted {
		code, reason = ws.StatusPolicyViolation, "a connection carries one request"
	}
	if a.conn.broken.Load() {
		code, reason = ws.StatusProtocolError, "a frame breaks the protocol"
	}
	_ = a.conn.ws.Close(code, reason) // the client may have left
}

// end is how the close frame explains the end of the answer.
func (a *answer) end() (ws.StatusCode, string) {
	if a.status < 400 {
		if a.events && !a.complete {
			return ws.StatusInternalError, "the answer is not complete"
		}
		return ws.StatusNormalClosure, ""
	}
	reason := "status " + strconv.Itoa(a.status)
	if after, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
		reason += ", retry after " + strconv.Itoa(after) + " s"
	}
	switch a.status {
	case http.StatusRequestEntityTooLarge:
		return ws.StatusMessageTooBig, reason
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return ws.StatusTryAgainLater, reason
	}
	if a.status >= 500 {
		return ws.StatusInternalError, reason
	}
	return ws.StatusPolicyViolation, reason
}
