//go:build !linux

package mock

import (
	"context"
	"errors"
	"net"
)

// ServeExact answers what comes in at l until ctx ends, with net/http and Go's
// timers, which are up to about a millisecond late.
func (s *Server) ServeExact(ctx context.Context, l net.Listener) error { return s.servePlainly(ctx, l) }

// RealTime asks for real-time scheduling, which other systems than Linux are not
// asked for here.
func RealTime() error { return errors.New("real-time scheduling is asked for on Linux alone") }
