package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// keeper holds the records of one run on disk as they come: in a directory when
// that was asked for, else where nobody sees them, until they are summed up. A run
// of a million requests takes no more memory than a short one.
type keeper struct {
	bench   *bench
	log     log
	dir     *record.Dir // nil when the run is not saved
	started bool        // something was written that is worth keeping
	failed  error       // why the run is not on disk as it was asked to be
}

// log is where records go and come from.
type log interface {
	Add(*record.Record) error
	Close() error
	// ReadBack yields what was added, after Close.
	ReadBack(yield func(*record.Record) bool) error
}

// newKeeper makes the run directory at path, unless path is empty. A directory
// that can not be used is found here, before anything has been started.
func (b *bench) newKeeper(path string) (*keeper, error) {
	if path == "" {
		return &keeper{bench: b, log: record.NewSpool()}, nil
	}
	dir, err := record.CreateDir(path)
	if err != nil {
		return nil, usage(err)
	}
	return &keeper{bench: b, log: dir, dir: dir}, nil
}

// newKeepers makes one keeper for each repeat: in the directory of --save, or in
// numbered ones inside of it when there are several.
func (b *bench) newKeepers() (keepers []*keeper, err error) {
	dir, n := b.flags.save, b.flags.phases.repeat
	if dir != "" && exists(filepath.Join(dir, curveFile)) {
		return nil, usagef("saving to %s: it holds the runs of a sweep or a search, expected another folder", dir)
	}
	if n > 1 && dir != "" {
		if _, err := os.Stat(filepath.Join(dir, record.RunFile)); err == nil {
			return nil, usagef("saving to %s: it already holds a run, expected a directory for %d of them", dir, n)
		}
	}
	for i := range n {
		path := dir
		if n > 1 && dir != "" {
			path = filepath.Join(dir, strconv.Itoa(i+1))
		}
		k, err := b.newKeeper(path)
		if err != nil {
			return keepers, err
		}
		keepers = append(keepers, k)
	}
	return keepers, nil
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
		Shard:        b.flags.phases.shard.i,
		Shards:       b.flags.phases.shard.n,
		StartAt:      b.flags.phases.startAt,
	}
	if lasts := b.lasts(); lasts > 0 {
		run.Window.End = b.flags.warmup + lasts
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

func (k *keeper) add(r *record.Record) { _ = k.log.Add(r) } // a full disk keeps the line in memory, and Close tells

// finish sums the run up and completes the run directory. A disk that is full
// does not cost the report: failed says what was lost.
func (k *keeper) finish(run record.Run, v variant) *reports.Report {
	notWritten := k.log.Close()
	var notRead error
	report := reports.Summarize(run, func(yield func(*record.Record) bool) { notRead = k.log.ReadBack(yield) })
	if notRead != nil {
		report.Warnings = append(report.Warnings, record.Warning{Code: record.RecordsDamaged, Text: notRead.Error()})
	}
	if v.base != nil {
		report.Experiment = reports.NewExperiment(experimentSharedPrefix,
			reports.NamedReport{Name: experimentUnique, Report: v.base}, reports.NamedReport{Name: "shared", Report: report})
	}
	if k.dir == nil {
		return report
	}
	if k.failed = notWritten; k.failed == nil {
		k.failed = k.save(run, report)
	}
	if k.failed != nil {
		report.Warnings = append(report.Warnings, record.Warning{Code: "not_saved", Text: "the run could not be saved whole: " + k.failed.Error()})
	}
	return report
}

// save writes the report beside the records.
func (k *keeper) save(run record.Run, report *reports.Report) error {
	dir := k.dir
	k.dir = nil
	if err := writeRun(dir, run, report); err != nil {
		return err
	}
	if !k.bench.flags.quiet && k.bench.shared == nil {
		fmt.Fprintf(k.bench.io.Err, "saved to %s; read it again with: llmctl report %[1]s\n", filepath.Clean(dir.Path()))
	}
	return nil
}

// abandon frees what the run took, closes the directory of one that did not
// finish, and takes it away when the run did not even begin. The error that ended
// the run is the one to tell, so none of its own is.
func (k *keeper) abandon() {
	if spool, ok := k.log.(*record.Spool); ok {
		spool.Remove()
	}
	if k.dir == nil {
		return
	}
	abandon(k.dir, k.started)
}

// abandon closes a directory, and takes it away when nothing was written that is
// worth keeping.
func abandon(dir *record.Dir, started bool) {
	_ = dir.Close()
	if !started {
		_ = os.Remove(filepath.Join(dir.Path(), record.RecordsFile))
		_ = os.Remove(dir.Path()) // only if nothing else is in it
	}
}

// writeRun writes the report beside the records.
func writeRun(dir *record.Dir, run record.Run, report *reports.Report) error {
	doc, err := report.JSON()
	if err != nil {
		return err
	}
	return dir.WriteRun(run, doc)
}
