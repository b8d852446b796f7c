package mock

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A percentile is at or above the exact one, by at most a bucket.
func TestLateness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(math.Exp(rapid.Float64Range(0, 40).Draw(t, "log")))
		}), 1, 300).Draw(t, "values")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		var l Lateness
		for _, v := range values {
			l.Add(v)
		}
		slices.Sort(values)
		exact := values[max(1, int(math.Ceil(p*float64(len(values)))))-1]
		got, ok := l.Percentile(p)
		if !ok || got < exact || got > exact+exact/32+64 {
			t.Errorf("p%v of %v: %v, exactly %v", p*100, values, got, exact)
		}
		if l.Max() != values[len(values)-1] || l.N() != int64(len(values)) {
			t.Errorf("max %v, n %d", l.Max(), l.N())
		}
	})
	if _, ok := new(Lateness).Percentile(0.5); ok {
		t.Error("a percentile of nothing")
	}
}

func TestPrefixCache(t *testing.T) {
	var c prefixCache
	prompt := func(n int, last string) []string { return []string{strings.Repeat("a ", n), last} }
	for _, tt := range []struct {
		name  string
		texts []string
		known int
	}{
		{"nothing is known", prompt(40, "x"), 0},
		{"the same, in whole blocks", prompt(40, "x"), 32},
		{"a shorter one", prompt(16, "x"), 16},
		{"less than a block", prompt(15, ""), 0},
		{"a longer one", prompt(64, "x"), 32},
		{"another beginning", append([]string{"b"}, prompt(64, "x")...), 0},
	} {
		if got := c.add(blockHashes(tt.texts)); got != tt.known {
			t.Errorf("%s: %d words known, want %d", tt.name, got, tt.known)
		}
	}
}

func TestWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if got, want := slices.Collect(words(text)), strings.Fields(text); !slices.Equal(got, want) {
			t.Errorf("words of %q: %q, want %q", text, got, want)
		}
	})
}

// FuzzHead holds the reader of requests against that of net/http: what both take,
// they understand alike.
func FuzzHead(f *testing.F) {
	f.Add([]byte("POST /v1/completions?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := parseHead(b)
		if err != nil {
			return
		}
		body, m, err := h.body(b[n:])
		if err != nil {
			if errors.Is(err, errMore) && m != 0 {
				t.Errorf("%d bytes taken of an incomplete body", m)
			}
			return
		}
		if n+m > len(b) {
			t.Fatalf("%d bytes taken of %d", n+m, len(b))
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return // net/http is stricter
		}
		if want, err := io.ReadAll(r.Body); err == nil && (!bytes.Equal(body, want) || h.method != r.Method) {
			t.Errorf("%s %q, want %s %q", h.method, body, r.Method, want)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a b"}]}],"max_tokens":3,"stream_options":{"include_usage":true}}`))
	f.Add([]byte(`{"prompt":[[1,2],[3]],"min_tokens":-1,"dimensions":1e9,"max_tokens":1e300}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := &Request{Path: "/v1/completions", Body: body}
		if r.parse() != nil {
			return
		}
		if tokens, _ := new(Server).length(r); tokens < 0 || tokens > MaxTokens {
			t.Errorf("an answer of %d tokens", tokens)
		}
	})
}
