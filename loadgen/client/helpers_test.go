package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/reports/record"
)

const done = "data: [DONE]\n\n"

func event(data string) string { return "data: " + data + "\n\n" }

// c is a chat chunk with content, as an event.
func c(text string) string {
	return event(`{"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`)
}

// delta is a chat chunk with this delta, as an event.
func delta(d string) string {
	return event(`{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`)
}

// finish is the last chunk of a choice, as an event.
func finish(reason string) string {
	return event(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
}

// choice is a chunk with content of one of several choices, as an event, and end
// the last chunk of one.
func choice(index int, text string) string {
	return event(fmt.Sprintf(`{"choices":[{"index":%d,"delta":{"content":%q},"finish_reason":null}]}`, index, text))
}

func end(index int) string {
	return event(fmt.Sprintf(`{"choices":[{"index":%d,"delta":{},"finish_reason":"stop"}]}`, index))
}

// usage is the event that tells the server's count of tokens.
func usage(completion string) string {
	return event(`{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":` + completion + `}}`)
}

// response is what a server sends.
type response struct {
	status int    // 0 is 200
	kind   string // text/event-stream when empty
	fields string // further fields of the head
	pieces []string
	broken bool // the connection ends before the message
}

func body(pieces ...string) *response { return &response{pieces: pieces} }

func cut(pieces ...string) []string { return pieces }

// head is the head of the response, with the fields that frame its body.
func (r *response) head(version, framing string) string {
	status, kind := r.status, r.kind
	if status == 0 {
		status = 200
	}
	if kind == "" {
		kind = "text/event-stream"
	}
	return fmt.Sprintf("%s %d X\r\nContent-Type: %s\r\n%s%s\r\n", version, status, kind, r.fields, framing)
}

// reads are the bytes of the response, a chunk per piece and each of them in a
// read of its own.
func (r *response) reads() []string {
	reads := []string{r.head("HTTP/1.1", "Transfer-Encoding: chunked\r\n")}
	for _, p := range r.pieces {
		if p != "" {
			reads = append(reads, fmt.Sprintf("%x\r\n%s\r\n", len(p), p))
		}
	}
	if !r.broken {
		reads = append(reads, "0\r\n\r\n")
	}
	return reads
}

// framings are other ways to send the same response: with a length, and up to
// the end of the connection.
func (r *response) framings() [][]string {
	text := strings.Join(r.pieces, "")
	length := len(text)
	if r.broken {
		return [][]string{{r.head("HTTP/1.1", fmt.Sprintf("Content-Length: %d\r\n", length+1)), text}}
	}
	return [][]string{
		{r.head("HTTP/1.1", fmt.Sprintf("Content-Length: %d\r\n", length)), text},
		{r.head("HTTP/1.1", "Connection: close\r\n"), text},
		{r.head("HTTP/1.0", ""), text},
	}
}

// tape is a connection that answers a request with reads that were recorded,
// and then is closed by the server.
type tape struct {
	reads   []string
	asked   chan struct{} // closed when the request comes
	once    sync.Once
	over    chan struct{} // closed when the client has closed it
	closing sync.Once
}

func newTape(reads []string) *tape {
	return &tape{reads: reads, asked: make(chan struct{}), over: make(chan struct{})}
}

func (t *tape) Read(p []byte) (int, error) {
	select {
	case <-t.asked:
	case <-t.over:
		return 0, net.ErrClosed
	}
	if len(t.reads) == 0 {
		return 0, io.EOF
	}
	n := copy(p, t.reads[0])
	if t.reads[0] = t.reads[0][n:]; t.reads[0] == "" {
		t.reads = t.reads[1:]
	}
	return n, nil
}

func (t *tape) Write(p []byte) (int, error) {
	t.once.Do(func() { close(t.asked) })
	return len(p), nil
}

func (t *tape) Close() error {
	t.closing.Do(func() { close(t.over) })
	return nil
}

func (t *tape) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (t *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (t *tape) SetDeadline(time.Time) error      { return nil }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }

// transports are the two ways in which requests travel.
var transports = []string{"wire", "net/http"}

// newClient returns a client that sends its requests in one of the two ways.
func newClient(t testing.TB, transport string, o Options) *Client {
	t.Helper()
	if o.Endpoint == "" {
		o.Endpoint = "http://localhost"
	}
	client, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if transport == "net/http" {
		for _, s := range client.servers {
			s.pool = nil
		}
	}
	return client
}

// play sends one request to a server that answers with these reads.
func play(t testing.TB, transport string, o Options, reads []string) *record.Record {
	t.Helper()
	o.Dial = func(context.Context, string, string) (net.Conn, error) {
		return newTape(append([]string(nil), reads...)), nil
	}
	client := newClient(t, transport, o)
	defer client.Close()
	r := &record.Record{AskedOutput: record.Counted(4)}
	client.Do(t.Context(), Request{Body: []byte(`{"stream":true}`)}, r)
	return r
}

// both sends the request in both ways, which must come to the same, and returns
// the record of our own transport.
func both(t testing.TB, o Options, reads []string) *record.Record {
	t.Helper()
	ours, theirs := play(t, "wire", o, reads), play(t, "net/http", o, reads)
	if diff := cmp.Diff(viewOf(theirs), viewOf(ours)); diff != "" || ours.Detail != theirs.Detail {
		t.Errorf("transports differ (-net/http +wire):\n%s%q, %q", diff, theirs.Detail, ours.Detail)
	}
	return ours
}

func chunks(r *record.Record) int {
	if r.Chunks == nil {
		return 0
	}
	return r.Chunks.Len()
}

// since is a moment as a duration, −1 when it is absent.
func since(m record.Moment) time.Duration {
	if d, ok := m.Since(); ok {
		return d
	}
	return -1
}

// single cuts a text into its bytes.
func single(s string) (pieces []string) {
	for i := range len(s) {
		pieces = append(pieces, s[i:i+1])
	}
	return pieces
}
