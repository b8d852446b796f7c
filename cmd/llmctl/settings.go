package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/profiles"
)

// rivals are flags that say the same thing in other ways. Where one is said, a
// weaker source does not get to say the others.
var rivals = map[string][]string{
	"rps": {"concurrency", "users", "trace", "arrival"}, "concurrency": {"rps", "users", "arrival"}, "users": {"rps", "concurrency", "arrival"},
	"arrival": {"concurrency", "users"}, "concurrency-ramp": {"rps", "arrival"},
	"isl": {"trace"}, "osl": {"trace"}, "prefix": {"trace"}, "turns": {"trace"}, "workload": {"trace"},
	"trace":    {"isl", "osl", "prefix", "turns", "workload", "rps"},
	"duration": {"requests"}, "requests": {"duration"}, "replicas": {"pools"}, "pools": {"replicas"},
}

// rivaled reports whether a rival of a flag was said. A process that leaves the
// rate open is none of --rps, and sends a trace at it.
func rivaled(flags *pflag.FlagSet, name string) bool {
	said := func(name string) bool {
		f := flags.Lookup(name)
		return f != nil && f.Changed
	}
	others := rivals[name]
	if name == "rps" && said("arrival") {
		a, err := profiles.ParseArrival(flags.Lookup("arrival").Value.String())
		if err == nil && a.Process.Takes("rate") && !a.Said("rate") {
			others = []string{"concurrency", "users"}
		}
	}
	return slices.ContainsFunc(others, said)
}

// open reports whether a flag may still be set from a weaker source.
func open(flags *pflag.FlagSet, f *pflag.Flag) bool {
	aliasSet := f.Value.String() != f.DefValue // --gpu sets --accelerator too
	return !f.Changed && !aliasSet && !rivaled(flags, f.Name) && f.Name != "help" && f.Name != "version"
}

// fromEnvironment sets every flag that the command line left alone from its
// environment variable: --kv-dtype from LLMCTL_KV_DTYPE.
func fromEnvironment(flags *pflag.FlagSet, env func(string) string) error {
	return setFrom(flags, func(f *pflag.Flag) (value, source string, ok bool) {
		name := "LLMCTL_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value = env(name)
		return value, name, value != ""
	})
}

// fromConfig sets the flags that are still untouched from the user's
// configuration. Flags that a scenario file can say too are left alone: the
// file is stronger, so scenarioFlags.resolve sees to them.
func fromConfig(flags *pflag.FlagSet, config map[string]string) error {
	return setFrom(flags, func(f *pflag.Flag) (value, source string, ok bool) {
		value, ok = config[f.Name]
		_, inScenario := f.Value.(*settingValue)
		ok = ok && !inScenario
		if ok && open(flags, f) {
			_ = flags.SetAnnotation(f.Name, fromUser, nil) // the flag is there
		}
		return value, "the user configuration, " + f.Name, ok
	})
}

// fromUser marks flags that the user's configuration has set, which a scenario file
// is stronger than.
const fromUser = "user configuration"

// aboveFile reports whether a flag was set by something stronger than a scenario file.
func aboveFile(f *pflag.Flag) bool {
	_, weak := f.Annotations[fromUser]
	return f.Changed && !weak
}

// setFrom sets the open flags from one source. All are looked at before any is
// set, so that two rivals from the same source are both set, and refused.
func setFrom(flags *pflag.FlagSet, source func(*pflag.Flag) (value, name string, ok bool)) error {
	type assignment struct{ flag, value, source string }
	var found []assignment
	flags.VisitAll(func(f *pflag.Flag) {
		if value, name, ok := source(f); ok && open(flags, f) {
			found = append(found, assignment{f.Name, value, name})
		}
	})
	for _, a := range found {
		if err := flags.Set(a.flag, a.value); err != nil {
			return fmt.Errorf("reading %s: %q: %w", a.source, a.value, err)
		}
	}
	return nil
}

// userConfig reads the user's own defaults: a YAML map from flag names to
// values, at $XDG_CONFIG_HOME/llmctl/config.yaml. A file that is not there is
// empty.
func userConfig(root *cobra.Command, env func(string) string) (map[string]string, error) {
	dir := env("XDG_CONFIG_HOME")
	if dir == "" {
		home := env("HOME")
		if home == "" {
			return nil, nil
		}
		dir = filepath.Join(home, ".config")
	}
	path := filepath.Join(dir, "llmctl", "config.yaml")
	data, err := userfile.Read(path, userfile.YAMLLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the user configuration: %w", err)
	}
	values := map[string]string{}
	if err := userfile.DecodeYAML(data, &values); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	known := allFlags(root)
	for name := range values {
		if !known[name] {
			return nil, fmt.Errorf("reading %s: no command has a flag %q%s", path, name, profiles.DidYouMean(name, keys(known)))
		}
	}
	return values, nil
}

func allFlags(c *cobra.Command) map[string]bool {
	known := map[string]bool{}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	for _, sub := range c.Commands() {
		for name := range allFlags(sub) {
			known[name] = true
		}
	}
	return known
}

// flagError rewrites cobra's complaint about a flag into one line with the
// nearest flag that exists.
func flagError(cmd *cobra.Command, err error) error {
	message := err.Error()
	if name, ok := strings.CutPrefix(message, "unknown flag: --"); ok {
		known := map[string]bool{}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = !f.Hidden })
		hint := profiles.DidYouMean("--"+name, keys(known))
		if hint == "" {
			hint = fmt.Sprintf("; %s --help lists those that there are", cmd.CommandPath())
		}
		return usagef("unknown flag --%s%s", name, hint)
	}
	return usage(err)
}

func keys(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] {
			names = append(names, name)
		}
	}
	return names
}
