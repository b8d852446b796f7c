package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llmctl/llmctl/internal/buildinfo"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/profiles"
)

// run executes one command line and returns its exit code.
func run(s *iostreams.IO, args []string) int {
	root := newRoot(s)
	root.SetArgs(args)
	return report(s, root.Execute())
}

func newRoot(s *iostreams.IO) *cobra.Command {
	root := &cobra.Command{
		Use:   "llmctl",
		Short: "Plan, measure and serve large language models",
		Long: `llmctl answers questions about serving a language model: how much hardware
it takes (size), what its p99 will be before the hardware exists (simulate), and
what a server really does under load (bench). It brings a gateway and an engine of
its own (gateway, serve) to try everything on.`,
		Example: `  llmctl size --model llama-3.1-8b --rps 200
  llmctl simulate --model llama-3.1-8b --rps 200
  llmctl bench
  llmctl bench --endpoint http://localhost:8000 --rps 4 --duration 60s`,
		Args:          unknownCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), s.Env); err != nil {
				return usage(err)
			}
			config, err := userConfig(cmd.Root(), s.Env)
			if err != nil {
				return usage(err)
			}
			return usage(fromConfig(cmd.Flags(), config))
		},
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(flagError)
	root.Version = buildinfo.Version()
	root.AddCommand(
		newSize(s), newSimulate(s), newCalibrate(s), newBench(s), newInfer(s), newReport(s),
		newServe(s), newGateway(s), newStack(s), newMock(s), newConform(s),
		newProfiles(s), newDoctor(s),
		newVersion(s), newMan(s),
	)
	for _, c := range root.Commands() {
		withUsageErrors(c)
	}
	wrapHelp(root, max(60, min(s.Width, 100)))
	return root
}

// wrapHelp makes the help of every command fit the terminal, with its flags under
// the headings of groupFlags.
func wrapHelp(root *cobra.Command, width int) {
	cobra.AddTemplateFunc("wrapped", func(f *pflag.FlagSet) string { return f.FlagUsagesWrapped(width) })
	cobra.AddTemplateFunc("localFlags", func(c *cobra.Command) string { return flagHelp(c, c.LocalFlags(), "Flags:\n", width) })
	root.SetUsageTemplate(strings.NewReplacer(
		"Flags:\n{{.LocalFlags.FlagUsages ", "{{localFlags . ",
		".InheritedFlags.FlagUsages", "wrapped .InheritedFlags",
	).Replace(root.UsageTemplate()))
}

// withUsageErrors makes the errors of a command's argument check exit as
// mistakes on the command line.
func withUsageErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error { return usage(check(cmd, args)) }
	}
	for _, sub := range c.Commands() {
		withUsageErrors(sub)
	}
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := make([]string, 0, len(cmd.Commands()))
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usage(fmt.Errorf("unknown command %q%s", args[0], profiles.DidYouMean(args[0], names)))
}

func newVersion(s *iostreams.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.Out, "llmctl %s (%s)\n", buildinfo.Version(), buildinfo.Platform())
			return err
		},
	}
}
