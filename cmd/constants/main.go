// Command constants fits the constants of the step model to the published
// measurements that come with llmctl, and writes the table that llmctl embeds.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/llmctl/llmctl/sizing/accuracy"
	"github.com/llmctl/llmctl/sizing/fit"
)

func main() {
	file := flag.String("write", "", "write the table here; to standard output when empty")
	flag.Parse()
	if err := run(*file); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	data, err := accuracy.Open("")
	if err != nil {
		return err
	}
	points, left, err := accuracy.Points(data)
	if err != nil {
		return err
	}
	for _, l := range left {
		fmt.Fprintf(os.Stderr, "row %s is left out: %s\n", l.ID, l.Reason)
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
		_, err = os.Stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
