package loadgen

import (
	"context"
	"net"
	"net/http"
	"time"
)

// keepAlive is how long an idle connection is kept. It is below the 5 s after
// which uvicorn, and so most Python servers, closes one: a request sent into
// that moment would fail through nobody's fault.
const keepAlive = 4 * time.Second

// readSize is the size of one read from a connection. Small reads make a client
// late when many streams are busy (vllm-project/vllm#39963).
const readSize = 16 << 10

// environment is what a run needs from the machine.
type environment struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// wait returns at the time given, as exactly as the machine can, or earlier
	// when the context ends.
	wait func(ctx context.Context, until time.Time)
}

func (e environment) withDefaults() environment {
	if e.dial == nil {
		e.dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	}
	if e.wait == nil {
		e.wait = waitUntil
	}
	return e
}

// newTransport returns the one HTTP client set-up of the load generator:
// HTTP/1.1, a connection per request in flight, TLS verified, no compression
// (which would hold back events).
func newTransport(env environment) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            env.dial,
		Protocols:              protocols,
		MaxIdleConns:           0, // no limit
		MaxIdleConnsPerHost:    1 << 20,
		IdleConnTimeout:        keepAlive,
		TLSHandshakeTimeout:    10 * time.Second,
		DisableCompression:     true,
		ReadBufferSize:         readSize,
		WriteBufferSize:        readSize,
		MaxResponseHeaderBytes: 1 << 20,
	}
}
