//go:build !linux

package mock

import (
	"context"
	"errors"
	"net"
	"time"
)

func watchStreams(context.Context, *Server, *net.TCPAddr, int, time.Duration) (Checked, error) {
	return Checked{}, errors.New("the check reads raw sockets, which it does on Linux alone")
}
