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
	together(cmd)
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
// times a second. Pages that processes share count once for each.
func watchMemory(group int, done <-chan struct{}) (largest int64) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		largest = max(largest, groupMemory(group))
		select {
		case <-done:
			return largest
		case <-tick.C:
		}
	}
}

// groupMemory adds up field 24 of /proc/PID/stat over the processes whose group,
// field 5, it is (proc_pid_stat(5)).
func groupMemory(group int) (bytes int64) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may hold spaces
		fields := strings.Fields(rest)
		if len(fields) < 22 || fields[2] != strconv.Itoa(group) {
			continue
		}
		pages, err := strconv.ParseInt(fields[21], 10, 64)
		if err == nil {
			bytes += pages * int64(os.Getpagesize())
		}
	}
	return bytes
}
