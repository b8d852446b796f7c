package websocket

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	ws "github.com/coder/websocket"
)

// conn is one connection, with the one request that it carries.
type conn struct {
	pings pings

	ws     *ws.Conn
	cancel context.CancelFunc // ends the request
	tasks  sync.WaitGroup     // beside the handler; the end of the connection ends them

	writing     atomic.Bool // somebody waits for the client to read
	interrupted atomic.Bool // by a second message
	broken      atomic.Bool // by a frame that the protocol forbids

	mu  sync.Mutex
	net net.Conn // below ws, nil until upgraded; set once
}

func (c *conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.net != nil {
		_ = c.net.Close() // whoever reads or writes it notices
	}
}

// serve runs the request and closes the connection with the code that its end
// deserves. A handler that panics leaves it closed without one.
func (c *conn) serve(r *http.Request, next http.Handler) {
	ctx, cancel := context.WithCancel(r.Context())
	c.cancel = cancel
	c.tasks.Go(func() { c.keepAlive(ctx) })
	defer c.tasks.Wait()
	defer cancel()
	defer c.ws.CloseNow() //nolint:errcheck // closed already, as a rule

	request := asPost(r.WithContext(ctx))
	request.Body = &body{conn: c}
	a := &answer{conn: c, header: http.Header{}}
	next.ServeHTTP(a, request)
	a.finish()
}

// keepAlive pings a connection on which nothing is being written, so that proxies
// keep it and a client that is gone is noticed. A ping outlives the request, since
// to end it would close the connection; the closing ends it.
func (c *conn) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(c.pings.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if c.writing.Load() {
			continue // the write's own deadline says whether the client reads
		}
		patience, done := context.WithTimeout(context.WithoutCancel(ctx), c.pings.patience)
		err := c.ws.Ping(patience)
		done()
		if err != nil {
			c.cancel()
			c.cut()
			return
		}
	}
}
