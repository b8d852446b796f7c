package mock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Checked is what a client of raw sockets saw of a server's times.
type Checked struct {
	Streams  int
	Answers  int
	Events   int64 // with tokens
	Duration time.Duration
	TTFT     Lateness // how much later than TTFT the first token came
	Gap      Lateness // how far from its length each gap between events was, in either direction
	Server   Served
}

// Check runs a server on a free port of the loopback, keeps some streams open
// against it for a while, with a client that does no more than read sockets and
// the clock, and compares what comes with what was asked for. Both share this
// process's processors. The server's answers must be faultless and of at least two
// tokens.
func Check(ctx context.Context, s *Server, streams int, duration time.Duration) (Checked, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Checked{}, fmt.Errorf("listening on the loopback: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	address := l.Addr().(*net.TCPAddr)
	go func() { served <- s.ServeExact(ctx, l) }()
	checked, err := watchStreams(ctx, s, address, streams, duration)
	cancel()
	if serving := <-served; serving != nil {
		err = errors.Join(err, serving)
	}
	checked.Server = s.Served()
	return checked, err
}
