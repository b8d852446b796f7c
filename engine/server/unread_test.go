package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/engine"
)

// A client that sends all of its body before it reads hears why it is refused, as
// Python's urllib would; so does one that sends in pieces, and one without a key.
func TestAClientThatSendsAllOfAHugeBodyHearsTheRefusal(t *testing.T) {
	const size = 48 << 20
	f := serve(t, engine.Config{}, Options{MaxBody: 1 << 20, APIKey: "secret"})
	for _, c := range []struct {
		name, header string
		status       int
	}{
		{"its size is said", fmt.Sprintf("Authorization: Bearer secret\r\nContent-Length: %d\r\n", size), http.StatusRequestEntityTooLarge},
		{"in pieces", "Authorization: Bearer secret\r\nTransfer-Encoding: chunked\r\n", http.StatusRequestEntityTooLarge},
		{"without a key", fmt.Sprintf("Content-Length: %d\r\n", size), http.StatusUnauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", f.http.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\n%s\r\n", c.header); err != nil {
				t.Fatal(err)
			}
			piece := strings.Repeat(" ", 1<<20)
			for sent := 0; sent < size; sent += len(piece) {
				if strings.Contains(c.header, "chunked") {
					piece = fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat(" ", 1<<20))
				}
				if _, err := io.WriteString(conn, piece); err != nil {
					t.Fatalf("after %d bytes: %v", sent, err)
				}
			}
			if strings.Contains(c.header, "chunked") {
				_, _ = io.WriteString(conn, "0\r\n\r\n")
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != c.status || !strings.Contains(string(body), `"error"`) {
				t.Errorf("status %d, %v: %s", answer.StatusCode, err, body)
			}
		})
	}
}
