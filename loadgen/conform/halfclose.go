package conform

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// halfClosing is a connection whose sending half is closed as soon as a request
// has been sent: its client waits for the answer, and has nothing more to say.
type halfClosing struct {
	net.Conn
	body   []byte // what the request ends in
	sent   []byte
	closed *atomic.Bool
	mu     sync.Mutex // held from the request's last byte until the half is closed
}

// Read implements net.Conn. What comes is told after the half is closed: a quick
// server's whole answer would end the connection before.
func (h *halfClosing) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	return n, err
}

// Write implements net.Conn.
func (h *halfClosing) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.Conn.Write(p)
	h.sent = append(h.sent, p[:n]...)
	if err != nil || h.closed.Load() || !bytes.HasSuffix(h.sent, h.body) {
		return n, err
	}
	if c, ok := h.Conn.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		h.closed.Store(true)
	}
	return n, nil
}

// halfClosed posts a body over a connection of its own, and closes its sending
// half. closed is false where it could not be closed, as behind a forward proxy.
func (p *probe) halfClosed(ctx context.Context, path, body string) (a *answer, closed bool, err error) {
	var done atomic.Bool
	t := newTransport()
	t.DisableKeepAlives = true
	defer t.CloseIdleConnections()
	type dial = func(ctx context.Context, network, addr string) (net.Conn, error)
	wrap := func(inner dial) dial {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := inner(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			if t, ok := conn.(*tap); ok {
				conn = t.Conn // nobody listens
			}
			return &halfClosing{Conn: conn, body: []byte(body), closed: &done}, nil
		}
	}
	t.DialContext, t.DialTLSContext = wrap(t.DialContext), wrap(t.DialTLSContext)
	a, err = p.ask(ctx, request{method: http.MethodPost, path: path, body: []byte(body), over: t})
	return a, done.Load(), err
}
