package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

func newReport(s *iostreams.IO) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "report RUN",
		Short:   "Show a saved run again",
		Long:    "Show a run that bench --save kept. Every number is computed anew from its records.",
		Example: "  llmctl report runs/1\n  llmctl report runs/1 -o json\n  llmctl report runs/1 --format vegeta | vegeta report",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if output.format == "vegeta" {
				return writeVegeta(s, args[0])
			}
			report, err := readRun(s, args[0])
			if err != nil {
				return err
			}
			err = output.write(s, report, func() error {
				return reports.WriteText(s.Out, report, reports.TextOptions{Color: s.Color, Width: min(s.Width, 100)})
			})
			if v := report.Verdict(); err == nil && v.Reason == reports.Damaged {
				err = judge(v, nil) // what else a run came to was told when it ended
			}
			return err
		},
	}
	output.add(cmd, "vegeta")
	cmd.Flags().Var(&output, "format", "the same as --output")
	return cmd
}

// writeVegeta prints the requests of a saved run for vegeta.
func writeVegeta(s *iostreams.IO, path string) error {
	saved, err := record.Open(path)
	if err != nil {
		return err
	}
	left, err := reports.WriteVegeta(s.Out, saved.Run, saved.Records())
	if left > 0 {
		fmt.Fprintf(s.Err, "left out %d requests that were cut, cancelled or never sent: vegeta has no word for them\n", left)
	}
	return errors.Join(err, saved.Err())
}

// readRun sums a saved run up again. What an experiment compared it with is
// taken from the saved report, since the other run has records of its own.
func readRun(s *iostreams.IO, path string) (*reports.Report, error) {
	saved, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	report := reports.Summarize(saved.Run, saved.Records())
	if err := saved.Err(); err != nil {
		fmt.Fprintf(s.Err, "warning: %v\n", err)
	}
	report.Warnings = append(report.Warnings, saved.Warnings()...)
	if len(saved.Report) > 0 {
		var old struct {
			Experiment *reports.Experiment `json:"experiment"`
		}
		if err := json.Unmarshal(saved.Report, &old); err != nil {
			return nil, fmt.Errorf("reading the saved report of %s: %w", path, err)
		}
		report.Experiment = old.Experiment
	}
	return report, nil
}
