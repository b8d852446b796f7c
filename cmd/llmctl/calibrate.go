package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/atomicfile"
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
		Use:   "calibrate RUN|FILE.csv|STEPS.jsonl...",
		Short: "Fit the step model's constants to measured runs or points",
		Long: `Fit the constants of the step model to measured points: runs that bench --save
kept, or a CSV with the columns model, accelerator, engine, isl, osl, concurrency
and tpot_ms, and where they matter tp, pp, ep, dp, weight_dtype, kv_dtype, cached,
max_num_seqs, max_num_batched_tokens, ttft_ms, rounds and id. rounds is how many
requests each client sends when the mean ttft_ms includes the start of a run, with
all clients at once. The steps that serve --step-log wrote to a file NAME.jsonl are
points, too, of what decoding costs: one for each number of sequences in a step.

The fit starts from the built-in constants, so that few points refine them rather
than replace them; what the points can not tell stays. What only prompts cost is
fitted when there are ttft_ms, or uncached prompts that differ four times in
length; without ttft_ms the interval of TTFT stays the built-in one. The error is
that on points whose load was held out. Repeated measurements of one configuration
count as one point with their median and the weight of all. Points that determine
nothing, or that do not agree with each other, are refused. The engine on this
machine's CPU is calibrated by a single run, too: it says how fast the machine is.
size and simulate take the file of --out with --calibration.`,
		Example: `  llmctl calibrate runs/c8 runs/c32 runs/c64 --accelerator h100-sxm-80gb --engine vllm --out my.yaml
  llmctl calibrate points.csv --out my.yaml
  llmctl calibrate runs/laptop --out laptop.yaml
  llmctl calibrate steps.jsonl --model builtin --accelerator cpu --engine llmctl`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for name, value := range flags {
				fill[name] = *value
			}
			if err := writable(out, force); err != nil {
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
			if errors.Is(err, fit.ErrNoPoints) {
				return usagef("%w in %s", err, strings.Join(args, ", "))
			}
			if err != nil {
				return hinted(exitFailed, err, "add points that differ in concurrency, lengths or --tp; llmctl bench --save keeps one per run")
			}
			if err := reports.WriteCalibration(s.Out, found); err != nil {
				return err
			}
			for _, c := range found {
				if err := c.Doubt(); err != nil && !force {
					return hinted(exitFailed, err, "look for other units, other settings or wrong lengths among the points, or take the calibration nevertheless with --force")
				}
			}
			return keep(s, out, found)
		},
	}
	for _, name := range names {
		flags[name] = new(string)
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "write the calibration here, for --calibration of size and simulate")
	f.BoolVar(&force, "force", false, "replace the file of --out, and take points that do not agree with each other")
	f.StringVar(flags["model"], "model", "", "model of points that do not say")
	f.StringVar(flags["accelerator"], "accelerator", "", "accelerator of points that do not say")
	f.StringVar(flags["engine"], "engine", "", "engine of points that do not say")
	f.StringVar(flags["tp"], "tp", "", "tensor parallelism of points that do not say")
	f.StringVar(flags["weight_dtype"], "weight-dtype", "", "weight format of points that do not say")
	return cmd
}

// writable makes sure, before the work, that a file can be written without taking
// another's place.
func writable(file string, force bool) error {
	if file == "" {
		return nil
	}
	folder := filepath.Dir(file)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("--out %s: there is no folder %s", file, folder)
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("--out %s is no regular file", file)
	case !force:
		return fmt.Errorf("--out %s exists already: choose another name, or --force", file)
	}
	if err := atomicfile.Check(file); err != nil {
		return fmt.Errorf("--out %s: %w", file, err)
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
	if err := atomicfile.Write(file, b.Bytes()); err != nil {
		return fmt.Errorf("writing the calibration: %w", err)
	}
	_, err := fmt.Fprintf(s.Out, "\nWritten to %s: llmctl size --calibration %s, llmctl simulate --calibration %s\n", file, file, file)
	return err
}
