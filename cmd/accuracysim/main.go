// Command accuracysim compares simulations with published measurements, for
// developers: it prints the page of simulator/accuracy, which `make
// accuracy-simulator` keeps as docs/simulator-accuracy.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/simulator/accuracy"
	plan "github.com/llmctl/llmctl/sizing/accuracy"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// run returns the exit code: 0 when the comparison was made, 1 when it could not be,
// 2 for a bad command line.
func run(s *iostreams.IO, args []string) int {
	flags := flag.NewFlagSet("accuracysim", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	dir := flags.String("data", "", "folder with a serving_measured.csv; the built-in data when empty")
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
	data, err := plan.Open(dir)
	if err != nil {
		return err
	}
	compared, err := accuracy.Compare(context.Background(), data)
	if err != nil {
		return err
	}
	if len(compared.Figures) == 0 {
		return fmt.Errorf("%q has no row that can be simulated", dir)
	}
	text := accuracy.Markdown(compared)
	if _, err := fmt.Fprint(s.Out, text); err != nil || page == "" {
		return err
	}
	if err := atomicfile.Write(page, []byte(text)); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
