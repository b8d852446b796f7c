// Command accuracy compares plans with published figures: it prints the table
// of sizing/accuracy and, for the built-in data, writes docs/accuracy.md.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/llmctl/llmctl/sizing/accuracy"
)

func main() {
	dir := flag.String("data", "", "folder with files of the same columns; the built-in data when empty")
	page := flag.String("write", "", "write the page here")
	flag.Parse()
	if err := run(*dir, *page); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(dir, page string) error {
	data, err := accuracy.Open(dir)
	if err != nil {
		return err
	}
	checks, err := accuracy.All(data)
	if err != nil {
		return err
	}
	if err := accuracy.Print(os.Stdout, checks); err != nil {
		return err
	}
	if page == "" {
		return nil
	}
	if err := os.WriteFile(page, []byte(accuracy.Markdown(checks)), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
