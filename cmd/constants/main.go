// Command constants fits the constants of the step model to the published
// measurements that come with llmctl, for developers: `make constants` writes
// the table that llmctl embeds.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/sizing/accuracy"
	"github.com/llmctl/llmctl/sizing/fit"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// run returns the exit code: 1 when the fit could not be made or written, 2 for
// a bad command line.
func run(s *iostreams.IO, args []string) int {
	flags := flag.NewFlagSet("constants", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	file := flags.String("write", "", "write the table here; to standard output when empty")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := write(s, *file); err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 1
	}
	return 0
}

func write(s *iostreams.IO, file string) error {
	data, err := accuracy.Open("")
	if err != nil {
		return err
	}
	points, left, err := accuracy.Points(data)
	if err != nil {
		return err
	}
	for _, l := range left {
		_, _ = fmt.Fprintf(s.Err, "row %s is left out: %s\n", l.ID, l.Reason)
	}
	table, err := fit.Table(points)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := fit.Write(&b, table); err != nil {
		return err
	}
	if file == "" {
		_, err = s.Out.Write(b.Bytes())
		return err
	}
	if err := atomicfile.Write(file, b.Bytes()); err != nil {
		return fmt.Errorf("writing the constants: %w", err)
	}
	return nil
}
