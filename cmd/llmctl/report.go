package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

func newReport(s *iostreams.IO) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Show a saved run again",
		Long: `Show a run that bench --save kept. Every number is computed anew from its records.
Several runs are the shards of one (bench --shard): they are put together as if one
machine had sent them all. A folder of --sweep or --find-goodput shows its curve, one
of --repeat what its runs have in common; name one of its folders for a single run.`,
		Example: "  llmctl report runs/1\n  llmctl report runs/1 -o json\n  llmctl report runs/1 --format vegeta > results.json\n  llmctl report shard1 shard2 shard3",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				if done, err := reportSeries(s, &output, args[0]); done {
					return err
				}
			}
			if output.format == "vegeta" {
				return writeVegeta(s, args)
			}
			report, err := readRun(s, args)
			if err != nil {
				return err
			}
			err = output.writeRun(s, report)
			if v := report.Verdict(); err == nil && v.Reason == reports.Damaged {
				err = judge(v, nil) // what else a run came to was told when it ended
			}
			return err
		},
	}
	output.add(cmd, "csv", "markdown", "vegeta")
	cmd.Flags().Var(&output, "format", "the same as --output")
	return cmd
}

// savedRun is a run on disk, or the shards of one.
type savedRun interface {
	Records() iter.Seq[*record.Record]
	Warnings() []record.Warning
	Err() error
}

// openRuns opens one run, or merges the runs of all shards into one.
func openRuns(paths []string) (record.Run, savedRun, json.RawMessage, error) {
	var shards []*record.Saved
	for _, path := range paths {
		saved, err := record.Open(path)
		if err != nil {
			return record.Run{}, nil, nil, err
		}
		shards = append(shards, saved)
	}
	if len(shards) == 1 {
		return shards[0].Run, shards[0], shards[0].Report, nil
	}
	merged, err := record.Merge(shards)
	if err != nil {
		return record.Run{}, nil, nil, usage(err)
	}
	return merged.Run, merged, nil, nil
}

// writeVegeta prints the requests of a saved run for vegeta.
func writeVegeta(s *iostreams.IO, paths []string) error {
	run, saved, _, err := openRuns(paths)
	if err != nil {
		return err
	}
	left, err := reports.WriteVegeta(s.Out, run, saved.Records())
	if left > 0 {
		fmt.Fprintf(s.Err, "left out %d requests that were cut, cancelled or never sent: vegeta has no word for them\n", left)
	}
	return errors.Join(err, saved.Err())
}

// readRun sums a saved run up again. What an experiment compared it with is
// taken from the saved report, since the other run has records of its own.
func readRun(s *iostreams.IO, paths []string) (*reports.Report, error) {
	run, saved, doc, err := openRuns(paths)
	if err != nil {
		return nil, err
	}
	report := reports.Summarize(run, saved.Records())
	if err := saved.Err(); err != nil {
		fmt.Fprintf(s.Err, "warning: %v\n", err)
	}
	report.Warnings = append(report.Warnings, saved.Warnings()...)
	if len(doc) > 0 {
		var old struct {
			Experiment *reports.Experiment `json:"experiment"`
		}
		if err := json.Unmarshal(doc, &old); err != nil {
			return nil, fmt.Errorf("reading the saved report of %s: %w", paths[0], err)
		}
		report.Experiment = old.Experiment
	}
	return report, nil
}
