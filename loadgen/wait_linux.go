package loadgen

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// coarse is how much of a wait is left to the precise sleep. The runtime's
// timers wake up to about a millisecond late.
const coarse = 2 * time.Millisecond

// waitUntil returns at the time given, typically less than 0.1 ms late, or
// earlier when ctx ends or something comes from wake, which may be nil. The end of a wait is a nanosleep, which the kernel
// serves with a high-resolution timer; it spends no CPU. The calling goroutine
// should own its thread (see ownThread).
func waitUntil(ctx context.Context, wake <-chan struct{}, until time.Time) {
	if left := time.Until(until) - coarse; left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return
		case <-wake:
			return
		case <-timer.C:
		}
	}
	for left := time.Until(until); left > 0 && ctx.Err() == nil; left = time.Until(until) {
		spec := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&spec, nil) // a signal that interrupts it is why this is a loop
	}
}

// ownThread ties the calling goroutine to a thread whose sleeps end when they
// should: Linux lets a thread oversleep by its timer slack, 50 µs by default.
// The thread ends with the goroutine, so nobody else inherits the setting.
func ownThread() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it sleeps are only a little longer
}
