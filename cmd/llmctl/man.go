package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/llmctl/llmctl/internal/iostreams"
)

func newMan(s *iostreams.IO) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "man",
		Short:   "Write the manual pages",
		Long:    "Write one manual page per command into a folder, or the page of llmctl itself to standard output.",
		Example: "  llmctl man | man -l -\n  llmctl man --dir /usr/local/share/man/man1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "LLMCTL", Section: "1", Source: "llmctl", Manual: "llmctl manual"}
			if dir == "" {
				return doc.GenMan(root, header, s.Out)
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("creating the folder for manual pages: %w", err)
			}
			return doc.GenManTree(root, header, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder to write one page per command into")
	return cmd
}
