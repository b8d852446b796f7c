package mock

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// ownThread ties the calling goroutine to a thread whose sleeps end without the
// 50 µs of slack that Linux allows by default. The goroutine never gives the thread
// back, so that nobody inherits the setting.
func ownThread() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it sleeps are only a little longer
}

// RealTime asks for a real-time policy (sched(7), SCHED_RR) for this process, with
// which its threads run as soon as they wake although all cores are busy. It is
// for all of them: one alone would wait for others that hold what it needs from
// the runtime. Threads to come inherit it. Only privileged processes get it.
func RealTime() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("listing this process's threads: %w", err)
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			return fmt.Errorf("listing this process's threads: %w", err)
		}
		if err := unix.SchedSetAttr(id, &attr, 0); err != nil && err != unix.ESRCH {
			return fmt.Errorf("asking for real-time scheduling, which takes root or CAP_SYS_NICE: %w", err)
		}
	}
	return nil
}
