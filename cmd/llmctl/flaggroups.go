package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flagGroup is a heading of a command's help and the flags under it.
type flagGroup struct {
	heading string
	flags   []string
}

// groupAnnotation is where a flag keeps the heading that it is listed under.
const groupAnnotation = "llmctl_heading"

// groupFlags puts flags of a command under headings, in this order. The flags
// that are under none come last, under the last heading.
func groupFlags(cmd *cobra.Command, groups []flagGroup) {
	cmd.Annotations = map[string]string{}
	var headings []string
	for _, g := range groups {
		headings = append(headings, g.heading)
		for _, name := range g.flags {
			if err := cmd.Flags().SetAnnotation(name, groupAnnotation, []string{g.heading}); err != nil {
				panic(err) // a flag that is not there
			}
		}
	}
	cmd.Annotations[groupAnnotation] = strings.Join(headings, "\n")
}

// flagHelp lists the flags that help shows for a command, under their headings;
// under alone where the command has none.
func flagHelp(cmd *cobra.Command, flags *pflag.FlagSet, alone string, width int) string {
	text := cmd.Annotations[groupAnnotation]
	if text == "" {
		return alone + flags.FlagUsagesWrapped(width)
	}
	headings := strings.Split(text, "\n")
	sets := make([]pflag.FlagSet, len(headings))
	flags.VisitAll(func(f *pflag.Flag) {
		at := len(sets) - 1
		if said := f.Annotations[groupAnnotation]; len(said) > 0 {
			at = slices.Index(headings, said[0])
		}
		sets[at].AddFlag(f)
	})
	var b strings.Builder
	for i, heading := range headings {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(heading + ":\n" + sets[i].FlagUsagesWrapped(width))
	}
	return b.String()
}
