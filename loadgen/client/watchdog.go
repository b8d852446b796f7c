package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// timeout is the reason for which a request was given up.
type timeout struct {
	class record.Failure
	after time.Duration
}

func (t *timeout) Error() string { return string(t.class) + ": none within " + t.after.String() }

// watchdog ends a request that exceeds one of its limits. It costs one timer per
// request: instead of being set anew for each event, the timer looks, when it
// fires, whether there is still time.
type watchdog struct {
	now              func() time.Duration
	cancel           context.CancelCauseFunc
	firstToken, idle time.Duration
	total            time.Duration

	sent   time.Duration
	output atomic.Int64 // a record.Moment: when output last arrived
	finish atomic.Int64 // a record.Moment: when the answer was complete but for its closing
	closed atomic.Bool

	mu    sync.Mutex // the timer is set by what is known at that time
	timer *time.Timer
}

// start begins to watch a request that is sent now.
func (w *watchdog) start(sent time.Duration) {
	w.sent = sent
	w.timer = time.AfterFunc(time.Hour, w.check)
	w.arm(sent)
}

// arm sets the timer to the limit that strikes next.
func (w *watchdog) arm(now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Reset(w.remaining(now).after)
}

// stop ends the watch. A request that could not even be built has none.
func (w *watchdog) stop() {
	w.closed.Store(true)
	if w.timer != nil {
		w.timer.Stop()
	}
}

// alive notes that output arrived. The first output puts one limit in the place
// of another, which may strike earlier; each later one only puts it off.
func (w *watchdog) alive(now time.Duration) {
	if before := w.output.Swap(int64(record.At(now))); before == 0 {
		w.arm(now)
	}
}

// epilogue is how long after finish_reason usage and [DONE] may take. Some
// servers keep the connection open for good.
const epilogue = 5 * time.Second

// finished notes that nothing but the closing of the stream is missing.
func (w *watchdog) finished(now time.Duration) {
	w.finish.Store(int64(record.At(now)))
	w.arm(now)
}

func (w *watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return
	}
	next := w.remaining(w.now())
	if next.after > 0 {
		w.timer.Reset(next.after)
		return
	}
	w.cancel(&timeout{next.class, w.limit(next.class)})
}

// remaining is the limit that strikes next, and how long that is from now.
func (w *watchdog) remaining(now time.Duration) timeout {
	next := timeout{record.TimeoutTotal, w.sent + w.total - now}
	last, hasOutput := record.Moment(w.output.Load()).Since()
	finish, hasFinished := record.Moment(w.finish.Load()).Since()
	switch {
	case hasFinished:
		if left := finish + epilogue - now; left < next.after {
			next = timeout{record.TimeoutIdle, left}
		}
	case !hasOutput && w.firstToken > 0:
		if left := w.sent + w.firstToken - now; left < next.after {
			next = timeout{record.TimeoutFirstToken, left}
		}
	case hasOutput && w.idle > 0:
		if left := last + w.idle - now; left < next.after {
			next = timeout{record.TimeoutIdle, left}
		}
	}
	return next
}

func (w *watchdog) limit(class record.Failure) time.Duration {
	switch class {
	case record.TimeoutFirstToken:
		return w.firstToken
	case record.TimeoutIdle:
		return w.idle
	default:
		return w.total
	}
}
