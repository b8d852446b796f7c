package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// ownEnvironment is this process's environment without what would change what
// llmctl does: settings, endpoints and keys of whoever runs the tests.
func ownEnvironment(t *testing.T) []string {
	t.Helper()
	env := []string{"LLMCTL_TEST_MAIN=1", "HOME=" + t.TempDir()}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "LLMCTL_") && !strings.HasPrefix(name, "OPENAI_") && name != "HOME" && name != "XDG_CONFIG_HOME" && name != "XDG_STATE_HOME" {
			env = append(env, kv)
		}
	}
	return env
}

// runWatched runs llmctl, shows each line of its standard error to watch as it
// comes, and returns the exit code and everything that was written there.
func runWatched(t *testing.T, watch func(p *os.Process, line string), args ...string) (code int, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = ownEnvironment(t)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timeout := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timeout.Stop()
	var seen strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		seen.WriteString(lines.Text() + "\n")
		watch(cmd.Process, lines.Text())
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		return exit.ExitCode(), seen.String()
	} else if err != nil {
		t.Fatal(err)
	}
	return 0, seen.String()
}
