package mock

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Network connects clients to an HTTP server inside one process, without
// sockets. Under testing/synctest everything that goes over it happens in
// virtual time.
type Network struct {
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// NewNetwork returns a network without a server.
func NewNetwork() *Network {
	return &Network{accept: make(chan net.Conn), closed: make(chan struct{})}
}

// Serve runs a server with the handler until stop is called, which waits for
// it.
func (n *Network) Serve(h http.Handler) (stop func()) {
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(n) // ends with http.ErrServerClosed
	}()
	return func() {
		_ = server.Close() // closes connections that tests left open
		<-done
	}
}

// Dial connects to the server, whatever the address.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.accept <- server:
		return client, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accept:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (n *Network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// Addr implements net.Listener.
func (n *Network) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory" }
