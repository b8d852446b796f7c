package main

import (
	"bufio"
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
)

// Connections whose header does not come make room for those that have something to say.
func TestHalfSentHeadersKeepNobodyOut(t *testing.T) {
	l, err := listen("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	if err != nil {
		t.Fatal(err)
	}
	c := &connections{most: 4, open: map[net.Conn]*list.Element{}}
	l.server.ConnState = c.note
	served := make(chan error, 1)
	go func() { served <- l.server.Serve(l.Listener) }()
	dial := func(text string) (net.Conn, *bufio.Reader) {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		return conn, bufio.NewReader(conn)
	}
	_, first := dial("GET / HTTP/1.1\r\nHost: x\r\n")
	for range 3 {
		dial("GET / HTTP/1.1\r\n")
	}
	_, said := dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	response, err := http.ReadResponse(said, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); string(body) != "ok" {
		t.Errorf("said %q", body)
	}
	_ = response.Body.Close()
	if _, err := first.ReadByte(); err == nil {
		t.Error("the first half of a header was answered")
	}
	_ = l.server.Close()
	_ = l.server.Shutdown(context.Background())
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// A connection with a request keeps its place, and the only one that waits stays.
func TestWhoHasARequestStays(t *testing.T) {
	c := &connections{most: 2, open: map[net.Conn]*list.Element{}}
	a, b := net.Pipe()
	d, e := net.Pipe()
	c.turn(a, http.StateNew)
	c.turn(a, http.StateActive)
	c.turn(b, http.StateNew)
	if got := c.turn(d, http.StateNew); got != b {
		t.Errorf("%v had to go, want the one that waited longest", got)
	}
	c.turn(d, http.StateActive)
	if got := c.turn(e, http.StateNew); got != nil {
		t.Errorf("%v had to go", got)
	}
	for _, conn := range []net.Conn{a, b, d, e} {
		c.turn(conn, http.StateClosed)
	}
	if len(c.open) != 0 || c.waiting.Len() != 0 {
		t.Errorf("%d are open, %d wait", len(c.open), c.waiting.Len())
	}
}
