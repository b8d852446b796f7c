package main

import (
	"strings"
	"testing"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// A value that asks for nothing that could be done is refused, also where it is that of
// a flag which was not given.
func TestAbsurdValuesOfFlagsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no memory at all", []string{"--gpu-memory-utilization", "0"}, "expected a number of more than 0 and at most 1"},
		{"more than all memory", []string{"--gpu-memory-utilization", "1.5"}, "expected a number of more than 0 and at most 1"},
		{"a share that is no number", []string{"--gpu-memory-utilization", "NaN"}, "expected a number of more than 0 and at most 1"},
		{"time that stands still", []string{"--time-scale", "0"}, "expected a number of more than 0 and at most 10000"},
		{"time that runs backwards", []string{"--time-scale", "-1"}, "expected a number of more than 0 and at most 10000"},
		{"no name", []string{"--served-model-name", ""}, "--served-model-name is empty"},
		{"one of two names is none", []string{"--served-model-name", "a,"}, "--served-model-name is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs strings.Builder
			cmd := newServe(&iostreams.IO{Out: &out, Err: &errs})
			cmd.SetArgs(append(c.args, "--device", "nowhere")) // so that nothing is served where a value is taken
			cmd.SetOut(&out)
			cmd.SetErr(&errs)
			if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
