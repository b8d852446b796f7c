package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A bundled stack that dies ends the bench, which says so and does not call it
// a measurement of the target.
func TestDeadStackEndsTheBench(t *testing.T) {
	killed := false
	code, stderr := runWatched(t, func(p *os.Process, line string) {
		if !killed && strings.Contains(line, "2 in flight") {
			killed = true
			if err := syscall.Kill(onlyChild(t, p.Pid), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}, "bench", "--concurrency", "2", "--duration", "10m", "--warmup", "0s", "--ui", "plain")
	if code != exitFailed || !strings.Contains(stderr, "the bundled stack ended: signal: killed") {
		t.Fatalf("exit code %d, want %d and the reason; stderr:\n%s", code, exitFailed, stderr)
	}
}

// onlyChild is the one child process of another.
func onlyChild(t *testing.T, parent int) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var children []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", parent)) {
			children = append(children, pid)
		}
	}
	if len(children) != 1 {
		t.Fatalf("process %d has the children %v, expected one", parent, children)
	}
	return children[0]
}
