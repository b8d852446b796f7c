package gateway

import (
	"context"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

// timers end an attempt that takes too long, by cancelling its context with the
// reason as cause.
type timers struct {
	first, idle *time.Timer
	idleAfter   time.Duration
	cancel      context.CancelCauseFunc
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
func (t *timers) progress(output bool) {
	switch {
	case t.idle != nil:
		t.idle.Reset(t.idleAfter)
	case output:
		if t.first != nil {
			t.first.Stop()
		}
		t.idle = time.AfterFunc(t.idleAfter, func() { t.cancel(cutIdle) })
	}
}

// linger leaves the upstream a moment to close its side after the last event, so
// that the connection can be used again.
func (t *timers) linger(d time.Duration) {
	t.stop()
	t.idle = time.AfterFunc(d, func() { t.cancel(cutIdle) })
}

func (t *timers) stop() {
	for _, timer := range []*time.Timer{t.first, t.idle} {
		if timer != nil {
			timer.Stop()
		}
	}
}
