package wire

import (
	"context"
	"net"
	"sync"
	"time"
)

// maxDials is how many connections may be in the middle of being opened: more
// SYNs at once than a listener's queue holds are lost, and sent again only after
// a second. 128 is the classic length of that queue (SOMAXCONN).
const maxDials = 128

// Options say how connections are made.
type Options struct {
	// Dial opens a connection; nil is TCP with probes of idle connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConnectTimeout bounds one attempt to connect; 0 is none.
	ConnectTimeout time.Duration
	// Now is the clock by which reads and writes are stamped.
	Now func() time.Duration
}

// Transport makes connections. The pools of one transport share its cap on
// dialing and its loop. It may be used from any goroutine.
type Transport struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	connect time.Duration
	now     func() time.Duration
	dials   chan struct{} // one element per dial in progress

	mu    sync.Mutex
	pools map[string]*Pool
	loop  *loop // reads sockets, where the system has it
	tried bool  // to start it
}

// New returns a transport without connections.
func New(o Options) *Transport {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return &Transport{dial: o.Dial, connect: o.ConnectTimeout, now: o.Now, dials: make(chan struct{}, maxDials), pools: map[string]*Pool{}}
}

// Pool returns the pool of the connections to an address of the form host:port.
func (t *Transport) Pool(address string) *Pool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.pools[address]
	if p == nil {
		p = &Pool{t: t, address: address}
		t.pools[address] = p
	}
	return p
}

// Close ends the connections that are idle and the reading of all others. It
// must not be called while a request is in flight.
func (t *Transport) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pools {
		p.close()
	}
	if t.loop != nil {
		t.loop.stop()
		t.loop, t.tried = nil, false
	}
}

// open dials one connection.
func (t *Transport) open(ctx context.Context, address string) (link, error) {
	select {
	case t.dials <- struct{}{}:
		defer func() { <-t.dials }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	limited := ctx
	if t.connect > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, t.connect)
		defer cancel()
	}
	conn, err := t.dial(limited, "tcp", address)
	if err != nil {
		return nil, err
	}
	return t.link(conn), nil
}

// link is one connection. Only one exchange may run at a time.
type link interface {
	// exchange sends a request and waits until the answer is complete, the
	// connection breaks (io.EOF when the server closed it) or ctx ends (its
	// cause). The link is closed after any error and after the verdict Close.
	exchange(ctx context.Context, head, body []byte, s Stream) (Verdict, error)
	// alive reports whether the other end is known not to have closed it.
	alive() bool
	close()
}
