package loadgen

import (
	"context"
	"time"
)

// sleepUntil waits by the clock of the bubble that the test runs in.
func sleepUntil(ctx context.Context, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
