//go:build !linux

package modeled

import (
	"runtime"
	"time"
)

// sleepExactly gives way to others once: where no exact sleep is known, the end of
// a wait is spent looking at the clock.
func sleepExactly(time.Duration) { runtime.Gosched() }
