package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

// timers end an attempt that takes too long, by cancelling its context with the
// reason as cause.
type timers struct {
	first     *time.Timer
	idleAfter time.Duration
	cancel    context.CancelCauseFunc

	mu   sync.Mutex
	idle *time.Timer // nil until the first output
	last time.Time   // when the model last said something
	over bool        // idle is not the attempt's any more
}

func newTimers(cancel context.CancelCauseFunc, c config.Timeouts, stream bool) *timers {
	t := &timers{cancel: cancel, idleAfter: time.Duration(c.Idle)}
	if stream {
		t.first = time.AfterFunc(time.Duration(c.FirstToken), func() { cancel(cutFirstToken) })
	}
	return t
}

// progress notes an event of the model. Until the first output the first-token
// time-out runs on; afterwards each event starts the idle time-out anew.
// Comments are no progress: a proxy may send them for a model that hangs.
//
// Its timer is not touched: setting it again for each of a thousand events that
// come in time costs more than to look, when it rings, at how long ago the last
// one was.
func (t *timers) progress(output bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	if t.idle != nil || !output {
		return
	}
	if t.first != nil {
		t.first.Stop()
	}
	t.idle = time.AfterFunc(t.idleAfter, t.ring)
}

// ring ends an attempt whose model has been silent for too long, and else waits for
// the rest.
func (t *timers) ring() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return // it was stopped when it rang already
	}
	if rest := t.idleAfter - time.Since(t.last); rest > 0 {
		t.idle.Reset(rest)
		return
	}
	t.cancel(cutIdle)
}

// linger leaves the upstream a moment to close its side after the last event, so
// that the connection can be used again.
func (t *timers) linger(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopAll()
	t.idle = time.AfterFunc(d, func() { t.cancel(cutIdle) })
}

func (t *timers) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopAll()
}

func (t *timers) stopAll() {
	t.over = true
	for _, timer := range []*time.Timer{t.first, t.idle} {
		if timer != nil {
			timer.Stop()
		}
	}
}
