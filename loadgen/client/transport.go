package client

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

// NewTransport returns the one HTTP client set-up of the load generator:
// HTTP/1.1, a connection per request in flight, TLS verified, no compression
// (which would hold back events). dial replaces the network; nil is TCP.
func NewTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial,
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
