package conform

import (
	"bytes"
	"context"
	"net"
	"net/http/httptrace"
	"strconv"
	"sync"
	"unicode/utf8"
)

// wire keeps what a connection brought while one request ran on it: the chunks
// of HTTP/1.1 (RFC 9112, 7.1) are not to be seen behind an HTTP client.
type wire struct {
	mu    sync.Mutex
	bytes []byte
	full  bool // the request is over: what comes now belongs to another
}

// tapped makes the connection of the next request under ctx tell w what it reads.
func tapped(ctx context.Context, w *wire) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if t, ok := info.Conn.(*tap); ok {
			t.to(w)
		}
	}})
}

// tap is a connection that can be listened to.
type tap struct {
	net.Conn
	mu sync.Mutex
	w  *wire
}

func (t *tap) to(w *wire) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.w = w
}

// Read implements net.Conn.
func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	w := t.w
	t.mu.Unlock()
	if w != nil {
		w.take(p[:n])
	}
	return n, err
}

func (w *wire) take(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.full {
		w.bytes = append(w.bytes, p...)
	}
}

// parts ends listening. They are the contents of the chunks of a response; ok is false when it has
// none, or was cut inside of its header.
func (w *wire) parts() (parts [][]byte, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = true
	rest := w.bytes
	for {
		head, body, found := bytes.Cut(rest, []byte("\r\n\r\n"))
		if !found {
			return nil, false
		}
		rest = body
		if bytes.HasPrefix(head, []byte("HTTP/1.1 1")) {
			continue // an interim response comes before the one that counts
		}
		if !bytes.Contains(bytes.ToLower(head), []byte("chunked")) {
			return nil, false
		}
		return splitChunks(rest), true
	}
}

// splitChunks takes a chunked body apart, as far as it is whole.
func splitChunks(b []byte) (parts [][]byte) {
	for {
		line, rest, found := bytes.Cut(b, []byte("\r\n"))
		if !found {
			return parts
		}
		digits, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 31)
		if err != nil || size == 0 || int(size) > len(rest) {
			return parts
		}
		parts = append(parts, rest[:size])
		b = bytes.TrimPrefix(rest[size:], []byte("\r\n"))
	}
}

// insideCharacter reports whether text ends inside of a character of several
// bytes.
func insideCharacter(text []byte) bool {
	for back := 1; back <= min(utf8.UTFMax, len(text)); back++ {
		tail := text[len(text)-back:]
		if utf8.RuneStart(tail[0]) {
			return !utf8.FullRune(tail)
		}
	}
	return false
}
