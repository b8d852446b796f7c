//go:build !linux

package precise

import (
	"runtime"
	"time"
)

// Coarse is how much of a wait should be left to Sleep, which spends CPU here.
const Coarse = time.Millisecond

// Sleep gives way to others once: where no exact sleep is known, the end of a wait is
// spent looking at the clock.
func Sleep(time.Duration) { runtime.Gosched() }
