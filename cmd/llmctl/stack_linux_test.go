package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A bundled stack that dies ends the bench, which says so and does not call it
// a measurement of the target.
func TestDeadStackEndsTheBench(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "bench", "--concurrency", "2", "--duration", "10m", "--warmup", "0s", "--ui", "plain")
	cmd.Env = append(os.Environ(), "LLMCTL_TEST_MAIN=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timeout := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timeout.Stop()

	lines := bufio.NewScanner(stderr)
	killed := false
	var seen strings.Builder
	for lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		if !killed && strings.Contains(lines.Text(), "2 in flight") {
			killed = true
			if err := syscall.Kill(onlyChild(t, cmd.Process.Pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(seen.String(), "the bundled stack ended: signal: killed") {
		t.Fatalf("%v, want exit code %d and the reason; stderr:\n%s", err, exitFailed, &seen)
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
