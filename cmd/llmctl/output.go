package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// outputFlag is -o: the form in which a result goes to standard output.
type outputFlag struct{ format string }

func (o *outputFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "table", "form of the result: table, json or yaml")
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch o.format {
		case "table", "json", "yaml":
			return inner(cmd, args)
		}
		return usagef("unknown output format %q for -o, expected table, json or yaml", o.format)
	}
}

// table reports whether people will read the result.
func (o *outputFlag) table() bool { return o.format == "table" }

// write puts document out as JSON or YAML, or calls table.
func (o *outputFlag) write(s *iostreams.IO, document any, table func() error) error {
	if o.table() {
		return table()
	}
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	if o.format == "yaml" {
		return writeYAML(s, data)
	}
	_, err = s.Out.Write(append(data, '\n'))
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
