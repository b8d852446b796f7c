package trial

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Used is what a process and its children took.
type Used struct {
	CPU time.Duration
	RSS int64 // bytes, of all of them together, at most
}

// runTimeout is how long one run of a program may take: some need half a minute on
// two busy cores to start their workers.
const runTimeout = 5 * time.Minute

// Run runs a program to its end, with further environment variables. Its error
// carries the end of its output.
func Run(ctx context.Context, command, env []string) (u Used, err error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	Together(cmd)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return u, err
	}
	done := make(chan struct{})
	largest := make(chan int64)
	go func() { largest <- watchMemory(cmd.Process.Pid, done) }()
	err = cmd.Wait()
	close(done)
	u.RSS = <-largest
	if cmd.ProcessState != nil { // includes children that it waited for
		u.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if err != nil {
		text := strings.TrimSpace(output.String())
		err = fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, text[max(0, len(text)-500):])
	}
	return u, err
}

// watchMemory is the largest resident memory of a process group, looked at five
// times a second.
func watchMemory(group int, done <-chan struct{}) (largest int64) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		largest = max(largest, Group(group).RSS)
		select {
		case <-done:
			return largest
		case <-tick.C:
		}
	}
}

// ticksPerSecond is the unit of times in /proc, the same on all architectures that
// Go runs on.
const ticksPerSecond = 100

// Group is what the processes of a group, by its leader's id, have taken so far
// and hold now: fields 14, 15 and 24 of /proc/PID/stat over those whose field 5 it
// is (proc_pid_stat(5)). Pages that processes share count once for each. It is
// zero where there is no /proc.
func Group(leader int) (u Used) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may hold spaces
		fields := strings.Fields(rest)
		if len(fields) < 22 || fields[2] != strconv.Itoa(leader) {
			continue
		}
		var values [3]int64
		for i, field := range []int{11, 12, 21} {
			values[i], _ = strconv.ParseInt(fields[field], 10, 64) // the kernel writes numbers
		}
		u.CPU += time.Duration(values[0]+values[1]) * time.Second / ticksPerSecond
		u.RSS += values[2] * int64(os.Getpagesize())
	}
	return u
}
