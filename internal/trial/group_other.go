//go:build !unix

package trial

import "os/exec"

// Together leaves a program to end its workers itself.
func Together(*exec.Cmd) {}

// Kill ends a program.
func Kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended
