package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/loadgen/workload/trace"
	"github.com/llmctl/llmctl/profiles"
)

// traceFlags are the flags of bench and size about a workload that was recorded.
type traceFlags struct {
	strict          bool
	start, duration time.Duration

	loaded   bool
	sessions []workload.Session
}

func (f *traceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.strict, "trace-strict", false, "refuse a trace with a broken row (default: skip and report up to 1% of them)")
	flags.DurationVar(&f.start, "trace-start", 0, "begin this long after the first row of the trace")
	flags.DurationVar(&f.duration, "trace-duration", 0, "length of the part of the trace, in its own time (default: to its end)")
}

// check refuses what contradicts itself.
func (f *traceFlags) check(cmd *cobra.Command, w profiles.Workload) error {
	for _, name := range []string{"trace-strict", "trace-start", "trace-duration"} {
		if w.Trace.File == "" && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no effect here: the workload has no trace", name)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"--trace-start", f.start}, {"--trace-duration", f.duration}} {
		if d.value < 0 {
			return fmt.Errorf("%s %s is negative", d.flag, d.value)
		}
	}
	return nil
}

// load reads the trace of a workload. The report is nil where there is none.
func (f *traceFlags) load(w profiles.Workload) ([]workload.Session, *trace.Report, error) {
	sessions, report, err := trace.Load(w.Trace.File, trace.Options{
		Format: w.Trace.Format, Strict: f.strict, Start: f.start, Duration: f.duration,
	})
	if err == nil && report.Timed && w.Arrival.Process != profiles.TraceArrival && w.Arrival.Process != "" {
		report.Notes = append(report.Notes, "the recorded times at which sessions begin are not used: they begin as the arrivals say, "+w.Arrival.Words())
	}
	return sessions, report, err
}

// recorded are the sessions of the workload's trace, nil when it has none. The
// file is read once, and what was skipped or assumed becomes warnings of the run.
func (b *bench) recorded() ([]workload.Session, error) {
	w, f := b.scenario.Workload, &b.flags.trace
	if w.Trace.File == "" || f.loaded {
		return f.sessions, nil
	}
	sessions, report, err := f.load(w)
	if report != nil {
		for _, text := range report.Skipped() {
			b.warn("trace_skipped", "%s", text)
		}
	}
	if err != nil {
		return nil, err
	}
	if w.Arrival.Process == profiles.TraceArrival && !report.Timed {
		return nil, fmt.Errorf("trace %s has no times to replay; ask for another arrival process: --concurrency 8, or --arrival poisson --rps 4", w.Trace.File)
	}
	if err := outlasts(b.flags.warmup, w.Arrival, sessions); err != nil {
		return nil, err
	}
	for _, text := range report.Notes {
		b.warn("trace_assumed", "trace %s: %s", w.Trace.File, text)
	}
	f.sessions, f.loaded = sessions, true
	return sessions, nil
}

// outlasts refuses a warm-up after which nothing of a trace is left to measure.
// How long sessions of several requests take is not known before.
func outlasts(warmup time.Duration, a profiles.Arrival, sessions []workload.Session) error {
	several := func(s workload.Session) bool { return len(s.Turns) > 1 }
	if a.Process != profiles.TraceArrival || len(sessions) == 0 || slices.ContainsFunc(sessions, several) {
		return nil
	}
	last := time.Duration(float64(sessions[len(sessions)-1].Offset-sessions[0].Offset) / cmp.Or(a.Speed, 1))
	if warmup <= last {
		return nil
	}
	return fmt.Errorf("--warmup %s is longer than the trace, whose last request comes after %s: nothing would be measured", warmup, units.Duration(last))
}
