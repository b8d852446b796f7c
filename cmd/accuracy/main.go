// Command accuracy compares plans with published figures, for developers: it
// prints the table of sizing/accuracy and writes docs/accuracy.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/sizing/accuracy"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// run returns the exit code: 0 when the checks were made, whether they held or
// not, 1 when they could not be made, 2 for a bad command line.
func run(s *iostreams.IO, args []string) int {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	dir := flags.String("data", "", "folder with files of the same columns; the built-in data when empty")
	page := flags.String("write", "", "write the page here")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := compare(s, *dir, *page); err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 1
	}
	return 0
}

func compare(s *iostreams.IO, dir, page string) error {
	data, err := accuracy.Open(dir)
	if err != nil {
		return err
	}
	if missing := data.Missing(); len(missing) > 0 {
		_, _ = fmt.Fprintf(s.Err, "not in %s, so that their checks have no rows: %s\n", dir, strings.Join(missing, ", "))
	}
	checks, err := accuracy.All(data)
	if err != nil {
		return err
	}
	if err := accuracy.Print(s.Out, checks); err != nil || page == "" {
		return err
	}
	if err := os.WriteFile(page, []byte(accuracy.Markdown(checks)), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
