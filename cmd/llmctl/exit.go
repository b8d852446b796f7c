package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports/record"
)

// The exit codes of every command, documented in docs/cli.md. A reader of standard
// output that ends early, such as head, changes none of them.
const (
	exitOK          = 0
	exitFailed      = 1   // could not do it
	exitUsage       = 2   // bad command line, scenario or configuration; nothing was started
	exitUntrusted   = 97  // measured, but not trustworthy
	exitNotHeld     = 99  // an SLO or assertion that was asked for did not hold; no feasible plan
	exitInterrupted = 130 // stopped by the user; partial results were written
)

// failure is an error with an exit code and, at times, a hint for the user. A
// failure without an error has said everything already.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// usage marks an error as the caller's: nothing was started.
func usage(err error) error {
	var known *failure
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &failure{code: exitUsage, err: err}
}

// failed marks an error as one of what was tried, not of the command line, unless it has
// an exit code.
func failed(err error) error {
	var known *failure
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &failure{code: exitFailed, err: err}
}

// usagef is usage with a message.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// hinted adds what the user can do about it.
func hinted(code int, err error, hint string) error {
	return &failure{code: code, err: err, hint: hint}
}

// silent ends with a code after a report that says why.
func silent(code int) error {
	if code == exitOK {
		return nil
	}
	return &failure{code: code}
}

// report prints an error the one way that all commands do, and returns the exit
// code.
func report(s *iostreams.IO, err error) int {
	if err == nil {
		return exitOK
	}
	f := &failure{code: exitFailed, err: err}
	errors.As(err, &f)
	if f.err != nil {
		fmt.Fprintf(s.Err, "error: %s\n", oneLine(err.Error()))
	}
	if f.hint != "" {
		fmt.Fprintf(s.Err, "hint: %s\n", f.hint)
	}
	return f.code
}

// oneLine folds a message that a library wrote over several lines. Errors quote what
// servers and files say, which a terminal must not obey.
func oneLine(s string) string { return record.Printable(strings.Join(strings.Fields(s), " ")) }
