// Command accuracy compares plans with published figures, for developers: it
// prints the table of sizing/accuracy and writes docs/accuracy.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/sizing/accuracy"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// run returns the exit code: 0 when the checks were made and held, 1 when one did not
// hold, unless only a report is asked for, or they could not be made, 2 for a bad
// command line.
func run(s *iostreams.IO, args []string) int {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	dir := flags.String("data", "", "folder with files of the same columns; the built-in data when empty")
	page := flags.String("write", "", "write the page here")
	report := flags.Bool("report", false, "exit with 0 although a bar is not held")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	broken, err := compare(s, *dir, *page)
	if err == nil && len(broken) > 0 && !*report {
		err = fmt.Errorf("not held: %s", strings.Join(broken, "; "))
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 1
	}
	return 0
}

// compare makes the checks, and names those that are not held.
func compare(s *iostreams.IO, dir, page string) (broken []string, err error) {
	data, err := accuracy.Open(dir)
	if err != nil {
		return nil, err
	}
	if missing := data.Missing(); len(missing) > 0 {
		_, _ = fmt.Fprintf(s.Err, "not in %s, so that their checks have no rows: %s\n", dir, strings.Join(missing, ", "))
	}
	checks, err := accuracy.All(data)
	if err != nil {
		return nil, err
	}
	rows := 0
	for _, c := range checks {
		rows += len(c.Rows)
		if c.Broken() {
			broken = append(broken, c.Name)
		}
	}
	if rows == 0 {
		return nil, fmt.Errorf("%s has no row that can be compared", dir)
	}
	if err := accuracy.Print(s.Out, checks); err != nil || page == "" {
		return broken, err
	}
	if err := atomicfile.Write(page, []byte(accuracy.Markdown(checks))); err != nil {
		return nil, fmt.Errorf("writing the page: %w", err)
	}
	return broken, nil
}
