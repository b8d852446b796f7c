package main

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/llmctl/llmctl/profiles"
)

// applyRun gives what a scenario says of its run to the flags of the same names,
// unless the command line or the environment has set them; then it has the scenario
// say what they do. Keys that the call has no use for are left out of the scenario.
func applyRun(flags *pflag.FlagSet, run *profiles.Run, unused ...string) error {
	var effective profiles.Run
	for key, value := range run.Said {
		f := flags.Lookup(key)
		if f == nil || slices.Contains(unused, key) {
			continue
		}
		if rival := boundRival(flags, key); rival != nil {
			if aboveFile(rival) {
				key, value = rival.Name, rival.Value.String()
				f = rival
			} else if err := unset(rival); err != nil {
				return err
			}
		}
		if aboveFile(f) {
			value = f.Value.String()
		} else if err := flags.Set(key, value); err != nil {
			return fmt.Errorf("run: %s: %w", key, err)
		}
		if err := effective.Set(key, value); err != nil {
			return fmt.Errorf("run: %s: %w", key, err)
		}
	}
	*run = effective
	return nil
}

// boundRival is the flag that bounds a run in the place of another one.
func boundRival(flags *pflag.FlagSet, name string) *pflag.Flag {
	switch name {
	case "requests":
		return flags.Lookup("duration")
	case "duration":
		return flags.Lookup("requests")
	}
	return nil
}

// unset takes back what the user's configuration has set.
func unset(f *pflag.Flag) error {
	if !f.Changed {
		return nil
	}
	f.Changed = false
	if c, ok := f.Value.(countValue); ok { // which takes no 0 from a user
		*c.to = 0
		return nil
	}
	return f.Value.Set(f.DefValue)
}
