package wire

import (
	"context"
	"slices"
	"sync"
	"time"
)

// KeepAlive is how long an idle connection is kept. uvicorn, and so most Python
// servers, closes one 5 s after its last answer: a request sent into that moment
// would fail through nobody's fault.
const KeepAlive = 4 * time.Second

// keepUnused is how long one is kept that has not carried a request yet, for
// which servers wait longer.
const keepUnused = 20 * time.Second

// Pool is the connections to one address. It may be used from any goroutine.
type Pool struct {
	t       *Transport
	address string

	mu     sync.Mutex
	idle   []idle // oldest first
	reaper *time.Timer
}

// idle is a connection that nobody uses.
type idle struct {
	link  link
	until time.Time
}

// RoundTrip sends a request, head and body, and hands the bytes of the answer
// to s as they arrive. It returns when s has its answer, with nil; or with the
// error of dialing, of the connection (io.EOF when the server closed it) or the
// cause of the end of ctx. reused reports that the connection came from the
// pool, where it may have been closed meanwhile, whether it had carried another
// request or was opened ahead of need; fresh forbids it.
func (p *Pool) RoundTrip(ctx context.Context, head, body []byte, s Stream, fresh bool) (reused bool, err error) {
	var l link
	if !fresh {
		l, reused = p.take()
	}
	if l == nil {
		if l, err = p.t.open(ctx, p.address); err != nil {
			return false, err
		}
	}
	verdict, err := l.exchange(ctx, head, body, s)
	if err == nil && verdict == Reuse {
		p.give(l, KeepAlive)
	}
	return reused, err
}

// warmPace is the time between two SYNs when connections are opened ahead of
// need: 10,000 a second, which a listener's queue of 128 survives when the
// server accepts once in 10 ms.
const warmPace = 100 * time.Microsecond

// Warm opens connections until n are idle. It returns the first error, when as
// many as possible are open.
func (p *Pool) Warm(ctx context.Context, n int) error {
	p.mu.Lock()
	n -= len(p.idle)
	p.mu.Unlock()
	var (
		dialing sync.WaitGroup
		once    sync.Once
		first   error
	)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	for i := range n {
		if !pause(ctx, time.Until(start.Add(time.Duration(i)*warmPace))) {
			break
		}
		dialing.Go(func() {
			l, err := p.t.open(ctx, p.address)
			if err != nil {
				once.Do(func() { first = err; cancel(err) })
				return
			}
			p.give(l, keepUnused)
		})
	}
	dialing.Wait()
	if first == nil {
		first = context.Cause(ctx)
	}
	return first
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) (ok bool) {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// take returns the connection that was used last, nil when there is none.
func (p *Pool) take() (l link, reused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.idle) > 0 {
		last := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if last.until.After(now) && last.link.alive() {
			return last.link, true
		}
		last.link.close()
	}
	return nil, false
}

// give keeps a connection for the next request.
func (p *Pool) give(l link, keep time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, idle{l, time.Now().Add(keep)})
	if p.reaper == nil {
		p.reaper = time.AfterFunc(KeepAlive, p.reap)
	}
}

// reap closes what has been idle for too long, and comes again while something
// is idle.
func (p *Pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.idle = slices.DeleteFunc(p.idle, func(i idle) bool {
		if i.until.After(now) && i.link.alive() {
			return false
		}
		i.link.close()
		return true
	})
	if p.reaper == nil {
		return // closed
	}
	p.reaper = nil
	if len(p.idle) > 0 {
		p.reaper = time.AfterFunc(KeepAlive/4, p.reap)
	}
}

// close ends all idle connections.
func (p *Pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.idle {
		i.link.close()
	}
	p.idle = nil
	if p.reaper != nil {
		p.reaper.Stop()
		p.reaper = nil
	}
}
