package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// keeper holds the records of one run, in memory and, when asked to, on disk as
// they come.
type keeper struct {
	bench   *bench
	records []*record.Record
	dir     *record.Dir // nil when the run is not saved
}

// newKeeper starts a run directory at path, unless path is empty. What is known
// already is written at once, so that even a killed run can be read.
func (b *bench) newKeeper(path string, t target) (*keeper, error) {
	k := &keeper{bench: b}
	if path == "" {
		return k, nil
	}
	dir, err := record.CreateDir(path)
	if err != nil {
		return nil, usage(err)
	}
	k.dir = dir
	var run record.Run
	if err := b.facts(&run); err != nil {
		return nil, err
	}
	run.Target = record.Target{Endpoint: t.endpoint, Model: t.model, Bundled: t.bundled, Device: t.device}
	return k, dir.WriteRun(run, nil)
}

func (k *keeper) add(r *record.Record) {
	k.records = append(k.records, r)
	if k.dir != nil {
		k.dir.Add(r)
	}
}

// finish sums the run up and completes the run directory. A disk that is full
// does not cost the report: the error comes beside it.
func (k *keeper) finish(run record.Run, v variant) (*reports.Report, error) {
	report := reports.Summarize(run, slices.Values(k.records))
	if v.base != nil {
		report.Experiment = reports.NewExperiment(experimentSharedPrefix,
			reports.NamedReport{Name: "unique", Report: v.base}, reports.NamedReport{Name: "shared", Report: report})
	}
	if k.dir == nil {
		return report, nil
	}
	if err := k.save(run, report); err != nil {
		fmt.Fprintf(k.bench.io.Err, "warning: saving the run: %v\n", err)
		report.Warnings = append(report.Warnings, record.Warning{Code: "not_saved", Text: "the run could not be saved whole: " + err.Error()})
	}
	return report, nil
}

func (k *keeper) save(run record.Run, report *reports.Report) error {
	dir := k.dir
	k.dir = nil
	doc, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if err := dir.Close(); err != nil {
		return err
	}
	if err := dir.WriteRun(run, doc); err != nil {
		return err
	}
	if !k.bench.flags.quiet {
		fmt.Fprintf(k.bench.io.Err, "saved to %s; read it again with: llmctl report %s\n", dir.Path(), filepath.Clean(dir.Path()))
	}
	return nil
}

// abandon closes the directory of a run that did not finish.
func (k *keeper) abandon() {
	if k.dir != nil {
		_ = k.dir.Close() // the error that ended the run is the one to tell
	}
}
