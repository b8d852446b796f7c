package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// HTTP is the version of the protocol that is spoken.
type HTTP string

// The versions.
const (
	HTTP1    HTTP = "1.1"  // a connection per request in flight
	HTTP2    HTTP = "2"    // streams of shared connections; without TLS, by prior knowledge
	HTTPAuto HTTP = "auto" // what the server prefers where TLS negotiates it, else HTTP1
)

// ours reports whether our own transport sends the requests to a URL: it speaks
// plain HTTP/1.1, and to no proxy.
func (h HTTP) ours(u *url.URL) bool {
	if u.Scheme != "http" || h == HTTP2 {
		return false
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	return proxy == nil && err == nil
}

// keepAlive is how long an idle connection is kept. It is below the 5 s after
// which uvicorn, and so most Python servers, closes one: a request sent into
// that moment would fail through nobody's fault.
const keepAlive = 4 * time.Second

// DefaultConnectTimeout bounds one attempt to connect, the TLS handshake apart.
const DefaultConnectTimeout = 10 * time.Second

func (o Options) connectTimeout() time.Duration {
	if o.ConnectTimeout > 0 {
		return o.ConnectTimeout
	}
	return DefaultConnectTimeout
}

// NewTransport returns a net/http transport that connects as the options say:
// protocol, certificates, network. The error names an unknown protocol.
func (o Options) NewTransport() (*http.Transport, error) {
	t := NewTransport(o.dialer())
	t.TLSClientConfig = o.TLS.Clone()
	t.TLSHandshakeTimeout = o.connectTimeout()
	switch o.HTTP {
	case "", HTTP1:
	case HTTP2:
		t.Protocols.SetHTTP1(false)
		t.Protocols.SetHTTP2(true)
		t.Protocols.SetUnencryptedHTTP2(true)
	case HTTPAuto:
		t.Protocols.SetHTTP2(true)
	default:
		return nil, fmt.Errorf("unknown HTTP version %q, expected 1.1, 2 or auto", string(o.HTTP))
	}
	return t, nil
}

func (o Options) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial
	}
	return (&net.Dialer{Timeout: o.connectTimeout(), KeepAlive: 15 * time.Second}).DialContext
}

// NewTransport returns the net/http set-up of the load generator: HTTP/1.1, a
// connection per request in flight, TLS verified, no compression (which would
// hold back events). dial replaces the network; nil is TCP.
func NewTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	if dial == nil {
		dial = Options{}.dialer()
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
		TLSHandshakeTimeout:    DefaultConnectTimeout,
		DisableCompression:     true,
		ReadBufferSize:         readSize,
		WriteBufferSize:        readSize,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// NewTLS returns how to verify servers and to identify to them: by the
// certificates in ca in place of the system's, when it is not empty; with a
// certificate of our own, when cert and key are not empty; insecure verifies
// nothing. All are PEM.
func NewTLS(insecure bool, ca, cert, key []byte) (*tls.Config, error) {
	config := &tls.Config{InsecureSkipVerify: insecure}
	if len(ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("no certificate in PEM among the certificate authorities")
		}
	}
	if len(cert) > 0 {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate and its key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
