package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// reportSeries shows a folder that holds several runs: a curve, or repeats. done is
// false when it is neither.
func reportSeries(s *iostreams.IO, output *outputFlag, dir string) (done bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, record.RunFile)); err == nil {
		return false, nil
	}
	if path := filepath.Join(dir, curveFile); exists(path) {
		return true, reportCurve(s, output, path)
	}
	var paths []string
	for i := 1; exists(filepath.Join(dir, strconv.Itoa(i), record.RunFile)); i++ {
		paths = append(paths, filepath.Join(dir, strconv.Itoa(i)))
	}
	if paths == nil {
		return false, nil
	}
	return true, reportRepeats(s, output, paths)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// reportCurve shows the curve of a sweep or a search, however far it has come.
func reportCurve(s *iostreams.IO, output *outputFlag, path string) error {
	if output.format == "vegeta" {
		return usagef("-o vegeta is for single runs; name the folder of one inside %s", filepath.Dir(path))
	}
	data, err := userfile.Read(path, maxCurveFile)
	if err != nil {
		return err
	}
	curve, err := reports.ParseCurve(data)
	if err != nil {
		return err
	}
	if len(curve.Points) == 0 {
		// Killed before its first point was kept: its runs are there all the same.
		runs, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*", record.RunFile))
		if err == nil && len(runs) > 0 {
			first := filepath.Dir(runs[0])
			return hinted(exitFailed, fmt.Errorf("reading %s: it was stopped before its first point; %d of its runs are there", path, len(runs)), "read one by itself: llmctl report "+first)
		}
	}
	return writeCurve(s, output, curve)
}

// writeCurve prints a curve in the form asked for.
func writeCurve(s *iostreams.IO, output *outputFlag, c *reports.Curve) error {
	return output.writeForms(s, c, forms{
		table: func() error {
			return reports.WriteCurveText(s.Out, c, reports.TextOptions{Color: s.Color, Width: min(s.Width, 100)})
		},
		csv:      func() error { return reports.CurveTable(c).WriteCSV(s.Out) },
		markdown: func() error { return reports.WriteCurveMarkdown(s.Out, c) },
	})
}

// reportRepeats shows what the runs of --repeat have in common.
func reportRepeats(s *iostreams.IO, output *outputFlag, paths []string) error {
	if output.format == "vegeta" {
		return usagef("-o vegeta is not for repeats; name the folder of one of them, such as %s", paths[0])
	}
	var runs []*reports.Report
	for _, path := range paths {
		report, err := readRun(s, []string{path})
		if err != nil {
			return err
		}
		runs = append(runs, report)
	}
	return output.writeRepeats(s, reports.NewRepeats(runs), reports.WriteRepeats)
}
