package conform

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParts(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	tests := []struct {
		name, bytes string
		want        []string
		ok          bool
	}{
		{"two chunks", head + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", []string{"abc", "de"}, true},
		{"none", head + "0\r\n\r\n", nil, true},
		{"extensions", head + "3;a=b\r\nabc\r\n0\r\n\r\n", []string{"abc"}, true},
		{"cut", head + "3\r\nabc\r\n5\r\nde", []string{"abc"}, true},
		{"a size that is none", head + "3\r\nabc\r\nzz\r\nde\r\n", []string{"abc"}, true},
		{"an interim response", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + head + "1\r\na\r\n", []string{"a"}, true},
		{"not chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", nil, false},
		{"no end of the header", "HTTP/1.1 200 OK\r\n", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &wire{bytes: []byte(tt.bytes)}
			parts, ok := w.parts()
			var got []string
			for _, p := range parts {
				got = append(got, string(p))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
				t.Errorf("ok %v, parts (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// What is written in chunks is read as the same chunks.
func TestChunksComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 1, 40)).Draw(t, "chunks")
		var b bytes.Buffer
		for _, chunk := range want {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(chunk), chunk)
		}
		b.WriteString("0\r\n\r\n")
		got := splitChunks(b.Bytes())
		if len(got) != len(want) {
			t.Fatalf("%d chunks, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("chunk %d is %q, want %q", i, got[i], want[i])
			}
		}
	})
}

func FuzzParts(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\nabc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parts, _ := (&wire{bytes: b}).parts()
		total := 0
		for _, p := range parts {
			total += len(p)
		}
		if total > len(b) {
			t.Errorf("%d bytes of content in %d", total, len(b))
		}
	})
}

func TestInsideCharacter(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a": false, "é": false, "é"[:1]: true, "漢": false, "漢"[:1]: true, "漢"[:2]: true, "🙂": false, "🙂"[:3]: true,
		"a漢"[:3]: true, "\x80\x80\x80\x80\x80": false,
	} {
		if got := insideCharacter([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
