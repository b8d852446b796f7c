package fleet

import (
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/gateway/health"
)

// Outcome says how a request fared at its endpoint.
type Outcome uint8

// Outcomes, for Release.
const (
	Neutral   Outcome = iota // says nothing of the endpoint: the client left, or its request was wrong
	OK                       // an answer of use
	Failed                   // a status from 500 on, a time-out, an answer that broke off or makes no sense
	Unreached                // no connection, or one that broke before any answer
)

// MaxCoolDown bounds how long an endpoint is left alone because it asked for it.
const MaxCoolDown = 30 * time.Second

// Lease is a request's place at an endpoint. All its methods are safe for
// concurrent use; only the first Release counts.
type Lease struct {
	Waited time.Duration // in the queue

	pool     *Pool
	endpoint *Endpoint
	model    string
	tokens   int64
	early    bool // the endpoint was not fit, but no other one was

	dead, shaky         *health.Breaker // those that gave the passes
	deadPass, shakyPass health.Pass
	deadTold, shakyTold bool // guarded by the pool
	released            atomic.Bool
}

// Endpoint is where the request goes.
func (l *Lease) Endpoint() *Endpoint { return l.endpoint }

// Answered notes that the endpoint has begun to answer, whatever it says: it is
// there.
func (l *Lease) Answered() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	now := l.pool.now()
	l.tellDead(func() { l.dead.Answered(now, l.deadPass) })
	l.pool.pump(now)
}

// Produced notes the first output: a probe has succeeded, however long its answer
// takes. Other requests are judged by their end.
func (l *Lease) Produced() {
	if !l.shakyPass.Probe() {
		return
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	now := l.pool.now()
	l.tellShaky(func() { l.shaky.Answered(now, l.shakyPass) })
	l.pool.pump(now)
}

// CoolDown keeps requests for the same model away from the endpoint for as long as
// it asked for, at most MaxCoolDown; 0 is not at all. Who asks again meanwhile does not prolong it.
func (l *Lease) CoolDown(d time.Duration) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.endpoint.cool.begin(l.model, l.pool.now(), d)
}

// Release gives the place back, and says how it went.
func (l *Lease) Release(o Outcome) {
	if l.released.Swap(true) {
		return
	}
	p, e := l.pool, l.endpoint
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	e.inFlight--
	e.tokens -= l.tokens
	l.endTrial()
	switch o {
	case OK:
		l.tellDead(func() { l.dead.Answered(now, l.deadPass) })
		l.tellShaky(func() { l.shaky.Answered(now, l.shakyPass) })
	case Failed:
		l.tellShaky(func() { l.shaky.Failed(now, l.shakyPass) })
	case Unreached:
		l.tellDead(func() { l.dead.Failed(now, l.deadPass) })
		e.index.Forget(0) // whatever is back there has an empty cache
		p.despair(now)
	case Neutral:
	}
	l.tellDead(func() { l.dead.Left(l.deadPass) })
	l.tellShaky(func() { l.shaky.Left(l.shakyPass) })
	p.pump(now)
}

// tellDead tells the breaker for connections once.
func (l *Lease) tellDead(tell func()) {
	if !l.deadTold {
		l.deadTold = true
		l.endTrial()
		tell()
	}
}

func (l *Lease) tellShaky(tell func()) {
	if !l.shakyTold {
		l.shakyTold = true
		tell()
	}
}

func (l *Lease) endTrial() {
	if l.early {
		l.early = false
		l.endpoint.trials--
	}
}
