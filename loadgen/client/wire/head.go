package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrMalformed reports bytes that are no HTTP/1 response.
var ErrMalformed = errors.New("malformed HTTP response")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// Head is the start of a response: the status line and the fields.
type Head struct {
	Minor  int // of the version HTTP/1.Minor
	Status int

	block  []byte // field lines, each ended by one line feed
	fields []field
}

// field is one field of a head; both alias its block.
type field struct{ name, value []byte }

// Get returns the value of the first field with this name, whose case does not
// matter; empty when there is none.
func (h *Head) Get(name string) string {
	for _, f := range h.fields {
		if equalFold(f.name, name) {
			return string(f.value)
		}
	}
	return ""
}

// statusLine reads “HTTP/1.1 200 OK”. The reason may be missing, and so may the
// space before it.
func (h *Head) statusLine(line []byte) error {
	version, rest, ok := bytes.Cut(line, []byte(" "))
	minor, isHTTP := bytes.CutPrefix(version, []byte("HTTP/1."))
	if !ok || !isHTTP || len(minor) != 1 || minor[0] < '0' || minor[0] > '9' {
		return malformed("it begins with %q", clip(line))
	}
	code, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	status, err := strconv.ParseUint(string(code), 10, 16)
	if err != nil || len(code) != 3 || status < 100 {
		return malformed("status %q", clip(code))
	}
	*h = Head{Minor: int(minor[0] - '0'), Status: int(status), block: h.block[:0], fields: h.fields[:0]}
	return nil
}

// fieldLine adds one line. A line that begins with a space continues the field
// before it (RFC 9112, 5.2).
func (h *Head) fieldLine(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' {
		if len(h.block) == 0 {
			return malformed("a space before the first field")
		}
		h.block[len(h.block)-1] = ' '
	}
	h.block = append(h.block, bytes.Trim(line, " \t")...)
	h.block = append(h.block, '\n')
	return nil
}

// complete splits the lines into fields when all are there.
func (h *Head) complete() error {
	for rest := h.block; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !isName(name) {
			return malformed("field %q", clip(name)) // not the value, which may be secret
		}
		if bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return malformed("value of field %q", clip(name))
		}
		h.fields = append(h.fields, field{name, bytes.Trim(value, " \t")})
	}
	return nil
}

// isName reports whether a field may have this name. A space in it is tolerated,
// as net/http does, and makes it a field that nobody asks for.
func isName(name []byte) bool {
	for _, c := range name {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~ ", rune(c)) {
			return false
		}
	}
	return len(name) > 0
}

// length is the value of Content-Length, −1 when there is none. Several are one
// when they agree (RFC 9112, 6.3).
func (h *Head) length() (int64, error) {
	n := int64(-1)
	for _, f := range h.fields {
		if !equalFold(f.name, "content-length") {
			continue
		}
		v, err := strconv.ParseUint(string(f.value), 10, 63)
		if err != nil || n >= 0 && int64(v) != n {
			return 0, malformed("Content-Length %q", clip(f.value))
		}
		n = int64(v)
	}
	return n, nil
}

// chunked reports whether the body is chunked. Another encoding, or several,
// can not be read. HTTP/1.0 has none.
func (h *Head) chunked() (bool, error) {
	found := false
	for _, f := range h.fields {
		if h.Minor == 0 || !equalFold(f.name, "transfer-encoding") {
			continue
		}
		if found || !equalFold(f.value, "chunked") {
			return false, malformed("Transfer-Encoding %q", clip(f.value))
		}
		found = true
	}
	return found, nil
}

// keepAlive reports whether the connection stays open after the response.
func (h *Head) keepAlive() bool {
	return !h.connection("close") && (h.Minor >= 1 || h.connection("keep-alive"))
}

// connection reports whether a Connection field holds an option.
func (h *Head) connection(option string) bool {
	for _, f := range h.fields {
		if !equalFold(f.name, "connection") {
			continue
		}
		for value := range bytes.SplitSeq(f.value, []byte(",")) {
			if equalFold(bytes.Trim(value, " \t"), option) {
				return true
			}
		}
	}
	return false
}

// equalFold compares two tokens, in which the case of ASCII letters does not
// matter.
func equalFold(wire []byte, token string) bool {
	if len(wire) != len(token) {
		return false
	}
	for i, c := range wire {
		if lower(c) != lower(token[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// clip is as much of a text as an error shows.
func clip(p []byte) []byte { return p[:min(len(p), 40)] }
