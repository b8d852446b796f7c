package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/simulator/study"
)

// run simulates what was asked for, and prints and saves what came of it.
func (sim *simulation) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	course := &course{io: sim.io, screen: sim.screen, started: time.Now(), longest: sim.flags.maxTime}
	course.stop = &stopper{stopped: make(chan struct{}), abort: func() { course.aborted.Store(true) }}
	var watch sync.WaitGroup
	watch.Go(func() {
		course.stop.watch(ctx, sim.io.Interrupts(), func() {
			if sim.screen.kind() == "plain" {
				fmt.Fprintln(sim.io.Err, "stopping: what is in flight is simulated to its end; Ctrl-C again cuts it")
			}
		})
	})
	defer watch.Wait()
	defer cancel()
	switch {
	case sim.flags.optimize == "cost":
		return sim.runCheapest(ctx, course)
	case sim.flags.curve.wanted():
		return sim.runCurve(ctx, course)
	case sim.flags.variants.wanted():
		return sim.runVariants(ctx, course)
	}
	return sim.runOne(ctx, course)
}

// course is how the simulations of one call go on: until the user stops them, or
// the time is over.
type course struct {
	io      *iostreams.IO
	screen  screen
	stop    *stopper
	aborted atomic.Bool // by a second Ctrl-C
	started time.Time
	longest time.Duration // 0 is for ever
	late    atomic.Bool   // longest was over
}

// order is what the user and the clock want of a simulation.
func (c *course) order(p simulator.Progress) simulator.Order {
	switch {
	case c.aborted.Load():
		return simulator.EndAll
	case c.longest > 0 && time.Since(c.started) > c.longest:
		c.late.Store(true)
		return simulator.EndAll
	case c.stop.used() && !p.Ended:
		return simulator.EndSending
	}
	return simulator.GoOn
}

// over reports whether no further simulation is to begin.
func (c *course) over() bool { return c.stop.used() || c.late.Load() }

// ended implements study.Taps.Ended.
func (c *course) ended() (interrupted bool, why string) {
	if c.late.Load() {
		why = fmt.Sprintf("the simulation was ended after %s of this machine's time (--max-time); the report is of what was simulated until then", c.longest)
	}
	return c.stop.used(), why
}

// runOne simulates one scenario, as often as asked for.
func (sim *simulation) runOne(ctx context.Context, c *course) error {
	st, err := sim.study(sim.request)
	if err != nil {
		return err
	}
	sim.announce(st)
	f := sim.flags
	var variants []study.Variant
	var keepers []*simulationKeeper
	defer func() {
		for _, k := range keepers {
			k.abandon()
		}
	}()
	if err := sim.checkFolder(); err != nil {
		return err
	}
	steps, err := f.steps.open()
	if err != nil {
		return err
	}
	halves := []*study.Study{st}
	if st.Scenario().Experiment == experimentSharedPrefix {
		r := sim.request
		r.UniquePrefixes = true
		unique, err := sim.study(r)
		if err != nil {
			return err
		}
		halves = append(halves, unique)
	}
	progress := sim.newBatchView(c, f.repeat*len(halves))
	for i := range f.repeat {
		path := f.save
		if f.repeat > 1 && f.save != "" {
			path = filepath.Join(f.save, strconv.Itoa(i+1))
		}
		for half, st := range halves {
			if half > 0 && path != "" {
				path = filepath.Join(path, experimentUnique)
			}
			k, err := sim.newKeeper(path)
			if err != nil {
				return err
			}
			keepers = append(keepers, k)
			taps := progress.taps(st, k)
			if steps != nil {
				taps.Trace = steps
			}
			variants = append(variants, study.Variant{Study: st, Seed: f.seed + uint64(i), Taps: taps})
		}
	}
	all, err := study.All(ctx, variants, progress.done)
	progress.close()
	if err := errors.Join(err, steps.close(sim.say)); err != nil {
		return err
	}
	measured := all[:0:0]
	for i := 0; i < len(all); i += len(halves) {
		if all[i] == nil {
			continue // not begun any more
		}
		if len(halves) > 1 && all[i+1] != nil {
			all[i].Experiment = reports.NewExperiment(experimentSharedPrefix,
				reports.NamedReport{Name: experimentUnique, Report: all[i+1]}, reports.NamedReport{Name: "shared", Report: all[i]})
		}
		measured = append(measured, all[i])
	}
	if err := sim.show(measured); err != nil {
		return err
	}
	var verdicts []error
	for i, report := range all {
		if report != nil && i%len(halves) == 0 {
			verdicts = append(verdicts, judge(report.Verdict(), keepers[i].failed))
		}
	}
	if c.stop.used() {
		verdicts = append(verdicts, silent(exitInterrupted)) // whole runs before it do not hide it
	}
	return worst(verdicts)
}

// show writes the report of one simulation, or what several have in common.
func (sim *simulation) show(measured []*reports.Report) error {
	if len(measured) == 1 {
		return sim.flags.output.writeRun(sim.io, measured[0])
	}
	return sim.flags.output.writeRepeats(sim.io, reports.NewRepeats(measured), reports.WriteSpread)
}

// say tells something on standard error, unless nothing is to be said.
func (sim *simulation) say(format string, args ...any) {
	if !sim.flags.quiet {
		fmt.Fprintf(sim.io.Err, format, args...)
	}
}

// longRun is a number of requests from which on it is said beforehand how many
// there will be.
const longRun = 2_000_000

// announce says beforehand what may take long.
func (sim *simulation) announce(st *study.Study) {
	if n := st.Expected(); n >= longRun && sim.screen.kind() != "none" {
		fmt.Fprintf(sim.io.Err, "about %s requests will be simulated; --requests or --duration asks for fewer, --max-time bounds how long it takes\n", units.Count(n))
	}
}

// checkFolder refuses a folder of --save that holds something else.
func (sim *simulation) checkFolder() error {
	dir := sim.flags.save
	switch {
	case dir == "":
		return nil
	case exists(filepath.Join(dir, curveFile)):
		return usagef("saving to %s: it holds the runs of a sweep or a search, expected another folder", dir)
	case sim.flags.repeat > 1 && exists(filepath.Join(dir, record.RunFile)):
		return usagef("saving to %s: it already holds a run, expected a directory for %d of them", dir, sim.flags.repeat)
	}
	return nil
}

// checkSeveral refuses what contradicts itself among the flags that simulate more
// than one scenario, and puts the first load of a sweep into the scenario.
func (f *simulateFlags) checkSeveral(cmd *cobra.Command, sc *profiles.Scenario) error {
	switch f.optimize {
	case "", "cost":
	case "rate":
		f.curve.find = true
	default:
		return fmt.Errorf("--optimize: unknown choice %q, expected rate or cost%s", f.optimize, profiles.DidYouMean(f.optimize, []string{"rate", "cost"}))
	}
	compared := sc.Compare
	sc.Compare = nil // each variant is kept as a scenario of its own
	if f.optimize == "cost" || f.curve.find {
		compared = nil // the flag decides what is simulated
	}
	if err := f.variants.parse(&f.curve, compared); err != nil {
		return err
	}
	several := 0
	for _, asked := range []bool{f.optimize == "cost", f.curve.find, f.curve.sweepText != "", f.variants.wanted()} {
		if asked {
			several++
		}
	}
	if several > 1 {
		return errors.New("--sweep, --find-goodput, --optimize and --compare each decide what is simulated; give one of them")
	}
	if f.curve.wanted() {
		var chosen time.Duration // by the load, further on
		if err := f.curve.check(cmd, &chosen, "experiment"); err != nil {
			return err
		}
		if !f.curve.find || sc.Workload.Arrival != (profiles.Arrival{}) {
			if err := f.curve.firstLoad(sc); err != nil {
				return err
			}
		}
	} else if err := f.curve.check(cmd, nil); err != nil {
		return err
	}
	if experiment := sc.Experiment == experimentSharedPrefix; f.steps.path != "" && (several > 0 || f.repeat > 1 || experiment) {
		return errors.New("--trace-out is for a single simulation, and several were asked for; give one of them")
	}
	if several == 0 {
		return nil
	}
	if f.optimize == "cost" && sc.Workload.Arrival.ClosedLoop() {
		return errors.New("--optimize cost looks for the cheapest cluster at a rate; give one with --rps")
	}
	if f.optimize == "cost" {
		switch {
		case cmd.Flags().Changed("replicas"):
			return fmt.Errorf("--replicas %d: --optimize cost finds the number of replicas; leave it out, or bound it by the accelerators at hand with --count", sc.Cluster.Replicas)
		case len(sc.Cluster.Pools) > 0:
			return errors.New("--optimize cost looks for a number of equal replicas, and the scenario says its pools; leave cluster.pools out, or try numbers of theirs with --compare")
		case len(f.asserts) > 0:
			return fmt.Errorf("--assert %q: --optimize cost judges clusters by the objective alone; give it with --slo", f.asserts[0])
		case f.save != "":
			return errors.New("--save: --optimize cost keeps no runs; simulate the cluster that it names with --save, or write the trials to a file with -o json")
		}
	}
	return f.curve.checkAsserts(f.asserts)
}
