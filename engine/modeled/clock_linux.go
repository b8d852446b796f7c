package modeled

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleepExactly sleeps on one of the kernel's high-resolution timers. A signal may
// end it early.
func sleepExactly(d time.Duration) {
	spec := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&spec, nil) // the caller looks at the clock again
}
