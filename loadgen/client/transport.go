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

	"github.com/llmctl/llmctl/loadgen/client/wire"
)

// HTTP is the version of the protocol that is spoken.
type HTTP string

// The versions.
const (
	HTTP1    HTTP = "1.1"  // a connection per request in flight
	HTTP2    HTTP = "2"    // streams of shared connections; without TLS, by prior knowledge
	HTTPAuto HTTP = "auto" // what the server prefers where TLS negotiates it, else HTTP1
)

// check refuses a version that does not exist.
func (h HTTP) check() error {
	switch h {
	case "", HTTP1, HTTP2, HTTPAuto:
		return nil
	}
	return fmt.Errorf("unknown HTTP version %q, expected 1.1, 2 or auto", string(h))
}

// ours reports whether our own transport sends the requests to a URL: it speaks
// plain HTTP/1.1, and to no proxy.
func (h HTTP) ours(u *url.URL) bool {
	if u.Scheme != "http" || h == HTTP2 {
		return false
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	return proxy == nil && err == nil
}

// DefaultConnectTimeout bounds one attempt to connect, the TLS handshake apart.
const DefaultConnectTimeout = 10 * time.Second

func (o Options) connectTimeout() time.Duration {
	if o.ConnectTimeout > 0 {
		return o.ConnectTimeout
	}
	return DefaultConnectTimeout
}

// NewTransport returns the net/http set-up of the load generator: the protocol
// and the certificates of the options, a connection per request in flight where
// it is HTTP/1.1, no compression (which would hold back events).
func (o Options) NewTransport() *http.Transport {
	config := o.TLS.Clone()
	if o.HTTP == HTTP2 {
		config = onlyHTTP2(config)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(o.HTTP != HTTP2)
	protocols.SetHTTP2(o.HTTP == HTTP2 || o.HTTP == HTTPAuto)
	protocols.SetUnencryptedHTTP2(o.HTTP == HTTP2)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            o.dialer(),
		Protocols:              protocols,
		TLSClientConfig:        config,
		MaxIdleConns:           0, // no limit
		MaxIdleConnsPerHost:    1 << 20,
		IdleConnTimeout:        wire.KeepAlive,
		TLSHandshakeTimeout:    o.connectTimeout(),
		DisableCompression:     true,
		ReadBufferSize:         wire.ReadSize,
		WriteBufferSize:        wire.ReadSize,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// errNoHTTP2 reports a server that does not negotiate the version asked for.
var errNoHTTP2 = errors.New("the server did not agree to HTTP/2 by ALPN")

// onlyHTTP2 ends a handshake that comes to another version: net/http would speak
// HTTP/1.1 to a server that knows no ALPN.
func onlyHTTP2(config *tls.Config) *tls.Config {
	if config == nil {
		config = new(tls.Config)
	}
	verify := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if state.NegotiatedProtocol != "h2" {
			return errNoHTTP2
		}
		if verify != nil {
			return verify(state)
		}
		return nil
	}
	return config
}

func (o Options) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial
	}
	return (&net.Dialer{Timeout: o.connectTimeout(), KeepAlive: 15 * time.Second}).DialContext
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
