package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// collector is a stream that waits for a whole response.
type collector struct {
	parser Parser
	body   bytes.Buffer
	wrote  atomic.Bool
	began  chan struct{} // closed at the first byte, when it is there
}

func (c *collector) Wrote(time.Duration) { c.wrote.Store(true) }

func (c *collector) Push(p []byte, _ time.Duration) Verdict {
	if c.began != nil && !c.parser.Began() {
		close(c.began)
	}
	for len(p) > 0 && !c.parser.Ended() {
		part, rest, err := c.parser.Next(p)
		if err != nil {
			return Close
		}
		c.body.Write(part)
		p = rest
	}
	switch {
	case !c.parser.Ended():
		return More
	case c.parser.Reusable():
		return Reuse
	}
	return Close
}

// serve answers each connection in a goroutine until the test ends.
func serve(t *testing.T, answer func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			serving.Go(func() {
				defer conn.Close()
				answer(conn)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return l.Addr().String()
}

// echo answers requests with the size of their body until the client leaves.
func echo(conn net.Conn) {
	r := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"); err != nil {
			return
		}
	}
}

// ways are a transport whose sockets a loop reads, where there is one, and one
// whose requests read by themselves.
var ways = map[string]func(ctx context.Context, network, address string) (net.Conn, error){
	"polled": nil,
	"blocking": func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return struct{ net.Conn }{conn}, nil // hides that it is a socket
	},
}

func eachWay(t *testing.T, test func(t *testing.T, tr *Transport)) {
	for name, dial := range ways {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			tr := New(Options{Dial: dial, Now: func() time.Duration { return time.Since(start) }})
			defer tr.Close() // before the server is waited for
			test(t, tr)
		})
	}
}

func post(ctx context.Context, p *Pool, body string, fresh bool) (*collector, bool, error) {
	c := new(collector)
	reused, err := p.RoundTrip(ctx, requestHead(len(body)), []byte(body), c, fresh)
	return c, reused, err
}

func requestHead(length int) []byte {
	return fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", length)
}

func TestReuse(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		var connections atomic.Int64
		pool := tr.Pool(serve(t, func(c net.Conn) { connections.Add(1); echo(c) }))
		for i := range 5 {
			c, reused, err := post(t.Context(), pool, "x", false)
			if err != nil || c.body.String() != "hello" || reused != (i > 0) || !c.wrote.Load() {
				t.Fatalf("request %d: %q, reused %v, wrote %v, %v", i, c.body.String(), reused, c.wrote.Load(), err)
			}
		}
		if _, reused, err := post(t.Context(), pool, "x", true); reused || err != nil {
			t.Errorf("a fresh connection was reused: %v, %v", reused, err)
		}
		if n := connections.Load(); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}

// TestLongBody sends more than the buffers of both ends hold, to a server that
// takes its time.
func TestLongBody(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		body := strings.Repeat("x", 16<<20)
		pool := tr.Pool(serve(t, echo))
		for range 2 {
			c, _, err := post(t.Context(), pool, body, false)
			if err != nil || c.body.String() != "hello" || !c.wrote.Load() {
				t.Fatalf("%q, wrote %v, %v", c.body.String(), c.wrote.Load(), err)
			}
		}
	})
}

// TestAnswerBeforeTheRequest: a server that refuses a request after its head.
func TestAnswerBeforeTheRequest(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		hold := make(chan struct{})
		pool := tr.Pool(serve(t, func(conn net.Conn) {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = io.WriteString(conn, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n")
			<-hold
		}))
		c, _, err := post(t.Context(), pool, strings.Repeat("x", 64<<20), false)
		close(hold)
		if err != nil || c.parser.Head() == nil || c.parser.Head().Status != 413 || c.wrote.Load() {
			t.Errorf("wrote %v, %v", c.wrote.Load(), err)
		}
		if _, reused := pool.take(); reused {
			t.Error("the connection was kept in the middle of a request")
		}
	})
}

// TestCancel: the end of the context closes the connection, before and within an
// answer.
func TestCancel(t *testing.T) {
	left := errors.New("left")
	for _, first := range []string{"", "HTTP/1.1 200 OK\r\n"} {
		eachWay(t, func(t *testing.T, tr *Transport) {
			ctx, cancel := context.WithCancelCause(t.Context())
			gone := make(chan error, 1)
			pool := tr.Pool(serve(t, func(conn net.Conn) {
				_, _ = io.WriteString(conn, first)
				r := bufio.NewReader(conn)
				request, err := http.ReadRequest(r)
				if err == nil {
					_, err = io.Copy(io.Discard, request.Body)
				}
				if first == "" && err == nil {
					cancel(left)
				}
				_, err = r.ReadByte()
				gone <- err
			}))
			c := &collector{began: make(chan struct{})}
			go func() {
				select {
				case <-c.began:
					cancel(left)
				case <-ctx.Done():
				}
			}()
			_, err := pool.RoundTrip(ctx, requestHead(1), []byte("x"), c, false)
			if err != left { //nolint:errorlint // the cause itself
				t.Errorf("error %v", err)
			}
			if err := <-gone; err == nil {
				t.Error("the server still has a client")
			}
		})
	}
}

// TestClosedByServer: a connection that the server closes while it is idle is
// known to be closed, or shows it as io.EOF on a reused connection.
func TestClosedByServer(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		closed := make(chan struct{}, 8)
		pool := tr.Pool(serve(t, func(conn net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
			_ = conn.Close()
			closed <- struct{}{}
		}))
		if _, _, err := post(t.Context(), pool, "", false); err != nil {
			t.Fatal(err)
		}
		<-closed
		if _, reused, err := post(t.Context(), pool, "", false); err != nil && (!reused || !stale(err)) {
			t.Errorf("reused %v, %v", reused, err)
		}
	})
}

// stale reports whether an error is that of a connection that was closed.
func stale(err error) bool {
	return err == io.EOF || strings.Contains(err.Error(), "reset") || strings.Contains(err.Error(), "pipe")
}

func TestNoAnswer(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		pool := tr.Pool(serve(t, func(conn net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(conn)) }))
		if _, reused, err := post(t.Context(), pool, "", false); err != io.EOF || reused { //nolint:errorlint // itself
			t.Errorf("reused %v, %v", reused, err)
		}
	})
}

func TestWarm(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		pool := tr.Pool(serve(t, echo))
		for _, n := range []int{20, 20, 5} {
			if err := pool.Warm(t.Context(), n); err != nil || len(pool.idle) != 20 {
				t.Fatalf("%d idle connections, %v", len(pool.idle), err)
			}
		}
		if _, reused, err := post(t.Context(), pool, "x", false); !reused || err != nil {
			t.Errorf("reused %v, %v", reused, err)
		}
	})
}

func TestWarmFails(t *testing.T) {
	tr := New(Options{Now: func() time.Duration { return 0 }, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, net.ErrClosed
	}})
	defer tr.Close()
	if err := tr.Pool("x:1").Warm(t.Context(), 1000); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Pool("x:1").Warm(ctx, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestManyAtOnce has many requests in flight over few loops and pools.
func TestManyAtOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		pool := tr.Pool(serve(t, echo))
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for range 20 {
					if c, _, err := post(t.Context(), pool, "x", false); err != nil || c.body.String() != "hello" {
						t.Errorf("%q, %v", c.body.String(), err)
					}
				}
			})
		}
		all.Wait()
	})
}
