package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/llmctl/llmctl/gateway/queue"
	"github.com/llmctl/llmctl/gateway/route"
)

// Want is what a request asks of a pool.
type Want struct {
	Model  string // that the endpoint serves; a cool-down holds for one
	Tenant string
	Class  string // of the configuration's; decides on priority, bound and time-out
	Weight int    // share of its tenant among those that wait; less than 1 counts as 1
	Tokens int64  // of prompt and answer, as estimated: the length of the request
	Prompt []route.Block
	Tried  []*Endpoint          // that it must not be sent to again
	Avoid  []*Endpoint          // that others are better than
	Only   func(*Endpoint) bool // nil: every endpoint will do
	// NoWait refuses a request at once that would have to wait: another provider
	// takes it.
	NoWait bool
}

func (w *Want) excludes(e *Endpoint) bool {
	return slices.Contains(w.Tried, e) || w.Only != nil && !w.Only(e)
}

// waiter is a request in the queue. The pool decides about it once.
type waiter struct {
	want    Want
	since   time.Duration
	decided chan struct{} // closed when lease or err is set
	lease   *Lease
	err     *Refused
}

func (w *waiter) grant(l *Lease) { w.lease = l; close(w.decided) }

func (w *waiter) refuse(err *Refused) { w.err = err; close(w.decided) }

// maxTokens is far above what any model takes, so that sums of what clients ask for
// never overflow.
const maxTokens = 1 << 40

// Acquire gets a request a place at an endpoint. When none has room, it waits in
// the queue: by the priority of its class, then fairly by tenant. It returns
// *Refused when there is no endpoint for it, when the queue is full and it is the
// one that has to go, or when it has waited for too long; and the cause of ctx when
// that ends first, in which case the queue has forgotten it. The caller releases
// the lease.
func (p *Pool) Acquire(ctx context.Context, want Want) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	want.Tokens = min(max(0, want.Tokens), maxTokens)
	p.mu.Lock()
	now := p.now()
	p.pump(now)
	// If one still has room now, nobody who waits may have it.
	lease, v := p.place(&want, now)
	if v == later && want.NoWait {
		v = busy
	}
	if v != later {
		defer p.mu.Unlock()
		if v != placed {
			return nil, p.refusal(reasonOf(v), &want, now, now)
		}
		return lease, nil
	}
	w := &waiter{want: want, since: now, decided: make(chan struct{})}
	class := p.spec.Classes[want.Class]
	ticket, shed := p.queue.Push(w, queue.Item{Tenant: want.Tenant, Priority: class.Priority, Cost: want.Tokens, Weight: want.Weight})
	if shed != nil {
		p.drop(shed.Value, QueueFull, now)
	}
	patience := p.spec.patience(class)
	p.mu.Unlock()
	return p.await(ctx, w, ticket, patience)
}

// await waits until the pool has decided, or somebody has lost patience.
func (p *Pool) await(ctx context.Context, w *waiter, ticket *queue.Ticket[*waiter], patience time.Duration) (*Lease, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.decided:
	case <-timer.C:
		p.mu.Lock()
		if now := p.now(); p.queue.Remove(ticket) {
			p.drop(w, QueueTimeout, now)
		}
		p.mu.Unlock()
	case <-ctx.Done():
		p.mu.Lock()
		waiting := p.queue.Remove(ticket)
		p.mu.Unlock()
		if !waiting && w.lease != nil {
			w.lease.Release(Neutral)
		}
		return nil, context.Cause(ctx)
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.lease, nil
}
