package loadgen

import (
	"context"
	"time"
)

// sleepUntil waits by the clock of the bubble that the test runs in.
func sleepUntil(ctx context.Context, wake <-chan struct{}, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}
