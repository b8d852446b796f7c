package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reading is what a parser makes of a stream of bytes.
type reading struct {
	Status   int
	Body     string
	Ended    bool // by the bytes alone
	Reusable bool
	Rest     string // after the end of the response
	Err      string // "malformed", or that of End
}

// read pushes pieces into a parser as reads from a socket would.
func read(pieces ...string) (r reading) {
	var p Parser
	var body strings.Builder
	for i, piece := range pieces {
		data := []byte(piece)
		for len(data) > 0 && !p.Ended() {
			part, rest, err := p.Next(data)
			if err != nil {
				if !errors.Is(err, ErrMalformed) {
					return reading{Err: err.Error()}
				}
				return reading{Err: "malformed"}
			}
			body.Write(part)
			data = rest
		}
		if p.Ended() {
			r.Rest = string(data) + strings.Join(pieces[i+1:], "")
			break
		}
	}
	r.Ended, r.Reusable = p.Ended(), p.Reusable()
	if err := p.End(); err != nil {
		r.Err = err.Error()
	}
	if h := p.Head(); h != nil {
		r.Status = h.Status
	}
	r.Body = body.String()
	return r
}

const ok = "HTTP/1.1 200 OK\r\n"

var responses = []struct {
	name, bytes string
	want        reading
}{
	{"length", ok + "Content-Length: 5\r\n\r\nhello", reading{200, "hello", true, true, "", ""}},
	{"length and more", ok + "Content-Length: 5\r\n\r\nhelloHTTP", reading{200, "hello", true, true, "HTTP", ""}},
	{"length, cut", ok + "Content-Length: 5\r\n\r\nhel", reading{200, "hel", false, false, "", "unexpected EOF"}},
	{"length 0", ok + "Content-Length: 0\r\n\r\n", reading{200, "", true, true, "", ""}},
	{"length twice, the same", ok + "Content-Length: 1\r\ncontent-length:1\r\n\r\nx", reading{200, "x", true, true, "", ""}},
	{"length twice, another", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", reading{Err: "malformed"}},
	{"length that is no number", ok + "Content-Length: +1\r\n\r\nx", reading{Err: "malformed"}},
	{"length beside chunks", ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", reading{200, "abc", true, true, "", ""}},
	{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", reading{200, "abc0123456789", true, true, "", ""}},
	{"chunks, Chunked", ok + "transfer-encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", reading{200, "a", true, true, "", ""}},
	{"chunk extensions", ok + "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n3 ; c=\"d\"\r\ndef\r\n0;e\r\n\r\n", reading{200, "abcdef", true, true, "", ""}},
	{"trailers", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-A: b\r\nX-C: d\r\n\r\n", reading{200, "a", true, true, "", ""}},
	{"chunks, no last one", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", reading{200, "abc", false, false, "", "unexpected EOF"}},
	{"chunks, cut in a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", reading{200, "abc", false, false, "", "unexpected EOF"}},
	{"chunk size with leading zeros", ok + "Transfer-Encoding: chunked\r\n\r\n0003\r\nabc\r\n000\r\n\r\n", reading{200, "abc", true, true, "", ""}},
	{"chunk size that is none", ok + "Transfer-Encoding: chunked\r\n\r\nx\r\nabc\r\n", reading{Err: "malformed"}},
	{"chunk size empty", ok + "Transfer-Encoding: chunked\r\n\r\n\r\nabc\r\n", reading{Err: "malformed"}},
	{"chunk size negative", ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n", reading{Err: "malformed"}},
	{"chunk size too large", ok + "Transfer-Encoding: chunked\r\n\r\n11111111111111111\r\nabc\r\n", reading{Err: "malformed"}},
	{"chunk longer than told", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", reading{Err: "malformed"}},
	{"bare line feed after a chunk size", ok + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n", reading{Err: "malformed"}},
	{"endless chunk extension", ok + "Transfer-Encoding: chunked\r\n\r\n3;" + strings.Repeat("x", 5000), reading{Err: "malformed"}},
	{"gzip and chunked", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", reading{Err: "malformed"}},
	{"closed", ok + "\r\nhello", reading{200, "hello", false, false, "", ""}},
	{"closed, nothing", ok + "\r\n", reading{200, "", false, false, "", ""}},
	{"connection: close", ok + "Connection: close\r\nContent-Length: 1\r\n\r\nx", reading{200, "x", true, false, "", ""}},
	{"connection: a list", ok + "Connection: x, Close\r\nContent-Length: 1\r\n\r\nx", reading{200, "x", true, false, "", ""}},
	{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", reading{200, "x", true, false, "", ""}},
	{"HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", reading{200, "x", true, true, "", ""}},
	{"HTTP/1.0 has no chunks", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n", reading{200, "1\r\n", false, false, "", ""}},
	{"interim responses", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + "Content-Length: 1\r\n\r\nx", reading{200, "x", true, true, "", ""}},
	{"switched protocols", "HTTP/1.1 101 Switching Protocols\r\n\r\nxyz", reading{101, "", true, false, "xyz", ""}},
	{"204", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", reading{204, "", true, true, "", ""}},
	{"304 with chunks", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", reading{304, "", true, true, "", ""}},
	{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", reading{200, "", true, true, "", ""}},
	{"empty reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", reading{200, "", true, true, "", ""}},
	{"bare line feeds in the head", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", reading{200, "x", true, true, "", ""}},
	{"folded field", ok + "X-A: b\r\n  c\r\nContent-Length:\r\n 1\r\n\r\nx", reading{200, "x", true, true, "", ""}},
	{"space before the first field", ok + " X: y\r\n\r\n", reading{Err: "malformed"}},
	{"field without a colon", ok + "X-A b\r\n\r\n", reading{Err: "malformed"}},
	{"space before the colon", ok + "Content-Length : 1\r\n\r\nxy", reading{200, "xy", false, false, "", ""}},
	{"control character in a value", ok + "X: a\x00b\r\n\r\n", reading{Err: "malformed"}},
	{"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", reading{Err: "malformed"}},
	{"another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n", reading{Err: "malformed"}},
	{"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", reading{Err: "malformed"}},
	{"status that is no number", "HTTP/1.1 2x0 OK\r\n\r\n", reading{Err: "malformed"}},
	{"nothing", "", reading{Err: "EOF"}},
	{"half a head", "HTTP/1.1 200 OK\r\nX", reading{Err: "unexpected EOF"}},
	{"endless head", ok + strings.Repeat("X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n", 40_000), reading{Err: "malformed"}},
}

// TestParser reads each response whole, cut in two at each place, and byte by
// byte.
func TestParser(t *testing.T) {
	for _, tt := range responses {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, read(tt.bytes)); diff != "" {
				t.Fatalf("whole (-want +got):\n%s", diff)
			}
			if len(tt.bytes) > 10_000 {
				return // its cuts are those of the others
			}
			for i := range len(tt.bytes) {
				if diff := cmp.Diff(tt.want, read(tt.bytes[:i], tt.bytes[i:])); diff != "" {
					t.Fatalf("cut at %d (-want +got):\n%s", i, diff)
				}
			}
			if diff := cmp.Diff(tt.want, read(single(tt.bytes)...)); diff != "" {
				t.Fatalf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

func single(s string) (pieces []string) {
	for i := range len(s) {
		pieces = append(pieces, s[i:i+1])
	}
	return pieces
}

func TestHeadGet(t *testing.T) {
	var p Parser
	for _, data := range []string{"HTTP/1.1 503 No\r\nRetry-After:  7 \r\nX-Request-Id: first\r\nx-request-id: second\r\n\r\n", ok + "Content-Length: 0\r\n\r\n"} {
		if p.Head() != nil {
			t.Fatal("a head before the head")
		}
		if _, _, err := p.Next([]byte(data)); err != nil {
			t.Fatal(err)
		}
		h := p.Head()
		if h.Status == 503 && (h.Get("retry-after") != "7" || h.Get("X-Request-ID") != "first") {
			t.Errorf("%q, %q", h.Get("retry-after"), h.Get("x-request-id"))
		}
		if h.Get("x-none") != "" || h.Status == 200 && h.Get("retry-after") != "" {
			t.Error("a field that the head does not have")
		}
		p.Reset()
	}
}

// FuzzParser holds the parser against net/http on the same bytes, and against
// itself when they are cut.
func FuzzParser(f *testing.F) {
	for _, tt := range responses {
		if len(tt.bytes) < 4096 {
			f.Add([]byte(tt.bytes), uint(20))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint) {
		whole := read(string(data))
		at := int(cut % uint(len(data)+1))
		if diff := cmp.Diff(whole, read(string(data[:at]), string(data[at:]))); diff != "" {
			t.Fatalf("cut at %d (-whole +cut):\n%s", at, diff)
		}
		if diff := cmp.Diff(whole, read(single(string(data))...)); diff != "" {
			t.Fatalf("byte by byte (-whole +cut):\n%s", diff)
		}
		if whole.Status == 0 && strings.HasSuffix(whole.Err, "EOF") {
			return // net/http takes the start of a line for the line
		}
		theirs, differs := peer(data)
		if differs || theirs.Err == "unexpected EOF" && whole.Err == "malformed" {
			return // a wrong byte is seen when it comes, not when a word of them is there
		}
		if diff := cmp.Diff(theirs, reading{Status: whole.Status, Body: whole.Body, Err: whole.Err}); diff != "" {
			t.Fatalf("(-net/http +ours):\n%s", diff)
		}
	})
}

// peer reads a response with net/http. differs reports bytes that the two treat
// differently on purpose: versions that are not HTTP/1, statuses below 100,
// trailers, which net/http checks, what follows 101, and whitespace before a
// chunk extension, which recipients must tolerate (RFC 9112, 7.1.1).
func peer(data []byte) (r reading, differs bool) {
	if bytes.Contains(data, []byte(" ;")) || bytes.Contains(data, []byte("\t;")) {
		return reading{}, true
	}
	b := bufio.NewReaderSize(bytes.NewReader(data), len(data)+16)
	request := &http.Request{Method: http.MethodPost}
	response, err := http.ReadResponse(b, request)
	for err == nil && response.StatusCode/100 == 1 && response.StatusCode != 101 {
		response, err = http.ReadResponse(b, request)
	}
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			// What the parser has seen so far may be wrong already.
			return reading{}, true
		}
		return reading{Err: "malformed"}, false
	}
	if response.ProtoMajor != 1 || response.StatusCode < 100 || response.StatusCode == 101 || response.Trailer != nil {
		return reading{}, true
	}
	body, err := io.ReadAll(response.Body)
	r = reading{Status: response.StatusCode, Body: string(body)}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.Err = "unexpected EOF"
	case err != nil:
		return reading{Err: "malformed"}, strings.Contains(err.Error(), "trailer") || strings.Contains(err.Error(), "MIME header") ||
			strings.Contains(err.Error(), "non-data")
	}
	return r, len(response.Trailer) > 0
}

// BenchmarkParser reads the chunks of a stream, one event per chunk and read.
func BenchmarkParser(b *testing.B) {
	var p Parser
	if _, _, err := p.Next([]byte(ok + "Transfer-Encoding: chunked\r\n\r\n")); err != nil {
		b.Fatal(err)
	}
	chunk := []byte("c8\r\n" + strings.Repeat("x", 0xc8) + "\r\n")
	b.ReportAllocs()
	for b.Loop() {
		for data := chunk; len(data) > 0; {
			var err error
			if _, data, err = p.Next(data); err != nil {
				b.Fatal(err)
			}
		}
	}
}
