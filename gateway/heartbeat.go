package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// keepAliveComment is no event: clients skip it, proxies see that the connection
// is in use.
const keepAliveComment = ": keep-alive\n\n"

// heartbeat writes a comment into a stream whose model is silent for a while. It
// begins with the first output, since before it the answer may still become
// another one, and touches none of the model's own timers. A nil heartbeat is none.
type heartbeat struct {
	x      *exchange
	every  time.Duration
	cancel context.CancelCauseFunc // of the attempt, when the client is gone

	mu    sync.Mutex // held while events are passed on, so that comments come between them
	held  bool       // by the relay
	over  bool
	timer *time.Timer // nil before the first output
}

// newHeartbeat returns the stream's, or nil when the configuration wants none.
func (x *exchange) newHeartbeat(cancel context.CancelCauseFunc) *heartbeat {
	if x.table.keepAlive == 0 {
		return nil
	}
	return &heartbeat{x: x, every: x.table.keepAlive, cancel: cancel}
}

// hold keeps comments out until release.
func (b *heartbeat) hold() {
	if b != nil {
		b.mu.Lock()
		b.held = true
	}
}

// release begins a silence.
func (b *heartbeat) release() {
	if b == nil {
		return
	}
	switch {
	case !b.x.closed.IsZero():
		b.over = true // nothing follows the last event
	case b.timer != nil:
		b.timer.Reset(b.every)
	case b.x.committed:
		b.timer = time.AfterFunc(b.every, b.beat)
	}
	b.held = false
	b.mu.Unlock()
}

// stop ends the heartbeat; when it returns, nothing of it is being written.
func (b *heartbeat) stop() {
	if b == nil {
		return
	}
	if !b.held {
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	b.held, b.over = false, true
	if b.timer != nil {
		b.timer.Stop()
	}
}

func (b *heartbeat) beat() {
	if !b.mu.TryLock() {
		return // the model speaks; release begins anew
	}
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.x.deadline.within(b.x.patience())
	_, err := io.WriteString(b.x.w, keepAliveComment)
	if err == nil {
		err = b.x.deadline.control.Flush()
	}
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		if b.over = true; !b.x.caching.followed() {
			b.cancel(nil) // nobody reads
		}
		return
	}
	b.timer.Reset(b.every)
}
