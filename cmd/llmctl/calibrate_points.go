package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/fit"
)

// readCalibration reads a file of llmctl calibrate; no name is no calibration.
func readCalibration(file string) ([]cost.Entry, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--calibration: %w", err)
	}
	table, err := cost.ParseCalibration(data)
	if err != nil {
		return nil, fmt.Errorf("--calibration: reading %s: %w", file, err)
	}
	return table, nil
}

// readPoints reads points from CSV files and saved runs. fill is taken for what
// they leave out.
func readPoints(s *iostreams.IO, paths []string, fill map[string]string) ([]fit.Point, error) {
	var points []fit.Point
	for _, path := range paths {
		rows, err := readRows(s, path)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			for name, value := range fill {
				r.Fill(name, value)
			}
			p, err := r.Point(r.Text("model"))
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", path, err)
			}
			points = append(points, p)
		}
	}
	return points, nil
}

func readRows(s *iostreams.IO, path string) ([]fit.Row, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		row, err := runRow(s, path)
		return []fit.Row{row}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	rows, err := fit.ReadRows(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return rows, nil
}

// runRow turns a saved run into one point: the means of its requests, at the
// concurrency that it held. That of an open loop is by Little's law the rate of
// completions times the mean time of a request.
func runRow(s *iostreams.IO, path string) (fit.Row, error) {
	report, err := readRun(s, path)
	if err != nil {
		return fit.Row{}, err
	}
	var sc profiles.Scenario
	if len(report.Scenario) > 0 {
		parsed, err := profiles.ParseScenario(report.Scenario)
		if err != nil {
			return fit.Row{}, fmt.Errorf("reading the scenario of %s: %w", path, err)
		}
		sc = *parsed
	}
	if report.TPOT == nil || report.E2E == nil || report.InputLength == nil || report.OutputLength == nil ||
		report.InputLength.Mean == nil || report.OutputLength.Mean == nil || report.Rates.CompletedRPS == nil {
		return fit.Row{}, fmt.Errorf("%s has no time per output token, lengths or rate: were there streamed answers of more than one token?", path)
	}
	concurrency := *report.Rates.CompletedRPS * report.E2E.Mean
	if report.ClosedLoop && sc.Workload.Arrival.Concurrency > 0 {
		concurrency = float64(sc.Workload.Arrival.Concurrency)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }
	fields := map[string]string{
		"id": strings.TrimRight(path, "/"), "model": sc.Model, "accelerator": sc.Accelerator, "engine": sc.Engine,
		"isl": number(*report.InputLength.Mean), "osl": number(*report.OutputLength.Mean), "concurrency": number(max(1, concurrency)),
		"tpot_ms": number(report.TPOT.Mean * 1e3),
	}
	if report.TTFT != nil {
		fields["ttft_ms"] = number(report.TTFT.Mean * 1e3)
	}
	if t := report.Tokens; t.Cached != nil && t.Prompt != nil && *t.Prompt > 0 {
		fields["cached"] = number(float64(*t.Cached) / float64(*t.Prompt) * *report.InputLength.Mean)
	}
	for name, n := range map[string]int{"tp": sc.Parallel.Tensor, "pp": sc.Parallel.Pipeline, "ep": sc.Parallel.Expert, "dp": sc.Parallel.Data} {
		if n > 0 {
			fields[name] = strconv.Itoa(n)
		}
	}
	return fit.NewRow(fields), nil
}
