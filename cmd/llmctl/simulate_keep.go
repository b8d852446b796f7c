package main

import (
	"fmt"
	"path/filepath"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// simulationKeeper keeps one simulation in a run directory, or nowhere. It
// implements study.Keeper.
type simulationKeeper struct {
	dir     *record.Dir
	say     func(path string) // that a run was saved
	started bool
	failed  error // why the run is not on disk as it was asked to be
}

// newKeeper makes the run directory at path, unless path is empty.
func (sim *simulation) newKeeper(path string) (*simulationKeeper, error) {
	k := &simulationKeeper{say: func(string) {}}
	if path == "" {
		return k, nil
	}
	dir, err := record.CreateDir(path)
	if err != nil {
		return nil, usage(err)
	}
	dir.FlushBySize()
	k.dir = dir
	if !sim.flags.quiet && !sim.flags.curve.wanted() {
		k.say = func(path string) {
			fmt.Fprintf(sim.io.Err, "saved to %s; read it again with: llmctl report %[1]s\n", filepath.Clean(path))
		}
	}
	return k, nil
}

// Begin implements study.Keeper: even a killed run can be read.
func (k *simulationKeeper) Begin(run record.Run) error {
	if k.dir == nil {
		return nil
	}
	k.started = true
	if err := k.dir.WriteRun(run, nil); err != nil {
		return fmt.Errorf("saving the run: %w", err)
	}
	return nil
}

// Add implements study.Keeper.
func (k *simulationKeeper) Add(r *record.Record) {
	if k.dir != nil {
		_ = k.dir.Add(r) // a full disk keeps the line in memory, and Close tells
	}
}

// End implements study.Keeper. A disk that is full does not cost the report.
func (k *simulationKeeper) End(run record.Run, report *reports.Report) {
	if k.dir == nil {
		return
	}
	dir := k.dir
	k.dir = nil
	if k.failed = dir.Close(); k.failed == nil {
		k.failed = writeRun(dir, run, report)
	}
	if k.failed != nil {
		report.Warnings = append(report.Warnings, record.Warning{Code: "not_saved", Text: "the run could not be saved whole: " + k.failed.Error()})
		return
	}
	k.say(dir.Path())
}

// abandon frees what a simulation took that did not end.
func (k *simulationKeeper) abandon() {
	if k.dir != nil {
		abandon(k.dir, k.started)
	}
}
