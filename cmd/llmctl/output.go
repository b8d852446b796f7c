package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
)

// outputFlag is -o: the form in which a result goes to standard output.
type outputFlag struct {
	format string
	known  []string
}

// add registers -o with the forms that every command has, and more.
func (o *outputFlag) add(cmd *cobra.Command, more ...string) {
	o.format = "table"
	o.known = append([]string{"table", "json", "yaml"}, more...)
	cmd.Flags().VarP(o, "output", "o", "form of the result: "+o.expected())
}

func (o *outputFlag) expected() string {
	last := len(o.known) - 1
	return strings.Join(o.known[:last], ", ") + " or " + o.known[last]
}

// String implements pflag.Value.
func (o *outputFlag) String() string { return o.format }

// Type implements pflag.Value.
func (o *outputFlag) Type() string { return "format" }

// Set implements pflag.Value.
func (o *outputFlag) Set(format string) error {
	if slices.Contains(o.known, format) {
		o.format = format
		return nil
	}
	return errors.New("expected " + o.expected())
}

// table reports whether people will read the result.
func (o *outputFlag) table() bool { return o.format == "table" }

// forms are how a result is written for people and spreadsheets.
type forms struct{ table, csv, markdown func() error }

// writeRun writes the report of one run.
func (o *outputFlag) writeRun(s *iostreams.IO, r *reports.Report) error {
	return o.writeForms(s, r, forms{
		table:    func() error { return reports.WriteText(s.Out, r, textOptions(s)) },
		csv:      func() error { return reports.RunTable(r).WriteCSV(s.Out) },
		markdown: func() error { return reports.WriteRunMarkdown(s.Out, r) },
	})
}

// writeRepeats writes what runs of the same load have in common; text does so for
// people.
func (o *outputFlag) writeRepeats(s *iostreams.IO, all *reports.Repeats, text func(io.Writer, *reports.Repeats, reports.TextOptions) error) error {
	return o.writeForms(s, all, forms{
		table:    func() error { return text(s.Out, all, textOptions(s)) },
		csv:      func() error { return reports.RepeatsTable(all).WriteCSV(s.Out) },
		markdown: func() error { return reports.WriteRepeatsMarkdown(s.Out, all) },
	})
}

func textOptions(s *iostreams.IO) reports.TextOptions {
	return reports.TextOptions{Color: s.Color, Width: min(s.Width, 100)}
}

// writeForms is write for commands that have all forms.
func (o *outputFlag) writeForms(s *iostreams.IO, document any, f forms) error {
	switch o.format {
	case "csv":
		return f.csv()
	case "markdown":
		return f.markdown()
	}
	return o.write(s, document, f.table)
}

// write puts document out as JSON or YAML, or calls table.
func (o *outputFlag) write(s *iostreams.IO, document any, table func() error) error {
	if o.table() {
		return table()
	}
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false) // assertions are full of < and >
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	if o.format == "yaml" {
		return writeYAML(s, data.Bytes())
	}
	_, err := s.Out.Write(data.Bytes())
	return err
}

// writeYAML prints a JSON document as YAML with the same keys in the same order.
func writeYAML(s *iostreams.IO, data []byte) error {
	var node yaml.Node // JSON is YAML; a node keeps the order of keys
	if err := yaml.Unmarshal(data, &node); err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	blockStyle(&node)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	_, err := s.Out.Write(b.Bytes())
	return err
}

func blockStyle(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle | yaml.DoubleQuotedStyle
	for _, child := range n.Content {
		blockStyle(child)
	}
}
