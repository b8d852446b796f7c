//go:build unix

package trial

import (
	"os/exec"
	"syscall"
)

// together makes a program and its workers one process group, which ends as one.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
