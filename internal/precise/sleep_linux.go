package precise

import (
	"time"

	"golang.org/x/sys/unix"
)

// Coarse is how much of a wait should be left to Sleep.
const Coarse = 2 * time.Millisecond

// Sleep sleeps on one of the kernel's high-resolution timers, typically less than
// 0.1 ms too long, and spends no CPU. A signal may end it early, so that the caller
// looks at the clock again.
func Sleep(d time.Duration) {
	spec := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&spec, nil) // it only fails by ending early
}
