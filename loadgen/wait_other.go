//go:build !linux

package loadgen

import (
	"context"
	"runtime"
	"time"
)

// coarse is how much of a wait is spent yielding instead of sleeping, because
// sleeps end up to about a millisecond late.
const coarse = time.Millisecond

// waitUntil returns at the time given, or earlier when ctx ends or something
// comes from wake, which may be nil.
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
	for time.Until(until) > 0 && ctx.Err() == nil {
		runtime.Gosched()
	}
}

// ownThread prepares the calling goroutine for precise waits.
func ownThread() { runtime.LockOSThread() }
