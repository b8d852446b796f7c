package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errNotKnown is for what some systems do not tell, in no file at least.
var errNotKnown = errors.New("not known on this system")

// readFile reads a file of the kernel; systems without it do not know.
func readFile(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotKnown
	}
	return data, err
}

func portRange() (low, high int, err error) {
	const file = "/proc/sys/net/ipv4/ip_local_port_range"
	data, err := readFile(file)
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(string(data), &low, &high); err != nil {
		return 0, 0, fmt.Errorf("reading %s: %w", file, err)
	}
	return low, high, nil
}

func cpu() (cores int, load float64, err error) {
	cores = runtime.GOMAXPROCS(0)
	data, err := readFile("/proc/loadavg")
	if err != nil {
		return cores, 0, err
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, err = strconv.ParseFloat(first, 64)
	return cores, load, err
}

// timerLateness is the 90th percentile of the lateness of forty waits of 1 ms,
// so that one hiccup of a shared machine does not decide.
func timerLateness(wait func(time.Duration)) time.Duration {
	const waits, each = 40, time.Millisecond
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	late := make([]time.Duration, waits)
	for i := range late {
		start := time.Now()
		wait(each)
		late[i] = max(0, time.Since(start)-each)
	}
	slices.Sort(late)
	return late[waits*9/10]
}

// Memory is how many bytes of memory this machine has, 0 when the system does
// not tell.
func Memory() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kib int64
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}
