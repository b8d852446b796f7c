package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Clients that dribble headers, or send them without end, hold no connection.
func TestHeadersAreBounded(t *testing.T) {
	l, err := listen("127.0.0.1:0", http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	if l.server.ReadHeaderTimeout <= 0 || l.server.IdleTimeout <= 0 {
		t.Errorf("a header may take %v, and silence %v", l.server.ReadHeaderTimeout, l.server.IdleTimeout)
	}
	served := make(chan error, 1)
	go func() { served <- l.server.Serve(l.Listener) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	go func() { // until the server closes its side
		_, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n")
		for err == nil {
			_, err = fmt.Fprintf(conn, "X-Filler: %s\r\n", strings.Repeat("x", 1<<10))
		}
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", response.StatusCode)
	}
	_ = conn.Close()
	_ = l.server.Shutdown(context.Background())
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
