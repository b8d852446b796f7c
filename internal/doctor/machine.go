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

	"github.com/llmctl/llmctl/internal/limits"
)

// readFile reads a file of the kernel; systems without it do not know.
func readFile(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, limits.ErrNotKnown
	}
	return data, err
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
