package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/simulator"
)

// stepsFlag is where a trace of every step goes. --trace, which replays a recorded
// workload, stands for it where it names a JSON file that can be none.
type stepsFlag struct{ path string }

func (f *stepsFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "trace-out", "", "write a trace of every step and request to this file, for ui.perfetto.dev or chrome://tracing")
	cmd.Flags().Lookup("trace").Usage += "; the name of a .json file that is not there yet is taken for that of --trace-out"
}

// check takes over what --trace says of the trace to write, and refuses a file that
// holds something else.
func (f *stepsFlag) check(cmd *cobra.Command, scenario *scenarioFlags) error {
	if asked := scenario.last("trace"); f.path == "" && strings.HasSuffix(asked, ".json") && writtenTrace(asked) {
		f.path = asked
		*scenario.values["trace"] = nil
	}
	flag := cmd.Flags().Lookup("trace-out")
	switch {
	case flag.Changed && f.path == "":
		return errors.New("--trace-out is empty; leave it out, or is a variable not set?")
	case f.path != "" && !writtenTrace(f.path):
		return fmt.Errorf("--trace-out %s: the file is there and is no trace of a simulation; choose another name", f.path)
	}
	return nil
}

// writtenTrace reports whether a file is not there, or is a trace of steps.
func writtenTrace(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = file.Close() }() // nothing was written
	head, err := io.ReadAll(io.LimitReader(file, 1<<10))
	return err == nil && bytes.HasPrefix(head, []byte("[")) && bytes.Contains(head, []byte(`"ph":`))
}

// stepsFile is a trace that is being written.
type stepsFile struct {
	*simulator.TraceFile
	file *os.File
}

// open begins the trace; nil when none was asked for.
func (f *stepsFlag) open() (*stepsFile, error) {
	if f.path == "" {
		return nil, nil //nolint:nilnil // a trace that was not asked for is no error
	}
	file, err := os.Create(f.path)
	if err != nil {
		return nil, usagef("--trace-out: %w", err)
	}
	return &stepsFile{simulator.NewTraceFile(file), file}, nil
}

// close ends the trace and says where it is.
func (t *stepsFile) close(say func(format string, args ...any)) error {
	if t == nil {
		return nil
	}
	if err := errors.Join(t.Close(), t.file.Close()); err != nil {
		return fmt.Errorf("writing the trace of steps: %w", err)
	}
	say("every step is in %s; open it at https://ui.perfetto.dev\n", t.file.Name())
	if n := t.Dropped(); n > 0 {
		say("warning: the trace has the first %s events; %s more were left out\n", units.Count(simulator.TraceEvents), units.Count(n))
	}
	return nil
}
