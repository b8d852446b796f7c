package doctor

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/internal/gpu"
	"github.com/llmctl/llmctl/internal/limits"
	"github.com/llmctl/llmctl/internal/units"
)

// Status is the outcome of one check.
type Status string

const (
	Pass Status = "ok"
	Warn Status = "warn" // measurements are possible, with the limit named
	Fail Status = "fail" // measurements on this machine would mislead
)

// Check is one thing looked at, what was seen, and what to do about it.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Seen   string `json:"seen"`
	Advice string `json:"advice,omitempty"`
}

// Run looks at this machine. It takes about a quarter of a second, most of it
// spent timing the timer.
func Run() []Check {
	files, err := limits.Files()
	checks := []Check{judgeFiles(files, err)}
	low, high, err := limits.Ports()
	checks = append(checks,
		judgePorts(low, high, err),
		judgeTimer(timerLateness(time.Sleep)),
	)
	cores, load, err := cpu()
	checks = append(checks, judgeCPU(cores, load, err))
	devices, err := gpu.List()
	return append(checks, describeGPUs(devices, err))
}

// Failed reports whether a check failed.
func Failed(checks []Check) bool {
	for _, c := range checks {
		if c.Status == Fail {
			return true
		}
	}
	return false
}

// Every open stream takes one file; a thousand streams need some spare.
const wantFiles = 4096

func judgeFiles(limit uint64, err error) Check {
	c := Check{Name: "open files", Status: Pass, Seen: units.Count(int64(min(limit, 1<<62)))}
	switch {
	case err != nil:
		c.Status, c.Seen = Warn, err.Error()
	case limit < 256:
		c.Status = Fail
		c.Advice = fmt.Sprintf("raise it with: ulimit -n %d", wantFiles)
	case limit < wantFiles:
		c.Status = Warn
		c.Advice = fmt.Sprintf("enough for about %d streams; raise it with: ulimit -n %d", limit-64, wantFiles)
	}
	return c
}

func judgePorts(low, high int, err error) Check {
	c := Check{Name: "local ports", Status: Pass, Seen: fmt.Sprintf("%d–%d", low, high)}
	switch n := high - low + 1; {
	case err != nil:
		c.Status, c.Seen = Warn, err.Error()
	case n < 1024:
		c.Status = Fail
		c.Advice = "widen net.ipv4.ip_local_port_range, or new connections will fail under load"
	case n < 16384:
		c.Status = Warn
		c.Advice = fmt.Sprintf("at most %d connections to one server; widen net.ipv4.ip_local_port_range for more", n)
	}
	return c
}

// The load generator's own lateness limit is 5 ms; a timer that takes a good
// part of it makes every run look client-limited.
func judgeTimer(lateness time.Duration) Check {
	c := Check{Name: "timer", Status: Pass, Seen: units.Duration(lateness) + " late (p90 of 1 ms waits)"}
	switch {
	case lateness > 20*time.Millisecond:
		c.Status = Fail
		c.Advice = "the machine is overloaded or suspended; measure elsewhere or stop what else runs"
	case lateness > 3*time.Millisecond:
		c.Status = Warn
		c.Advice = "expect lag in open-loop runs; stop what else runs"
	}
	return c
}

func judgeCPU(cores int, load float64, err error) Check {
	c := Check{Name: "processors", Status: Pass, Seen: fmt.Sprintf("%d cores, load %.2f", cores, load)}
	switch {
	case err != nil:
		c.Seen = fmt.Sprintf("%d cores, load %v", cores, err)
	case load > float64(cores):
		c.Status = Warn
		c.Advice = "other work competes for the processors; results will be noisy"
	}
	return c
}

// A machine without a GPU is no fault: the engine runs on the CPU and targets
// are usually elsewhere.
func describeGPUs(devices []gpu.Device, err error) Check {
	c := Check{Name: "GPU", Status: Pass}
	if err != nil {
		c.Seen = "none: " + err.Error()
		return c
	}
	if len(devices) == 0 {
		c.Seen = "none found by the driver"
		return c
	}
	for i, d := range devices {
		if i > 0 {
			c.Seen += "; "
		}
		c.Seen += fmt.Sprintf("%s, %s, driver %s", d.Name, units.Bytes(d.MemoryBytes), d.Driver)
	}
	return c
}
