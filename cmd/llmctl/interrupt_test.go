package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The first interrupt waits for what is in flight, which here lasts for much
// longer than the test may; the second does not, and loses nothing either.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process can not be interrupted there")
	}
	dir := filepath.Join(t.TempDir(), "run")
	interrupted := 0
	code, stderr := runWatched(t, func(p *os.Process, line string) {
		sending := strings.Contains(line, "2 in flight")
		if interrupted == 0 && sending || interrupted == 1 && strings.HasPrefix(line, "stopping") {
			interrupted++
			if err := p.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}, "bench", "--concurrency", "2", "--duration", "10m", "--warmup", "0s",
		"--isl", "10", "--osl", "4000", "--drain", "10m", "--ui", "plain", "--save", dir)
	if code != exitInterrupted || interrupted != 2 {
		t.Fatalf("exit code %d after %d interrupts, want %d after 2; stderr:\n%s", code, interrupted, exitInterrupted, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err != nil {
		t.Error(err)
	}
}
