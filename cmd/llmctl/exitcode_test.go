package main

import (
	"errors"
	"os/exec"
	"strconv"
)

// exitCode is the code of a command that failed, as text.
func exitCode(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
