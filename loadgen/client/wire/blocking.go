package wire

import (
	"context"
	"net"
	"sync"
	"time"
)

// readSize is the size of one read from a connection. Small reads make a client
// late when many streams are busy (vllm-project/vllm#39963).
const readSize = 16 << 10

var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

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
	verdict, err := c.read(s)
	if !stop() && err != nil {
		err = context.Cause(ctx)
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

// read hands on what arrives until the stream is content.
func (c *blocking) read(s Stream) (Verdict, error) {
	buffer := buffers.Get().(*[readSize]byte)
	defer buffers.Put(buffer)
	for {
		n, err := c.conn.Read(buffer[:])
		now := c.now()
		if n > 0 {
			if verdict := s.Push(buffer[:n], now); verdict != More {
				return verdict, nil
			}
		}
		if err != nil {
			return Close, err
		}
	}
}
