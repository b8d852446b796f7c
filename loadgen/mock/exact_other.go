//go:build !linux

package mock

import (
	"context"
	"net"
)

// ServeExact answers what comes in at l until ctx ends, with net/http and Go's
// timers, which are up to about a millisecond late.
func (s *Server) ServeExact(ctx context.Context, l net.Listener) error { return s.servePlainly(ctx, l) }
