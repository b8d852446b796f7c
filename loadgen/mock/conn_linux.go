package mock

import (
	"errors"
	"net/http"
	"time"

	"golang.org/x/sys/unix"
)

// A conn is one connection of a loop, with at most one answer on its way.
type conn struct {
	fd     int
	closed bool

	in   []byte // received, not consumed
	head *head  // of the request whose body is awaited
	busy bool   // a request is being answered
	last bool   // the connection ends with its answer

	a      *answer
	ticket *ticket
	flight *flight
	begin  time.Duration // from which the answer's times count

	next   piece
	i      int // pieces asked for
	dueAt  time.Duration
	place  int // in the heap; -1 is none
	headed bool
	framed []byte // the latest piece as it was sent

	out   []byte // what the client's socket did not take
	ended bool   // the answer is over when out is sent
}

// maxWaiting is how many bytes a client may send ahead of an answer.
const maxWaiting = 1 << 20

// smallBody is the longest body that is read on the loop's own thread, which
// takes some 50 µs. Longer ones are read elsewhere, so that nobody else's tokens
// wait for them.
const smallBody = 16 << 10

func (l *loop) read(c *conn) {
	for !c.closed {
		n, err := unix.Read(c.fd, l.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return
		case err != nil || n <= 0:
			l.drop(c)
			return
		}
		arrived := l.now()
		if c.busy && len(c.in)+n > maxWaiting {
			l.drop(c)
			return
		}
		c.in = append(c.in, l.buf[:n]...)
		l.requests(c, arrived)
		if n < len(l.buf) {
			return
		}
	}
}

// requests begins the next request that is complete.
func (l *loop) requests(c *conn, arrived time.Duration) {
	if c.busy || c.closed || len(c.in) == 0 {
		return
	}
	if c.head == nil {
		h, n, err := parseHead(c.in)
		if err != nil {
			l.incomplete(c, err)
			return
		}
		c.head, c.in = &h, c.in[n:]
	}
	body, n, err := c.head.body(c.in)
	if err != nil {
		l.incomplete(c, err)
		return
	}
	request := &Request{Path: c.head.path, Header: c.head.header, Body: body}
	method := c.head.method
	c.busy, c.last = true, c.head.close
	c.head, c.in = nil, c.in[n:]
	if len(c.in) == 0 {
		c.in = nil // an idle connection holds no memory
	}
	if len(body) <= smallBody {
		l.answer(c, l.server.answer(method, request), arrived)
		return
	}
	l.work.Go(func() {
		a := l.server.answer(method, request)
		l.post(func() { l.answer(c, a, arrived) })
	})
}

// incomplete waits for more, or refuses what can not become a request.
func (l *loop) incomplete(c *conn, err error) {
	if errors.Is(err, errMore) {
		if c.head != nil && c.head.expects {
			c.head.expects = false
			_, _ = unix.Write(c.fd, []byte("HTTP/1.1 100 Continue\r\n\r\n")) // a client that gets none goes on by itself
		}
		return
	}
	c.busy, c.last = true, true
	l.answer(c, refusal(http.StatusBadRequest, "invalid_request_error", err.Error()), l.now())
}

// answer begins to answer a request, or lets it wait for its place.
func (l *loop) answer(c *conn, a *answer, arrived time.Duration) {
	if c.closed {
		return
	}
	c.a, c.ticket = a, nil
	if a.generates {
		c.ticket = l.server.enter(func() {
			c.ticket = nil
			l.begin(c, l.now(), arrived)
		})
	}
	if c.ticket == nil {
		l.begin(c, arrived, arrived)
	}
}

func (l *loop) begin(c *conn, at, arrived time.Duration) {
	c.begin, c.headed, c.ended, c.i = at, c.a.raw, false, 0
	if c.a.generates {
		c.flight = l.server.start(c.a, arrived)
	}
	if !l.advance(c) { // an answer without a body
		l.scratch = append(l.scratch[:0], c.ending()...)
		if !c.headed {
			c.headed = true
			l.scratch = append(appendHead(l.scratch[:0], c.a, c.last), c.ending()...)
		}
		l.send(c, l.scratch)
		l.finish(c)
	}
}

// advance asks for the next piece and takes note of when it is due.
func (l *loop) advance(c *conn) (more bool) {
	c.next, more = c.a.body.piece(c.i)
	if more {
		c.i++
		l.due.set(c, c.begin+max(c.next.at, 0))
	} else {
		l.due.remove(c)
	}
	return more
}

// ending is what ends the HTTP message.
func (c *conn) ending() string {
	if c.a.raw || c.a.whole || c.a.end != Close && c.a.end != Drop {
		return ""
	}
	return lastChunk
}

// fire sends the piece of c that is due, and returns the time. The end of the
// message goes with the last piece.
func (l *loop) fire(c *conn) (now time.Duration) {
	p, due := c.next, c.dueAt
	switch {
	case p.same:
	case c.a.raw || c.a.whole:
		c.framed = append(c.framed[:0], p.data...)
	default:
		c.framed = appendChunk(c.framed[:0], p.data)
	}
	wire := c.framed
	if !c.headed {
		c.headed = true
		l.scratch = append(appendHead(l.scratch[:0], c.a, c.last), wire...)
		wire = l.scratch
	}
	more := l.advance(c)
	if ending := ""; !more {
		if ending = c.ending(); ending != "" {
			l.scratch = append(append(l.scratch[:0], wire...), ending...)
			wire = l.scratch
		}
	}
	blocked := len(c.out) > 0
	taken := l.send(c, wire)
	now = l.now()
	if c.closed {
		return now
	}
	if c.flight != nil {
		c.flight.sent(&p, due, now, blocked || !taken)
	}
	if !more {
		l.finish(c)
	}
	return now
}

// maxBacklog is how much an answer may be ahead of a client that does not read.
const maxBacklog = 64 << 20

// send writes to the socket without waiting. What it does not take is kept, and
// taken is false; the client's slowness delays nobody else.
func (l *loop) send(c *conn, b []byte) (taken bool) {
	if len(c.out) == 0 {
		n, err := unix.Write(c.fd, b)
		if err != nil && err != unix.EAGAIN && err != unix.EINTR {
			l.drop(c)
			return true
		}
		if b = b[max(n, 0):]; len(b) == 0 {
			return true
		}
		_ = l.watch(unix.EPOLL_CTL_MOD, c.fd, unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLOUT) // fails for closed ones only
	}
	if len(c.out)+len(b) > maxBacklog {
		l.drop(c)
		return false
	}
	c.out = append(c.out, b...)
	return false
}

// flush sends what the socket did not take before.
func (l *loop) flush(c *conn) {
	n, err := unix.Write(c.fd, c.out)
	if err != nil && err != unix.EAGAIN && err != unix.EINTR {
		l.drop(c)
		return
	}
	if c.out = c.out[max(n, 0):]; len(c.out) > 0 {
		return
	}
	c.out = nil
	_ = l.watch(unix.EPOLL_CTL_MOD, c.fd, unix.EPOLLIN|unix.EPOLLRDHUP) // as above
	if c.ended {
		l.finish(c)
	}
}

// finish ends an answer whose pieces are sent.
func (l *loop) finish(c *conn) {
	if c.closed {
		return
	}
	if c.ended = len(c.out) > 0; c.ended {
		return // flush comes back
	}
	end := c.a.end
	if end == Hang {
		return // until the client leaves
	}
	c.framed = nil
	flight := c.flight
	c.busy, c.a, c.flight, c.next = false, nil, nil, piece{}
	switch {
	case end == Reset:
		_ = unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // makes the close a reset
		fallthrough
	case end == Abort, end == Drop, c.last:
		l.drop(c)
	}
	if flight != nil {
		flight.end(l.now(), false)
	}
	l.requests(c, l.now())
}

// drop closes a connection, whatever it is doing.
func (l *loop) drop(c *conn) {
	if c.closed {
		return
	}
	c.closed = true
	l.due.remove(c)
	delete(l.conns, c.fd)
	_ = unix.Close(c.fd) // also ends its being watched
	if l.paused {
		l.paused = l.watch(unix.EPOLL_CTL_ADD, l.listen, unix.EPOLLIN) != nil
	}
	if c.ticket != nil {
		l.server.giveUp(c.ticket)
	}
	if c.flight != nil {
		c.flight.end(l.now(), true)
	}
}
