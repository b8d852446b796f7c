package loadgen

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// ownThread ties the calling goroutine to a thread whose sleeps end when they
// should: Linux lets a thread oversleep by its timer slack, 50 µs by default.
// The thread ends with the goroutine, so nobody else inherits the setting.
func ownThread() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it sleeps are only a little longer
}
