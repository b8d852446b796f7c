package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// pushes is a stream made of a function.
type pushes func(p []byte) Verdict

func (pushes) Wrote(time.Duration)                      {}
func (f pushes) Push(p []byte, _ time.Duration) Verdict { return f(p) }

// TestFloodHoldsUpNobody: while one server sends faster than its stream is read,
// what another one sends is read in its turn.
func TestFloodHoldsUpNobody(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		var flooded atomic.Int64 // bytes that the fast server has handed to its system
		speak, spoken := make(chan struct{}), make(chan struct{})
		fast := tr.Pool(serve(t, func(conn net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			for piece := make([]byte, 4*ReadSize); ; {
				n, err := conn.Write(piece)
				flooded.Add(int64(n))
				if err != nil {
					return
				}
			}
		}))
		slow := tr.Pool(serve(t, func(conn net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			<-speak
			_, _ = io.WriteString(conn, "x")
			close(spoken)
		}))
		var heard atomic.Bool
		ended := make(chan error, 1)
		go func() {
			_, err := slow.RoundTrip(t.Context(), requestHead(0), nil, pushes(func([]byte) Verdict {
				heard.Store(true)
				return Close
			}), true)
			ended <- err
		}()
		var read int64
		turns := 0 // of the fast stream, after the slow one was ready
		_, err := fast.RoundTrip(t.Context(), requestHead(0), nil, pushes(func(p []byte) Verdict {
			if read == 0 {
				close(speak)
				<-spoken
			}
			for read += int64(len(p)); flooded.Load() < read+3*ReadSize; {
				runtime.Gosched() // there is always more to read
			}
			if heard.Load() {
				return Close
			}
			turns++
			return More
		}), true)
		if err := errors.Join(err, <-ended); err != nil {
			t.Error(err)
		}
		if t.Name() == "TestFloodHoldsUpNobody/polled" && turns > 2 {
			t.Errorf("a stream was read after %d turns of another", turns)
		}
	})
}

// TestCancelledAsTheAnswerEnds: a connection that the end of the context closed
// is not kept, even if the answer was complete.
func TestCancelledAsTheAnswerEnds(t *testing.T) {
	eachWay(t, func(t *testing.T, tr *Transport) {
		pool := tr.Pool(serve(t, echo))
		ctx, cancel := context.WithCancel(t.Context())
		c := &collector{}
		_, err := pool.RoundTrip(ctx, requestHead(1), []byte("x"), cancelling{c, cancel}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := post(t.Context(), pool, "x", false); err != nil {
			t.Errorf("the next request: %v", err)
		}
	})
}

// cancelling is a collector that cancels its request with the end of the answer.
type cancelling struct {
	*collector
	cancel func()
}

func (c cancelling) Push(p []byte, now time.Duration) Verdict {
	v := c.collector.Push(p, now)
	if v != More {
		c.cancel()
	}
	return v
}
