//go:build unix

package telemetry

import (
	"runtime"
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

// peakRSS is the largest resident set since the process started. Darwin counts
// it in bytes, the other systems in KiB (getrusage(2)).
func peakRSS() (bytes int, ok bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil || usage.Maxrss <= 0 {
		return 0, false
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int(usage.Maxrss), true
	}
	return int(usage.Maxrss) << 10, true
}
