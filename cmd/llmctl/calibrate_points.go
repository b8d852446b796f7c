package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/fit"
)

// readCalibration reads a file of llmctl calibrate; no name is no calibration.
func readCalibration(file string) ([]cost.Entry, error) {
	if file == "" {
		return nil, nil
	}
	data, err := userfile.Read(file, userfile.YAMLLimit)
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
	if err := differ(paths); err != nil {
		return nil, err
	}
	var points []fit.Point
	var reader fit.Reader
	for _, path := range paths {
		rows, err := readRows(s, path)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			for name, value := range fill {
				r.Fill(name, value)
			}
			p, err := reader.Point(r)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", path, err)
			}
			points = append(points, p)
		}
	}
	return points, nil
}

// differ refuses a file or run that is given twice, under one name or two: its
// points would count twice.
func differ(paths []string) error {
	seen := map[[sha256.Size]byte]string{}
	for _, path := range paths {
		file := path
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			file = filepath.Join(path, record.RunFile)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			continue // reading the run says what is wrong with it
		}
		sum := sha256.Sum256(data)
		if first, twice := seen[sum]; twice {
			if first == path {
				return fmt.Errorf("%s is given twice", path)
			}
			return fmt.Errorf("%s and %s are the same", first, path)
		}
		seen[sum] = path
	}
	return nil
}

func readRows(s *iostreams.IO, path string) ([]fit.Row, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		row, err := runRow(s, path)
		return []fit.Row{row}, err
	}
	f, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	read := fit.ReadRows
	if strings.EqualFold(filepath.Ext(path), ".jsonl") {
		read = fit.ReadSteps
	}
	rows, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return rows, nil
}

// runScenario is what a point needs of the scenario in a saved run.
type runScenario struct {
	Model       string `json:"model"`
	Accelerator string `json:"accelerator"`
	Engine      string `json:"engine"`
	Parallel    struct {
		Tensor   int `json:"tensor"`
		Pipeline int `json:"pipeline"`
		Expert   int `json:"expert"`
		Data     int `json:"data"`
	} `json:"parallel"`
	Workload struct {
		Arrival struct {
			Concurrency float64 `json:"concurrency"`
		} `json:"arrival"`
	} `json:"workload"`
}

// shortestTPOT is the time per output token, in milliseconds, below which a run does
// not tell the time of a step; points in a file have the same bound.
const shortestTPOT = 0.05

// runRow turns a saved run into one point: the means of its requests, at the
// concurrency that it held. That of an open loop is by Little's law the rate of
// completions times the mean time of a request.
func runRow(s *iostreams.IO, path string) (fit.Row, error) {
	report, err := readRun(s, []string{path})
	if err != nil {
		return fit.Row{}, err
	}
	var sc runScenario
	if len(report.Scenario) > 0 {
		if err := json.Unmarshal(report.Scenario, &sc); err != nil {
			return fit.Row{}, fmt.Errorf("reading the scenario of %s: %w", path, userfile.JSONError(err))
		}
	}
	in, out := report.InputLength, report.OutputLength
	if report.TPOT == nil || report.E2E == nil || in == nil || in.Mean == nil || out == nil || out.Mean == nil || report.Rates.CompletedRPS == nil {
		return fit.Row{}, fmt.Errorf("%s has no time per output token, lengths or rate: were there streamed answers of more than one token?", path)
	}
	// The processors of a machine do other work, too, which makes means those of
	// whatever came between.
	tpot, e2e := report.TPOT.Mean, report.E2E.Mean
	onCPU := sc.Accelerator == profiles.CPU
	if onCPU {
		tpot, e2e = report.TPOT.P50, report.E2E.P50
	}
	if tpot*1e3 < shortestTPOT {
		return fit.Row{}, fmt.Errorf("%s has %s per output token, shorter than any engine's step: its chunks came together, as on a busy machine; measure it again", path, units.Seconds(tpot))
	}
	concurrency := sc.Workload.Arrival.Concurrency
	if !report.ClosedLoop || concurrency == 0 {
		concurrency = max(1, *report.Rates.CompletedRPS*e2e)
	}
	fields := map[string]string{"id": strings.TrimRight(path, "/"), "model": sc.Model, "accelerator": sc.Accelerator, "engine": sc.Engine}
	set := func(name string, v float64) {
		if v > 0 {
			fields[name] = strconv.FormatFloat(v, 'g', 12, 64)
		}
	}
	set("isl", *in.Mean)
	set("osl", *out.Mean)
	set("concurrency", concurrency)
	set("tpot_ms", tpot*1e3)
	if report.TTFT != nil {
		ttft := report.TTFT.Mean
		if onCPU {
			ttft = report.TTFT.P50
		}
		set("ttft_ms", ttft*1e3)
	}
	if t := report.Tokens; t.Cached != nil && t.Prompt != nil && *t.Prompt > 0 {
		set("cached", float64(*t.Cached)/float64(*t.Prompt)**in.Mean)
	}
	set("tp", float64(sc.Parallel.Tensor))
	set("pp", float64(sc.Parallel.Pipeline))
	set("ep", float64(sc.Parallel.Expert))
	set("dp", float64(sc.Parallel.Data))
	return fit.NewRow(fields), nil
}
