package gateway

import (
	"context"

	"github.com/llmctl/llmctl/gateway/reload"
)

// A gateway ends in three steps, so that a load balancer can take its clients
// elsewhere before anybody is refused:
//
//	Leave     readyz says 503, requests are served as ever
//	Drain     new requests are refused, those that run go on
//	Shutdown  waits for them, and cuts off what is left in the end

// Leave makes the gateway report that it is not ready, and changes nothing else.
func (g *Gateway) Leave() { g.leaving.Store(true) }

// Drain makes the gateway refuse new requests, too; those that run go on.
func (g *Gateway) Drain() { g.draining.Store(true) }

// Shutdown drains and waits for all requests. Those that still run when ctx ends
// are ended with an error to their clients.
func (g *Gateway) Shutdown(ctx context.Context) {
	g.Drain()
	defer context.AfterFunc(ctx, func() { g.kill(cutShutdown) })()
	g.closing.Do(g.end)
}

// Close is Shutdown without patience.
func (g *Gateway) Close() {
	g.Drain()
	g.kill(cutShutdown)
	g.closing.Do(g.end)
}

// end waits for all requests and frees what they used.
func (g *Gateway) end() {
	g.open.Lock() // from here on, TryRLock refuses
	g.sockets.Close()
	g.fleet.Close()
	g.limits.Close()
	g.keys.Close()
	g.client.CloseIdleConnections()
	if g.ownLedger {
		_ = g.ledger.Close() // memory keeps everything
	}
}

// Follow makes the gateway take new configurations from a file: its metrics and
// the admin listener tell of it, and POST /admin/reload asks for one.
func (g *Gateway) Follow(f *reload.File) {
	f.Apply(g.Reload)
	g.metrics.registry.MustRegister(f)
	g.file.Store(f)
}
