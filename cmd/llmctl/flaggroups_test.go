package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llmctl/llmctl/internal/iostreams"
)

func TestFlagHelp(t *testing.T) {
	cmd := &cobra.Command{Use: "x"}
	cmd.Flags().Bool("engine", false, "who drives")
	cmd.Flags().Bool("count", false, "how many")
	cmd.Flags().Bool("price", false, "what it costs")
	cmd.Flags().Bool("loose", false, "is nowhere")
	if got := flagHelp(cmd, cmd.Flags(), "Flags:\n", 80); !strings.HasPrefix(got, "Flags:\n      --count    how many\n") {
		t.Errorf("without headings: %s", got)
	}
	groupFlags(cmd, []flagGroup{{"What", []string{"price", "engine"}}, {"Fleet", []string{"count"}}})
	want := `What:
      --engine   who drives
      --price    what it costs

Fleet:
      --count   how many
      --loose   is nowhere
`
	if diff := cmp.Diff(want, flagHelp(cmd, cmd.Flags(), "Flags:\n", 80)); diff != "" {
		t.Error(diff)
	}
}

// TestSizeFlagsHaveHeadings: a new flag is put under one.
func TestSizeFlagsHaveHeadings(t *testing.T) {
	cmd := newSize(&iostreams.IO{})
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if len(f.Annotations[groupAnnotation]) == 0 {
			t.Errorf("--%s is under no heading of sizeGroups", f.Name)
		}
	})
}
