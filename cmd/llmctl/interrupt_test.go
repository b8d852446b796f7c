package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The first interrupt waits for what is in flight, which here lasts for much
// longer than the test may; the second does not, and loses nothing either.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process can not be interrupted there")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(self, "bench", "--concurrency", "2", "--duration", "10m", "--warmup", "0s",
		"--isl", "10", "--osl", "4000", "--drain", "10m", "--ui", "plain", "--save", dir)
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
	interrupted := 0
	var seen strings.Builder
	for lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		sending := strings.Contains(lines.Text(), "2 in flight")
		if interrupted == 0 && sending || interrupted == 1 && strings.HasPrefix(lines.Text(), "stopping") {
			interrupted++
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Fatalf("after %d interrupts: %v, want exit code %d; stderr:\n%s", interrupted, err, exitInterrupted, &seen)
	}
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err != nil {
		t.Error(err)
	}
}
