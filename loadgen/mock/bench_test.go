package mock

import (
	"fmt"
	"testing"
)

// endless is a stream that does not end within a benchmark.
func endless(b testing.TB, path string) pieces {
	b.Helper()
	r := &Request{Path: path, Header: nil, Body: []byte(`{"stream":true}`)}
	if err := r.parse(); err != nil {
		b.Fatal(err)
	}
	st := (&Server{}).stream(r, 1, 0)
	st.tokens = 1 << 40
	return st
}

// What an event costs but for its write.
func BenchmarkEvent(b *testing.B) {
	stream := endless(b, "/v1/chat/completions")
	var framed []byte
	b.ReportAllocs()
	for b.Loop() {
		if p, _ := stream.piece(0); !p.same {
			framed = appendChunk(framed[:0], p.data)
		}
	}
}

func TestEventsDoNotAllocate(t *testing.T) {
	stream := endless(t, "/v1/chat/completions")
	for range 3 {
		_, _ = stream.piece(0) // the first ones make the event
	}
	if n := testing.AllocsPerRun(1000, func() { _, _ = stream.piece(0) }); n != 0 {
		t.Errorf("%v allocations an event", n)
	}
}

// What a request costs before its first token is due.
func BenchmarkRequest(b *testing.B) {
	text := []byte(postText("/v1/chat/completions", "Content-Type: application/json\r\nAuthorization: Bearer x\r\n", `{"model":"m","messages":[{"role":"user","content":"a b c d e f g h"}],"stream":true,"max_tokens":100}`))
	server := &Server{Tokens: 100, forget: true}
	b.ReportAllocs()
	for b.Loop() {
		h, n, err := parseHead(text)
		if err != nil {
			b.Fatal(err)
		}
		body, _, err := h.body(text[n:])
		if err != nil {
			b.Fatal(err)
		}
		if a := server.answer(h.method, &Request{Path: h.path, Header: h.header, Body: body}); !a.generates {
			b.Fatal(a.status)
		}
	}
}

// postText is a request as it is on the wire.
func postText(path, header, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\n%sContent-Length: %d\r\n\r\n%s", path, header, len(body), body)
}
