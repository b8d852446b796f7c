//go:build unix

package loadgen

import (
	"syscall"
	"time"
)

// cpuTime is the user and system time that this process has used.
func cpuTime() (used time.Duration, ok bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
