package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// keeper holds the records of one run, in memory and, when asked to, on disk as
// they come.
type keeper struct {
	bench   *bench
	records []*record.Record
	dir     *record.Dir // nil when the run is not saved
	started bool        // something was written that is worth keeping
	failed  error       // why the run is not on disk as it was asked to be
}

// newKeeper makes the run directory at path, unless path is empty. A directory
// that can not be used is found here, before anything has been started.
func (b *bench) newKeeper(path string) (*keeper, error) {
	k := &keeper{bench: b}
	if path == "" {
		return k, nil
	}
	dir, err := record.CreateDir(path)
	if err != nil {
		return nil, usage(err)
	}
	k.dir = dir
	return k, nil
}

// beside is where another run of the same bench is kept: a folder inside of
// this one, or nowhere.
func (k *keeper) beside(name string) string {
	if k.dir == nil {
		return ""
	}
	return filepath.Join(k.dir.Path(), name)
}

// start writes what is known before the run, so that even a killed one can be
// read.
func (k *keeper) start(v variant, t target) error {
	if k.dir == nil {
		return nil
	}
	b := k.bench
	run := record.Run{
		Window:       record.Window{Start: b.flags.warmup},
		ClosedLoop:   b.scenario.Workload.Arrival.ClosedLoop(),
		SharedPrefix: b.scenario.Workload.Prefix.Groups > 0 && !v.unique,
		Client:       record.Client{CPUFraction: -1},
		Environment:  record.Environment{Start: time.Now()},
	}
	if b.flags.requests == 0 {
		run.Window.End = b.flags.warmup + b.flags.duration
	}
	if err := b.facts(&run, v, t); err != nil {
		return err
	}
	k.started = true
	if err := k.dir.WriteRun(run, nil); err != nil {
		return fmt.Errorf("saving the run: %w", err)
	}
	return nil
}

func (k *keeper) add(r *record.Record) {
	k.records = append(k.records, r)
	if k.dir != nil {
		_ = k.dir.Add(r) // a full disk keeps the line in memory, and Close tells
	}
}

// finish sums the run up and completes the run directory. A disk that is full
// does not cost the report: failed says what was lost.
func (k *keeper) finish(run record.Run, v variant) *reports.Report {
	report := reports.Summarize(run, slices.Values(k.records))
	if v.base != nil {
		report.Experiment = reports.NewExperiment(experimentSharedPrefix,
			reports.NamedReport{Name: experimentUnique, Report: v.base}, reports.NamedReport{Name: "shared", Report: report})
	}
	if k.dir == nil {
		return report
	}
	if k.failed = k.save(run, report); k.failed != nil {
		report.Warnings = append(report.Warnings, record.Warning{Code: "not_saved", Text: "the run could not be saved whole: " + k.failed.Error()})
	}
	return report
}

func (k *keeper) save(run record.Run, report *reports.Report) error {
	dir := k.dir
	k.dir = nil
	if err := dir.Close(); err != nil {
		return err
	}
	doc, err := report.JSON()
	if err != nil {
		return err
	}
	if err := dir.WriteRun(run, doc); err != nil {
		return err
	}
	if !k.bench.flags.quiet {
		fmt.Fprintf(k.bench.io.Err, "saved to %s; read it again with: llmctl report %[1]s\n", filepath.Clean(dir.Path()))
	}
	return nil
}

// abandon closes the directory of a run that did not finish, and takes it away
// when the run did not even begin. The error that ended the run is the one to
// tell, so none of its own is.
func (k *keeper) abandon() {
	if k.dir == nil {
		return
	}
	_ = k.dir.Close()
	if !k.started {
		_ = os.Remove(filepath.Join(k.dir.Path(), record.RecordsFile))
		_ = os.Remove(k.dir.Path()) // only if nothing else is in it
	}
}
