package wire

import (
	"context"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// polled is a link that a loop reads.
type polled struct {
	fd   int
	loop *loop
	done chan outcome // of the exchange; room for one
	left uint32       // events that the loop has not dealt with to the end; its own

	mu     sync.Mutex
	stream Stream   // nil between exchanges
	unsent [][]byte // of the request
	dead   bool     // the file descriptor is closed
}

// outcome is how an exchange ended.
type outcome struct {
	verdict Verdict
	err     error
}

// newPolled takes a socket out of the hands of the Go runtime, whose own poller
// would wake up for each of its reads too. conn is closed unless there is an
// error.
func newPolled(l *loop, conn *net.TCPConn) (*polled, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &polled{loop: l, done: make(chan outcome, 1)}
	var dupErr error
	if err := raw.Control(func(fd uintptr) { c.fd, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, dupErr
	}
	if err := l.add(c); err != nil {
		l.remove(c)
		_ = unix.Close(c.fd)
		return nil, err
	}
	_ = conn.Close() // its duplicate stays open
	return c, nil
}

// alive implements link: the loop sees at once that the other end closes.
func (c *polled) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.dead
}

func (c *polled) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kill()
}

// exchange implements link.
func (c *polled) exchange(ctx context.Context, head, body []byte, s Stream) (Verdict, error) {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return Close, io.EOF
	}
	c.stream, c.unsent = s, [][]byte{head, body}
	c.write()
	c.mu.Unlock()
	select {
	case o := <-c.done:
		return o.verdict, o.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == nil { // it has ended in this very moment
		o := <-c.done
		return o.verdict, o.err
	}
	c.stream = nil
	c.kill()
	return Close, context.Cause(ctx)
}

// write sends as much of the request as the socket takes. An error shows in the
// next read, after what the server may have had to say.
func (c *polled) write() {
	for len(c.unsent) > 0 {
		n, err := unix.Writev(c.fd, c.unsent)
		switch err {
		case nil:
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return // the loop goes on when there is room
		default:
			c.unsent = nil
			return
		}
		for len(c.unsent) > 0 && n >= len(c.unsent[0]) {
			n -= len(c.unsent[0])
			c.unsent = c.unsent[1:]
		}
		if len(c.unsent) > 0 {
			c.unsent[0] = c.unsent[0][n:]
		}
	}
	c.stream.Wrote(c.loop.now())
}

// ready is called by the loop when the socket has changed, and again as long as
// there may be more to read: one read at a time, so that no stream, however fast,
// holds up the others.
func (c *polled) ready(events uint32, buffer []byte) (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unsent) > 0 && c.stream != nil {
		c.write()
	}
	if c.dead || events&^unix.EPOLLOUT == 0 {
		return false
	}
	n, err := unix.Read(c.fd, buffer)
	now := c.loop.now()
	switch {
	case err == unix.EINTR:
		return true
	case err == unix.EAGAIN:
		return false
	case err != nil:
		c.broken(err)
	case n == 0:
		c.broken(io.EOF)
	case c.stream == nil:
		c.kill() // bytes that nobody asked for
	default:
		if verdict := c.stream.Push(buffer[:n], now); verdict != More {
			c.complete(verdict)
		}
	}
	// A short read has emptied the socket (epoll(7)), unless its end follows.
	return !c.dead && (n == len(buffer) || events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
}

// complete ends an exchange whose stream is content.
func (c *polled) complete(v Verdict) {
	if len(c.unsent) > 0 {
		c.unsent, v = nil, Close // the server answered before it had read the request
	}
	if v == Close {
		c.kill()
	}
	c.stream = nil
	c.done <- outcome{v, nil}
}

// broken ends the connection, and the exchange when one is on its way.
func (c *polled) broken(err error) {
	c.kill()
	if c.stream != nil {
		c.stream = nil
		c.done <- outcome{Close, err}
	}
}

// kill closes the socket.
func (c *polled) kill() {
	if c.dead {
		return
	}
	c.dead, c.unsent = true, nil
	c.loop.remove(c)
	_ = unix.Close(c.fd) // nobody needs to know
}
