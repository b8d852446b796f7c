package main

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/llmctl/llmctl/gateway"
	"github.com/llmctl/llmctl/gateway/certs"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/reload"
	"github.com/llmctl/llmctl/internal/iostreams"
)

// gatewayServers are the gateway's listeners.
type gatewayServers struct {
	log        *slog.Logger
	api, admin *listener    // admin is nil without one
	picker     *envoyPicker // nil without one
}

// openGateway listens on the addresses of a configuration.
func openGateway(c *config.Config, g *gateway.Gateway, log *slog.Logger) (*gatewayServers, error) {
	api, err := listenTLS(c.Listen, g.Handler(), c.TLS, log)
	if err != nil {
		return nil, err
	}
	api.server.DisableGeneralOptionsHandler = true // so that the API answers OPTIONS * as it answers all else
	servers := &gatewayServers{log: log, api: api}
	if c.Admin.Listen != "" {
		if servers.admin, err = listenTLS(c.Admin.Listen, g.AdminHandler(), c.Admin.TLS, log); err != nil {
			servers.close()
			return nil, err
		}
	}
	if servers.picker, err = openPicker(c.Picker, g, log); err != nil {
		servers.close()
		return nil, err
	}
	return servers, nil
}

// close gives the addresses back before anything was served on them.
func (v *gatewayServers) close() {
	v.each(func(l *listener) { _ = l.Close() })
}

// streamsPerConnection is how many requests a client may have open on one HTTP/2
// connection; Go's own bound of 250 is below what one busy client has.
const streamsPerConnection = 10_000

// listenTLS is listen with the certificate of files, or without one where there are
// none. What net/http has to say goes to the log.
func listenTLS(addr string, handler http.Handler, files config.TLS, log *slog.Logger) (*listener, error) {
	var source *certs.Source
	if files.Cert != "" {
		var err error
		if source, err = certs.Load(files, log); err != nil {
			return nil, usage(err)
		}
	}
	l, err := listen(addr, handler)
	if err != nil {
		return nil, err
	}
	if most := mostConnections(); most > 0 {
		l.server.ConnState = (&connections{most: most, open: map[net.Conn]*list.Element{}}).note
	}
	l.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	if source != nil {
		l.server.TLSConfig, l.secure = source.Config(), true
		l.server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streamsPerConnection}
	}
	return l, nil
}

func (v *gatewayServers) announce() {
	v.log.Info("listening", "for", "API", "url", v.api.url()+"/v1")
	if v.admin != nil {
		v.log.Info("listening", "for", "admin", "url", v.admin.url()+"/metrics")
	}
	if v.picker != nil {
		v.log.Info("listening", "for", "Envoy", "picker", v.picker.Addr().String())
	}
}

// serve answers requests until the first signal, and then brings them to an end.
func (v *gatewayServers) serve(s *iostreams.IO, f *gatewayFlags, g *gateway.Gateway, file *reload.File) error {
	signals, hangups := s.Interrupts(), s.Hangups() // before anybody can know that this is up
	v.announce()
	var background sync.WaitGroup
	following, unfollow := context.WithCancel(context.Background())
	background.Go(func() { file.Run(following, f.watch, hangups) })

	broken := make(chan error, 3)
	v.each(func(l *listener) {
		background.Go(func() {
			if err := l.serve(); !errors.Is(err, http.ErrServerClosed) {
				broken <- fmt.Errorf("serving on %s: %w", l.Addr(), err)
			}
		})
	})
	if v.picker != nil {
		background.Go(func() {
			if err := v.picker.Serve(v.picker.Listener); err != nil {
				broken <- fmt.Errorf("serving on %s: %w", v.picker.Addr(), err)
			}
		})
	}
	var failed error
	delay := f.drainDelay
	select {
	case signal := <-signals:
		if signal == os.Interrupt { // a person who waits, and no load balancer
			delay = 0
		}
	case failed = <-broken:
		delay = 0
	}
	unfollow()
	v.drain(g, delay, f.grace, signals)
	background.Wait()
	return failed
}

func (v *gatewayServers) each(do func(*listener)) {
	for _, l := range []*listener{v.api, v.admin} {
		if l != nil {
			do(l)
		}
	}
}

// drain ends the gateway as gateway.Leave tells. A further signal cuts it off.
func (v *gatewayServers) drain(g *gateway.Gateway, delay, grace time.Duration, signals <-chan os.Signal) {
	ctx, cut := context.WithCancel(context.Background())
	defer cut()
	var second sync.WaitGroup
	defer second.Wait()
	ended := make(chan struct{})
	defer close(ended)
	second.Go(func() {
		select {
		case <-signals:
			v.log.Warn("a second signal: what still runs is cut off")
			cut()
		case <-ended:
		}
	})

	g.Leave()
	if v.picker != nil {
		v.picker.Drain()
	}
	v.log.Info("leaving: not ready any more", "drain_delay", delay.String(), "grace", grace.String())
	select {
	case <-time.After(delay):
	case <-ctx.Done():
	}
	g.Drain()
	v.log.Info("draining: no new requests")
	patience, expire := context.WithTimeout(ctx, grace)
	defer expire()
	v.end(patience, g)
}

// lastWords is the time that clients have to take in why they were cut off, and
// scrapers to finish.
const lastWords = time.Second

// end closes the listeners, the API's first, so that health and metrics can be
// read until the last request is over. The gateway itself ends what outlasts ctx,
// for its clients are told then why.
func (v *gatewayServers) end(ctx context.Context, g *gateway.Gateway) {
	var requests sync.WaitGroup
	requests.Go(func() { g.Shutdown(ctx) })
	if v.picker != nil {
		requests.Go(func() { v.picker.Shutdown(ctx) })
	}
	_ = v.api.server.Shutdown(ctx) // what it leaves is closed below
	requests.Wait()
	if ctx.Err() != nil {
		v.log.Warn("out of patience: requests were cut off")
		v.api.closeWithin(lastWords)
	}
	if v.admin != nil {
		v.admin.closeWithin(lastWords)
	}
}
