package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/llmctl/llmctl/loadgen/search"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator/study"
)

// simulatedCurve is a sweep or a search over simulations.
type simulatedCurve struct {
	sim    *simulation
	course *course
	base   *study.Study
	curve  *reports.Curve
	view   *batchView
	runs   int // folders that are taken
}

// openLength stands for the length of the runs of a search whose length is chosen
// for each load.
const openLength = 10_000 * time.Second

// runCurve simulates at one load after another, and prints the curve.
func (sim *simulation) runCurve(ctx context.Context, c *course) error {
	f := sim.flags
	st, err := sim.study(sim.request)
	if err != nil {
		return err
	}
	length := f.length.Duration
	if length == 0 {
		length = openLength
	}
	if err := f.curve.checkLimits(st.Scenario().Workload.Arrival, length, f.seed); err != nil {
		return usage(err)
	}
	if err := checkCurveFolder(f.save, false, "expected another folder (llmctl report shows it)"); err != nil {
		return err
	}
	run, err := st.Facts(f.seed)
	if err != nil {
		return err
	}
	sc := &simulatedCurve{sim: sim, course: c, base: st, view: sim.newBatchView(c, 0), curve: &reports.Curve{
		Schema: reports.CurveSchema, Kind: reports.SweepCurve, Axis: f.curve.axis(st.Scenario().Workload.Arrival), Asked: sim.askedCurve(st, run.Asked), Setup: run.Setup,
		Defaults: run.Defaults, Scenario: run.Scenario, Target: run.Target, Environment: run.Environment, Warnings: []record.Warning{},
	}}
	sc.curve.Warnings = append(sc.curve.Warnings, run.Warnings...)
	if f.curve.find {
		sc.curve.Kind = reports.LimitCurve
	}
	failed := sc.simulate(ctx)
	sc.view.close()
	if failed != nil {
		return failed
	}
	sc.curve.Interrupted = c.stop.used()
	if err := saveCurve(f.save, sc.curve); err != nil {
		return err
	}
	if err := writeCurve(sim.io, &f.output, sc.curve); err != nil {
		return err
	}
	return judgeCurve(sc.curve, f.asserts, sim.sloGiven)
}

// askedCurve says in one line what is simulated.
func (sim *simulation) askedCurve(st *study.Study, asked string) string {
	if sim.flags.curve.find {
		return "search of the largest load that meets " + objectives(st.Objectives()) + "; first " + asked
	}
	return "sweep of " + sim.flags.curve.sweepText + "; first " + asked
}

// simulate makes one batch of simulations after another.
func (c *simulatedCurve) simulate(ctx context.Context) error {
	for !c.course.over() {
		loads, why := c.next()
		if len(loads) == 0 {
			c.curve.Ended = why
			return nil
		}
		if err := c.batch(ctx, loads); err != nil {
			return err
		}
	}
	if c.course.late.Load() {
		c.curve.Ended = fmt.Sprintf("%s of this machine's time were over (--max-time)", c.course.longest)
	}
	return nil
}

// next are the loads of the next batch, which does not depend on the number of
// processors: all of a sweep, or as many runs of a search as it needs next to the
// limit.
func (c *simulatedCurve) next() (loads []float64, why string) {
	f := c.sim.flags
	if f.curve.find {
		step := search.Next(c.curve.SearchPoints(), f.curve.limits)
		if step.Done {
			return nil, step.Why
		}
		for c.repeats(step.Load)+len(loads) < f.curve.repeats || len(loads) == 0 {
			loads = append(loads, step.Load)
		}
		return loads, ""
	}
	if len(c.curve.Points) > 0 {
		return nil, ""
	}
	for _, load := range f.curve.sweep.Loads {
		for range f.repeat {
			loads = append(loads, load)
		}
	}
	return loads, ""
}

// repeats is how often a load has been simulated already.
func (c *simulatedCurve) repeats(load float64) (n int) {
	for _, p := range c.curve.Points {
		if p.Load == load {
			n++
		}
	}
	return n
}

// batch simulates once at each of the loads. Each further time at a load has a
// seed of its own.
func (c *simulatedCurve) batch(ctx context.Context, loads []float64) error {
	f := c.sim.flags
	var variants []study.Variant
	var names []string
	var keepers []*simulationKeeper
	defer func() {
		for _, k := range keepers {
			k.abandon()
		}
	}()
	times := map[float64]int{}
	for _, load := range loads {
		st, err := c.base.At(load, f.length)
		if err != nil {
			return err
		}
		name, path := c.folder()
		k, err := c.sim.newKeeper(path)
		if err != nil {
			return err
		}
		keepers, names = append(keepers, k), append(names, name)
		seed := f.seed + uint64(c.repeats(load)+times[load])
		times[load]++
		variants = append(variants, study.Variant{Study: st.Unjudged(), Seed: seed, Taps: c.view.taps(st, k)})
	}
	all, err := study.All(ctx, variants, c.view.done)
	if err != nil || c.course.over() {
		return err // half a run is no point
	}
	for i, r := range all {
		if keepers[i].failed != nil {
			return fmt.Errorf("saving a run: %w", keepers[i].failed)
		}
		c.curve.Add(reports.NewCurvePoint(loads[i], names[i], r), f.seed)
	}
	return nil
}

// folder is the name and the path of the next run's folder; both are empty when
// nothing is saved.
func (c *simulatedCurve) folder() (name, path string) {
	if c.sim.flags.save == "" {
		return "", ""
	}
	c.runs++
	name = fmt.Sprintf("%03d", c.runs)
	return name, filepath.Join(c.sim.flags.save, name)
}
