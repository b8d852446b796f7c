package conform

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// newTransport is a transport whose connections can be listened to. It speaks
// HTTP/1.1 alone, whose chunks are a part of what is checked, and decompresses
// nothing, so that cases see what was sent.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &tap{Conn: conn}, nil
		},
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			secure := &tls.Dialer{NetDialer: dialer, Config: &tls.Config{NextProtos: []string{"http/1.1"}}}
			conn, err := secure.DialContext(ctx, network, addr)
			if err != nil {
				return nil, fmt.Errorf("connecting with TLS: %w", err)
			}
			return &tap{Conn: conn}, nil
		},
		DisableCompression:    true,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
	}
}
