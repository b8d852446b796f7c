package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/fit"
)

func newCalibrate(s *iostreams.IO) *cobra.Command {
	var (
		out   string
		force bool
		fill  = map[string]string{}
		names = []string{"model", "accelerator", "engine", "tp", "weight_dtype"}
		flags = map[string]*string{}
	)
	cmd := &cobra.Command{
		Use:   "calibrate RUN|FILE.csv...",
		Short: "Fit the step model's constants to measured runs or points",
		Long: `Fit the constants of the step model to measured points: runs that bench --save
kept, or a CSV with the columns model, accelerator, engine, isl, osl, concurrency
and tpot_ms, and where they matter tp, pp, ep, dp, weight_dtype, kv_dtype, cached,
max_num_seqs, max_num_batched_tokens, ttft_ms, rounds and id. rounds is how many
requests each client sends when the mean ttft_ms includes the start of a run, with
all clients at once.

The fit starts from the built-in constants, so that few points refine them rather
than replace them; what the points can not tell stays. What only prompts cost is
fitted when there are ttft_ms, or uncached prompts that differ four times in
length; without ttft_ms the interval of TTFT stays the built-in one. The error is that on points
whose load was held out. Points that determine nothing are refused. size takes
the file of --out with --calibration.`,
		Example: `  llmctl calibrate runs/c8 runs/c32 runs/c64 --accelerator h100-sxm-80gb --engine vllm --out my.yaml
  llmctl calibrate points.csv --out my.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for name, value := range flags {
				fill[name] = *value
			}
			if err := free(out, force); err != nil {
				return usage(err)
			}
			points, err := readPoints(s, args, fill)
			if err != nil {
				return usage(err)
			}
			p := newProgress(s, time.Now)
			found, err := fit.Calibrate(cmd.Context(), points, func(done, all int) {
				p.say("fitted %d of %d loads that are held out", done, all)
			})
			p.clear()
			if err != nil {
				return hinted(exitFailed, err, "add points that differ in concurrency, lengths or --tp; llmctl bench --save keeps one per run")
			}
			if err := reports.WriteCalibration(s.Out, found); err != nil {
				return err
			}
			return keep(s, out, found)
		},
	}
	for _, name := range names {
		flags[name] = new(string)
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "write the calibration here, for --calibration of size")
	f.BoolVar(&force, "force", false, "replace the file of --out")
	f.StringVar(flags["model"], "model", "", "model of points that do not say")
	f.StringVar(flags["accelerator"], "accelerator", "", "accelerator of points that do not say")
	f.StringVar(flags["engine"], "engine", "", "engine of points that do not say")
	f.StringVar(flags["tp"], "tp", "", "tensor parallelism of points that do not say")
	f.StringVar(flags["weight_dtype"], "weight-dtype", "", "weight format of points that do not say")
	return cmd
}

// free makes sure that a file can be written without taking another's place.
func free(file string, force bool) error {
	if file == "" || force {
		return nil
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--out %s exists already: choose another name, or --force", file)
	}
	return nil
}

// keep writes the calibration file.
func keep(s *iostreams.IO, file string, found []fit.Calibration) error {
	if file == "" {
		return nil
	}
	var table []cost.Entry
	for _, c := range found {
		table = append(table, c.Entry)
	}
	var b bytes.Buffer
	if err := fit.WriteCalibration(&b, table); err != nil {
		return err
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the calibration: %w", err)
	}
	_, err := fmt.Fprintf(s.Out, "\nWritten to %s: llmctl size --calibration %s\n", file, file)
	return err
}
