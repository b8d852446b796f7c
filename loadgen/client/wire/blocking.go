package wire

import (
	"context"
	"net"
	"time"
)

// blocking is a link whose reads block the goroutine of the request.
type blocking struct {
	conn net.Conn
	now  func() time.Duration
}

// alive implements link. What the other end does shows in the next read.
func (c *blocking) alive() bool { return true }

func (c *blocking) close() { _ = c.conn.Close() } // nobody needs to know

// exchange implements link. The request is written beside the reading, since a
// server may refuse it before it has read it all.
func (c *blocking) exchange(ctx context.Context, head, body []byte, s Stream) (Verdict, error) {
	stop := context.AfterFunc(ctx, c.close)
	written := make(chan bool, 1)
	go func() {
		request := net.Buffers{head, body}
		_, err := request.WriteTo(c.conn)
		if err == nil {
			s.Wrote(c.now())
		}
		written <- err == nil
	}()
	verdict := More
	err := Read(c.conn, c.now, func(p []byte, now time.Duration) bool {
		verdict = s.Push(p, now)
		return verdict == More
	})
	if !stop() { // the connection is closed, or will be
		if verdict = Close; err != nil {
			err = context.Cause(ctx)
		}
	}
	complete := c.finished(written)
	if err != nil || verdict != Reuse || !complete {
		c.close()
		verdict = Close
	}
	if !complete {
		<-written // closing has ended it
	}
	return verdict, err
}

// writeGrace is how long the writing of a request that has been answered may
// take to notice that it is over.
const writeGrace = 10 * time.Millisecond

// finished reports whether the request was written to its end. A server that
// answers before it has read the request leaves a connection of no more use.
func (c *blocking) finished(written chan bool) bool {
	select {
	case ok := <-written:
		written <- ok
		return ok
	default:
	}
	timer := time.NewTimer(writeGrace)
	defer timer.Stop()
	select {
	case ok := <-written:
		written <- ok
		return ok
	case <-timer.C:
		return false
	}
}
