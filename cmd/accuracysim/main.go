// Command accuracysim compares simulations with measurements, for developers: with
// published ones, which `make accuracy-simulator` keeps as docs/simulator-accuracy.md,
// or with -machine with those of llmctl bench on the machine it runs on, which `make
// accuracy-machine` keeps as the last part of that page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/simulator/accuracy"
	plan "github.com/llmctl/llmctl/sizing/accuracy"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// run returns the exit code: 0 when the comparison was made and is no worse than it
// has been, 1 otherwise, 2 for a bad command line.
func run(s *iostreams.IO, args []string) int {
	flags := flag.NewFlagSet("accuracysim", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	dir := flags.String("data", "", "folder with a serving_measured.csv; the built-in data when empty")
	page := flags.String("write", "", "write the page here")
	program := flags.String("machine", "", "an llmctl to measure this machine with, in place of the published measurements")
	repeats := flags.Int("repeat", 4, "with -machine: measure each load this many times, and take the run that was disturbed least")
	only := flags.String("only", "", "with -machine: only the experiments whose name contains this")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *repeats < 1 {
		_, _ = fmt.Fprintf(s.Err, "error: -repeat %d, expected at least 1\n", *repeats)
		return 2
	}
	var err error
	if *program != "" {
		err = compareMachine(s, *program, *only, *repeats, *page)
	} else {
		err = compare(s, *dir, *page)
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 1
	}
	return 0
}

func compare(s *iostreams.IO, dir, page string) error {
	ctx := context.Background()
	data, err := plan.Open(dir)
	if err != nil {
		return err
	}
	compared, err := accuracy.Compare(ctx, data)
	if err != nil {
		return err
	}
	if len(compared.Figures) == 0 {
		return fmt.Errorf("%q has no row that can be simulated", dir)
	}
	var worse []string
	if dir == "" {
		figures, err := accuracy.Saturation(ctx, accuracy.Rounds)
		if err != nil {
			return err
		}
		compared.Figures = append(compared.Figures, figures...)
		worse = compared.Regressions()
	}
	text := accuracy.Markdown(compared)
	if _, err := fmt.Fprint(s.Out, text); err != nil {
		return err
	}
	if page != "" {
		_, machine, err := parts(page)
		if err != nil {
			return err
		}
		if err := write(page, text, machine); err != nil {
			return err
		}
	}
	if len(worse) > 0 {
		return fmt.Errorf("worse than known: %s", strings.Join(worse, "; "))
	}
	return nil
}

// machineHeading begins the part of the page about a machine.
const machineHeading = "\n## On one machine\n"

// parts are those of the page before and from the heading on; both are empty when
// there is no page.
func parts(page string) (published, machine string, err error) {
	text, err := os.ReadFile(page)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("reading the page: %w", err)
	}
	published, rest, found := strings.Cut(string(text), machineHeading)
	if found {
		machine = machineHeading + rest
	}
	return published, machine, nil
}

func write(page string, parts ...string) error {
	if err := atomicfile.Write(page, []byte(strings.Join(parts, ""))); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
