package mock

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// lastChunk ends a chunked body (RFC 9112, 7.1).
const lastChunk = "0\r\n\r\n"

// appendHead appends the status line and header of an answer. All bodies are
// chunked, except those that are one piece; last says that the connection ends
// with it.
func appendHead(b []byte, a *answer, last bool) []byte {
	b = fmt.Appendf(b, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", a.status, http.StatusText(a.status), a.kind)
	if a.kind == eventStream {
		b = append(b, "Cache-Control: no-cache\r\n"...)
	}
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	for name, values := range a.header {
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Type" {
			continue
		}
		for _, v := range values {
			b = fmt.Appendf(b, "%s: %s\r\n", name, v)
		}
	}
	if whole, ok := a.body.(one); ok && a.whole {
		return fmt.Appendf(b, "Content-Length: %d\r\n\r\n", len(whole.data))
	}
	return append(b, "Transfer-Encoding: chunked\r\n\r\n"...)
}

// appendChunk appends one chunk of a chunked body. An empty one would end it, and
// is left out.
func appendChunk(b, data []byte) []byte {
	if len(data) == 0 {
		return b
	}
	b = append(strconv.AppendInt(b, int64(len(data)), 16), "\r\n"...)
	return append(append(b, data...), "\r\n"...)
}

// maxHead is the longest request line and header together, in bytes.
const maxHead = 64 << 10

// A head is the request line and header of a request, as far as a server of
// answers needs it.
type head struct {
	method, path string
	header       http.Header
	length       int // of the body; -1 is chunked
	close        bool
	expects      bool // 100-continue
}

// errMore says that the head or body is not complete.
var errMore = errors.New("more bytes are needed")

// parseHead reads the head at the beginning of b, and says how long it is.
func parseHead(b []byte) (h head, n int, err error) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if len(b) > maxHead {
			return h, 0, fmt.Errorf("the header is longer than %d bytes", maxHead)
		}
		return h, 0, errMore
	}
	lines := strings.Split(string(b[:end]), "\r\n")
	for _, line := range lines {
		if strings.ContainsAny(line, "\r\n\x00") { // a line break that others might take for one
			return h, 0, fmt.Errorf("%.60q holds a bare line break or a NUL", line)
		}
	}
	method, rest, ok := strings.Cut(lines[0], " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || !strings.HasPrefix(version, "HTTP/1.") {
		return h, 0, fmt.Errorf("%.60q is no request line of HTTP/1.1", lines[0])
	}
	h.method, h.header = method, make(http.Header, len(lines)-1)
	h.path, _, _ = strings.Cut(target, "?")
	if after, absolute := strings.CutPrefix(h.path, "http://"); absolute { // of a client that uses a proxy
		_, h.path, _ = strings.Cut(after, "/")
		h.path = "/" + h.path
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return h, 0, fmt.Errorf("%.60q is no header line", line)
		}
		h.header.Add(name, strings.Trim(value, " \t"))
	}
	return h, end + 4, h.framing(version)
}

// framing reads the header lines that say how long the body is and what becomes
// of the connection.
func (h *head) framing(version string) error {
	connection := strings.ToLower(strings.Join(h.header.Values("Connection"), ","))
	h.close = strings.Contains(connection, "close") || version == "HTTP/1.0" && !strings.Contains(connection, "keep-alive")
	h.expects = strings.EqualFold(h.header.Get("Expect"), "100-continue")
	if codings := h.header.Values("Transfer-Encoding"); len(codings) > 0 {
		switch {
		case len(codings) > 1 || !strings.EqualFold(codings[0], "chunked"):
			return fmt.Errorf("unknown transfer encoding %q", codings)
		case version != "HTTP/1.1" || h.header.Get("Content-Length") != "":
			return errors.New("a transfer encoding with HTTP/1.0 or a content length") // RFC 9112, 6.1 and 6.3
		}
		h.length = -1
		return nil
	}
	lengths := h.header.Values("Content-Length")
	if len(lengths) == 0 {
		return nil
	}
	n, err := strconv.ParseUint(lengths[0], 10, 32)
	if err != nil || len(lengths) > 1 || n > maxBody {
		return fmt.Errorf("content length %q: expected one number up to %d", lengths, maxBody)
	}
	h.length = int(n)
	return nil
}

// body takes the body from the beginning of b.
func (h *head) body(b []byte) (body []byte, n int, err error) {
	if h.length < 0 {
		return parseChunked(b)
	}
	if len(b) < h.length {
		return nil, 0, errMore
	}
	return b[:h.length:h.length], h.length, nil
}

// parseChunked decodes a chunked body at the beginning of b, and says how many
// bytes of b it takes.
func parseChunked(b []byte) (body []byte, n int, err error) {
	for {
		line, _, ok := bytes.Cut(b[n:], []byte("\r\n"))
		if !ok {
			return nil, 0, errMore
		}
		digits, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 32)
		if err != nil || size+uint64(len(body)) > maxBody {
			return nil, 0, fmt.Errorf("%.20q is no size of a chunk", line)
		}
		n += len(line) + 2
		if size == 0 {
			break
		}
		if len(b)-n < int(size)+2 {
			return nil, 0, errMore
		}
		body = append(body, b[n:n+int(size)]...)
		if n += int(size) + 2; string(b[n-2:n]) != "\r\n" {
			return nil, 0, errors.New("a chunk does not end where its size says")
		}
	}
	for { // trailers, up to an empty line
		line, _, ok := bytes.Cut(b[n:], []byte("\r\n"))
		if !ok {
			return nil, 0, errMore
		}
		n += len(line) + 2
		if len(line) == 0 {
			return body, n, nil
		}
	}
}
