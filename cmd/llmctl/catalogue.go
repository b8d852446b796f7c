package main

import (
	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
)

// A catalogue is one kind of built-in things, for people and for programs.
type catalogue struct {
	kind  string // plural, e.g. "models"
	names func() []string
	show  func(name string) ([]byte, error) // in the form that can be edited and passed back
	row   func(name string) ([]field, error)
}

// A field is one fact of an entry: under its key in JSON, with its unit in the
// key, and as text under a heading in the table. A nil value is not known.
type field struct {
	key   string
	value any
	head  string // empty leaves the field out of the table
	text  string
	right bool
}

// rows are the fields of every entry.
func (c catalogue) rows() ([][]field, error) {
	var rows [][]field
	for _, name := range c.names() {
		row, err := c.row(name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// document is what -o json prints.
func (c catalogue) document(rows [][]field) any {
	entries := make([]map[string]any, len(rows))
	for i, row := range rows {
		entries[i] = map[string]any{}
		for _, f := range row {
			if f.value != nil {
				entries[i][f.key] = f.value
			}
		}
	}
	return struct {
		Schema  string           `json:"schema"`
		Entries []map[string]any `json:"entries"`
	}{"llmctl/" + c.kind + "/v1", entries}
}

// table is what people read.
func (c catalogue) table(rows [][]field) reports.Table {
	var t reports.Table
	for i, row := range rows {
		var cells []string
		for _, f := range row {
			if f.head == "" {
				continue
			}
			if i == 0 {
				t.Header = append(t.Header, f.head)
				t.Right = append(t.Right, f.right)
			}
			cells = append(cells, f.text)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func (c catalogue) command(s *iostreams.IO) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   c.kind,
		Short: "List the built-in " + c.kind,
		Args:  unknownCommand,
		RunE: func(*cobra.Command, []string) error {
			rows, err := c.rows()
			if err != nil {
				return err
			}
			return output.write(s, c.document(rows), func() error {
				_, err := c.table(rows).WriteTo(s.Out)
				return err
			})
		},
	}
	output.add(cmd)
	cmd.AddCommand(&cobra.Command{
		Use:   "show NAME",
		Short: "Print one of the " + c.kind + " to edit and pass back",
		Args:  cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return c.names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := c.show(args[0])
			if err != nil {
				return usage(err)
			}
			_, err = s.Out.Write(data)
			return err
		},
	})
	return cmd
}
