package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// rawChunks posts a body over a socket and returns the chunks of the answer as they
// are on the wire, which net/http's client does not show.
func (s *stand) rawChunks(body string) (chunks []string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // read to its end
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", searchKey, len(body), body); err != nil {
		s.t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			s.t.Fatal(err)
		}
	}
	for {
		var size int
		if _, err := fmt.Fscanf(r, "%x\r\n", &size); err != nil {
			s.t.Fatalf("chunk %d: %v", len(chunks), err)
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(r, chunk); err != nil {
			s.t.Fatal(err)
		}
		if size == 0 {
			return chunks
		}
		chunks = append(chunks, string(chunk[:size]))
	}
}

// Clients that decode each chunk as it comes, though they should not, fail on halves
// of events. A burst is larger than net/http's buffers.
func TestChunksHoldWholeEvents(t *testing.T) {
	burst := strings.Repeat(helloEvent, 200)
	s := serve(t, upstreamAnswers(roleEvent+burst, worldEvent+finishEvent, doneEvent))
	chunks := s.rawChunks(streamBody)
	for i, chunk := range chunks {
		if !strings.HasPrefix(chunk, "data: ") || !strings.HasSuffix(chunk, "\n\n") {
			t.Errorf("chunk %d of %d, of %d bytes, is cut: %.30q … %.30q", i+1, len(chunks), len(chunk), chunk, chunk[max(0, len(chunk)-30):])
		}
	}
	if got := strings.Join(chunks, ""); got != roleEvent+burst+worldEvent+finishEvent+doneEvent {
		t.Errorf("%d bytes of stream differ", len(got))
	}
}
