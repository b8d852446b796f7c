package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// proxy is the measure of all fronts: net/http's reverse proxy, which checks
// nothing and counts nothing, in a process of its own.
func proxy(s *iostreams.IO, address, upstream string) int {
	to, err := url.Parse(upstream)
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 2
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 1
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			FlushInterval: -1,
			Transport:     &http.Transport{MaxIdleConnsPerHost: 4096, IdleConnTimeout: 4 * time.Second, DisableCompression: true},
		},
	}
	go func() {
		<-s.Interrupts()
		_ = server.Close()
	}()
	_ = server.Serve(l) // ended by its parent
	return 0
}
