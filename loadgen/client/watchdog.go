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
	now    func() time.Duration
	cancel context.CancelCauseFunc
	bounds bounds

	sent   time.Duration
	output atomic.Int64 // a record.Moment: when output last arrived
	finish atomic.Int64 // a record.Moment: when the answer was complete but for its closing
	over   atomic.Int64 // a record.Moment: when nothing of the answer was missing or of interest any more
	closed atomic.Bool

	mu    sync.Mutex // the timer is set by what is known at that time
	timer *time.Timer
}

// bounds are how long a request may take; 0 is no limit.
type bounds struct {
	firstToken time.Duration // from Sent to the first output
	idle       time.Duration // between outputs
	total      time.Duration // from Sent to the end
	leave      time.Duration // from Sent until the user leaves
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
	if after, limited := w.next(now); limited != nil {
		w.timer.Reset(after)
	}
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

// epilogue is how long usage and [DONE] may take after the last event of an
// answer that is otherwise complete. Some servers keep the connection open for
// good.
const epilogue = 10 * time.Second

// finished notes an event after which nothing but the closing of the stream is
// missing. A further one only puts the limit off.
func (w *watchdog) finished(now time.Duration) {
	if before := w.finish.Swap(int64(record.At(now))); before == 0 {
		w.arm(now)
	}
}

// reopened notes that more output is to come after all.
func (w *watchdog) reopened(now time.Duration) {
	if before := w.finish.Swap(0); before != 0 {
		w.arm(now)
	}
}

// afterlife is how long an answer that is over may take to end its HTTP
// message, so that its connection can be used again.
const afterlife = 100 * time.Millisecond

// linger notes that nothing but the end of the HTTP message is missing.
func (w *watchdog) linger(now time.Duration) {
	if w.over.CompareAndSwap(0, int64(record.At(now))) {
		w.arm(now)
	}
}

func (w *watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return
	}
	after, cause := w.next(w.now())
	switch {
	case cause == nil:
	case after > 0:
		w.timer.Reset(after)
	default:
		w.cancel(cause)
	}
}

// next is how long it is until a limit strikes, and the reason for which the
// request is then given up; nil when there is no limit.
func (w *watchdog) next(now time.Duration) (after time.Duration, cause error) {
	sooner := func(from, limit time.Duration, why error) {
		if left := from + limit - now; cause == nil || left < after {
			after, cause = left, why
		}
	}
	if over, isOver := record.Moment(w.over.Load()).Since(); isOver {
		sooner(over, afterlife, errOver)
		return after, cause
	}
	l := &w.bounds
	if l.total > 0 {
		sooner(w.sent, l.total, &timeout{record.TimeoutTotal, l.total})
	}
	if l.leave > 0 {
		sooner(w.sent, l.leave, errLeft)
	}
	last, hasOutput := record.Moment(w.output.Load()).Since()
	finish, hasFinished := record.Moment(w.finish.Load()).Since()
	switch {
	case hasFinished:
		sooner(finish, epilogue, &timeout{record.TimeoutIdle, epilogue})
	case !hasOutput && l.firstToken > 0:
		sooner(w.sent, l.firstToken, &timeout{record.TimeoutFirstToken, l.firstToken})
	case hasOutput && l.idle > 0:
		sooner(last, l.idle, &timeout{record.TimeoutIdle, l.idle})
	}
	return after, cause
}
