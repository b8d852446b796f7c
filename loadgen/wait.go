package loadgen

import (
	"context"
	"time"

	"github.com/llmctl/llmctl/internal/precise"
)

// waitUntil returns at the time given, typically less than 0.1 ms late, or earlier
// when ctx ends or something comes from wake, which may be nil. The calling goroutine
// should own its thread (see ownThread).
func waitUntil(ctx context.Context, wake <-chan struct{}, until time.Time) {
	if left := time.Until(until) - precise.Coarse; left > 0 {
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
		precise.Sleep(left)
	}
}
