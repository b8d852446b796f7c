package telemetry

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// steal is the time, in ticks of all processors since the machine started, that
// a hypervisor gave to others while this machine wanted to run, and the ticks
// that passed in all. Only Linux tells it; ticks is 0 elsewhere.
func steal() (stolen, ticks uint64) {
	page, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	return parseStat(page)
}

// parseStat reads the first line of /proc/stat (proc_stat(5)): user, nice,
// system, idle, iowait, irq, softirq, steal; guest times are part of the first
// two.
func parseStat(page []byte) (stolen, ticks uint64) {
	line, _, _ := bytes.Cut(page, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0
	}
	for _, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, 0
		}
		ticks += n
		stolen = n
	}
	return stolen, ticks
}
