package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// A listener is one HTTP server on one address.
type listener struct {
	net.Listener
	server *http.Server
	secure bool // it speaks TLS; the server's own settings change while it serves
}

// listen opens an address; what it answers is up to handler.
func listen(addr string, handler http.Handler) (*listener, error) {
	l, err := openAddress(addr)
	if err != nil {
		return nil, err
	}
	return listenOn(l, handler), nil
}

// listenOn is listen on an address that is open.
func listenOn(l net.Listener, handler http.Handler) *listener {
	return &listener{Listener: l, server: &http.Server{
		Handler: handler,
		// A stream may last for minutes, so only the header has a deadline.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}}
}

// openAddress listens on a TCP address.
func openAddress(addr string) (net.Listener, error) {
	if _, err := net.ResolveTCPAddr("tcp", addr); err != nil || addr == "" {
		return nil, usagef("%q is no address to listen on, expected one like 127.0.0.1:8000", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", addr, errors.Unwrap(err))
	}
	return l, nil
}

// url is the address in the form that a client on this machine can use.
func (l *listener) url() string {
	if l.secure {
		return clientURL("https://", l.Listener)
	}
	return clientURL("http://", l.Listener)
}

func clientURL(scheme string, l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return scheme + "localhost:" + port
	}
	return scheme + l.Addr().String()
}

// serve answers until the server is closed.
func (l *listener) serve() error {
	if l.secure {
		return l.server.ServeTLS(l.Listener, "", "")
	}
	return l.server.Serve(l.Listener)
}

// closeWithin lets what is under way end, and cuts off what does not.
func (l *listener) closeWithin(patience time.Duration) {
	ctx, expire := context.WithTimeout(context.Background(), patience)
	defer expire()
	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close()
	}
}

// serveUntil answers requests until stop is closed or a listener breaks, then
// lets running requests end within grace, or until the user asks again.
func serveUntil(stop <-chan struct{}, s *iostreams.IO, grace time.Duration, drain func(), listeners ...*listener) error {
	var wg sync.WaitGroup
	broken := make(chan error, len(listeners))
	for _, l := range listeners {
		wg.Go(func() {
			if err := l.serve(); !errors.Is(err, http.ErrServerClosed) {
				broken <- fmt.Errorf("serving on %s: %w", l.Addr(), err)
			}
		})
	}
	var failed error
	interrupts := s.Interrupts()
	select {
	case <-stop:
	case <-interrupts:
	case failed = <-broken:
	}
	drain()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	go func() {
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	for _, l := range listeners {
		if err := l.server.Shutdown(ctx); err != nil {
			_ = l.server.Close() // out of patience: what still runs is cut
		}
	}
	wg.Wait()
	return failed
}
