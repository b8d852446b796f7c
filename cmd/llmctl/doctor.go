package main

import (
	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/doctor"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
)

func newDoctor(s *iostreams.IO) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine: file and port limits, timer, processors, GPU",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			checks := doctor.Run()
			err := output.write(s, struct {
				Schema string         `json:"schema"`
				Checks []doctor.Check `json:"checks"`
			}{"llmctl/doctor/v1", checks}, func() error { return writeChecks(s, checks) })
			if err == nil && doctor.Failed(checks) {
				err = silent(exitFailed)
			}
			return err
		},
	}
	output.add(cmd)
	return cmd
}

func writeChecks(s *iostreams.IO, checks []doctor.Check) error {
	marks := map[doctor.Status]string{doctor.Pass: "✓", doctor.Warn: "!", doctor.Fail: "✗"}
	table := reports.Table{}
	for _, c := range checks {
		table.Rows = append(table.Rows, []string{marks[c.Status], c.Name, c.Seen})
		if c.Advice != "" {
			table.Rows = append(table.Rows, []string{"", "", "→ " + c.Advice})
		}
	}
	_, err := table.WriteTo(s.Out)
	return err
}
