package trial

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
)

// Machine names processor, cores and kernel.
func Machine() string {
	cpu, kernel := "unknown processor", ""
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer func() { _ = f.Close() }()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = ", Linux " + strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("%s, %d cores%s", cpu, runtime.NumCPU(), kernel)
}

// Idle is the load average up to which a machine counts as one that does nothing
// else.
const Idle = 0.5

// Load is the mean number of tasks that ran or wanted to in the last minute
// (proc_loadavg(5)), NaN where the system does not say.
func Load() float64 {
	v := math.NaN()
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &v) // it stays NaN
	}
	return v
}
