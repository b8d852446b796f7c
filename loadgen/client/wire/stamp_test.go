package wire

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// stamped keeps the stamps that it is given.
type stamped struct {
	collector
	pushed, wrote chan time.Duration
}

func (s *stamped) Wrote(now time.Duration) { s.wrote <- now }

func (s *stamped) Push(p []byte, now time.Duration) Verdict {
	verdict := s.collector.Push(p, now)
	s.pushed <- now
	return verdict
}

// TestStamps: a read is stamped by the clock as it stands when the bytes are
// read, over a real socket. The clock stands still but for the test, which moves
// it before the server may send the next piece; so a busy machine changes
// nothing.
func TestStamps(t *testing.T) {
	for name, dial := range ways {
		t.Run(name, func(t *testing.T) {
			var clock atomic.Int64
			tr := New(Options{Dial: dial, Now: func() time.Duration { return time.Duration(clock.Load()) }})
			defer tr.Close()
			may := make(chan string)
			pool := tr.Pool(serve(t, func(conn net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
					return
				}
				for piece := range may {
					_, _ = io.WriteString(conn, piece)
				}
			}))
			defer close(may)
			s := &stamped{pushed: make(chan time.Duration), wrote: make(chan time.Duration, 1)}
			over := make(chan error)
			clock.Store(int64(time.Second))
			go func() {
				_, err := pool.RoundTrip(t.Context(), requestHead(0), nil, s, false)
				over <- err
			}()
			if wrote := <-s.wrote; wrote != time.Second {
				t.Errorf("written at %v, want 1s", wrote)
			}
			for i, piece := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "a", "b", "c"} {
				now := time.Duration(i+2) * time.Second
				clock.Store(int64(now))
				may <- piece
				if at := <-s.pushed; at != now {
					t.Errorf("piece %d stamped at %v, want %v", i, at, now)
				}
			}
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}
