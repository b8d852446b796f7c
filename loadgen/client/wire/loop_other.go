//go:build !linux

package wire

import "net"

// loop does not exist here: each request reads in its own goroutine.
type loop struct{}

func (*loop) stop() {}

// link makes a link of a connection.
func (t *Transport) link(conn net.Conn) link { return &blocking{conn, t.now} }
