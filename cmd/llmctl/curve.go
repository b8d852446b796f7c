package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/loadgen/search"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// curveFile is where a sweep or a search keeps its points, beside the folders of
// its runs.
const curveFile = "curve.json"

// maxCurveFile bounds what is read of one: thousands of points.
const maxCurveFile = 64 << 20

// curveRun is a sweep or a search in progress.
type curveRun struct {
	bench *bench
	curve *reports.Curve
	view  view
	seen  int // folders that are taken
}

// runCurve measures at one load after another, keeps each run and the curve so
// far, and prints the curve.
func (b *bench) runCurve(ctx context.Context, stop *stopper) error {
	if err := checkCurveFolder(b.flags.save, b.flags.curve.resume, "bench --resume goes on with it"); err != nil {
		return err
	}
	t, closeTarget, err := b.prepared(ctx, stop)
	if err != nil {
		return err
	}
	defer closeTarget()
	c, err := b.newCurve(t)
	if err != nil {
		return err
	}
	c.view = b.newView("", stop)
	failed := c.measure(ctx, stop, t)
	c.view.close()
	c.curve.Interrupted = stop.used()
	if len(c.curve.Points) == 0 && failed != nil {
		return failed
	}
	if err := c.save(); err != nil {
		failed = errors.Join(failed, err)
	}
	if err := writeCurve(b.io, &b.flags.output, c.curve); err != nil {
		return err
	}
	return worst([]error{failed, judgeCurve(c.curve, b.asserts, b.sloGiven)})
}

// newCurve begins a curve, or takes up the one of --resume.
func (b *bench) newCurve(t target) (*curveRun, error) {
	f := &b.flags.curve
	c := &curveRun{bench: b}
	var run record.Run
	if err := b.facts(&run, variant{id: b.id}, t); err != nil {
		return nil, err
	}
	arrival := b.scenario.Workload.Arrival
	c.curve = &reports.Curve{
		Schema: reports.CurveSchema, Kind: reports.SweepCurve, ID: b.id, Axis: f.axis(arrival), Asked: b.askedCurve(), Setup: run.Setup,
		Defaults: b.defaults, Scenario: run.Scenario, Target: run.Target, Environment: environment(run.Environment.Start), Warnings: []record.Warning{},
	}
	c.curve.Warnings = append(c.curve.Warnings, b.warnings...)
	if f.find {
		c.curve.Kind = reports.LimitCurve
	}
	if b.flags.curve.resume {
		if err := c.takeUp(filepath.Join(b.flags.save, curveFile)); err != nil {
			return nil, usagef("resuming %s: %w", b.flags.save, err)
		}
	}
	return c, nil
}

// askedCurve says in one line what is measured.
func (b *bench) askedCurve() string {
	f := &b.flags.curve
	how := "sweep of " + f.sweepText
	if f.find {
		how = "search of the largest load that meets " + objectives(b.scenario.SLO)
	}
	return fmt.Sprintf("%s, %s arrivals, %s; each for %s; %s%s", b.scenario.Workload.Name, b.scenario.Workload.Arrival.Process, how, b.flags.duration, b.scenario.Workload.RequestWords(), b.apiText())
}

func objectives(slos []profiles.SLO) string {
	var texts []string
	for _, s := range slos {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, " and ")
}

// checkCurveFolder makes the folder of --save ready, before anything has been
// started: an empty one, or that of a curve to go on with. instead is what to do about
// a curve that is there already.
func checkCurveFolder(dir string, resume bool, instead string) error {
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, curveFile)
	if _, err := os.Stat(filepath.Join(dir, record.RunFile)); err == nil {
		return usagef("saving to %s: it already holds a run, expected a folder for several", dir)
	}
	switch _, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist) && resume:
		return usagef("resuming %s: it holds no %s", dir, curveFile)
	case err == nil && !resume:
		return usagef("saving to %s: it already holds a curve; %s", dir, instead)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usagef("saving to %s: %w", dir, err)
	}
	if err := atomicfile.Check(path); err != nil {
		return usagef("saving to %s: %w", dir, err)
	}
	if resume {
		return nil
	}
	// Of several processes that were given the same folder one makes the file.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return usagef("saving to %s: %w", dir, err)
	}
	_, err = fmt.Fprintf(file, "{%q: %q, \"points\": [], \"warnings\": []}\n", "schema", reports.CurveSchema)
	return errors.Join(err, file.Close())
}

// takeUp reads the points of a saved curve that was measured in the same way.
func (c *curveRun) takeUp(path string) error {
	data, err := userfile.Read(path, maxCurveFile)
	if err != nil {
		return err
	}
	old, err := reports.ParseCurve(data)
	if err != nil {
		return err
	}
	if old.Kind == "" {
		return nil // begun, and stopped before its first point
	}
	switch now := c.curve; {
	case old.Kind != now.Kind || old.Axis != now.Axis:
		return fmt.Errorf("it is a %s of %s, and this is a %s of %s", old.Kind, old.Axis, now.Kind, now.Axis)
	case old.Target.Model != now.Target.Model || !old.Target.Bundled && old.Target.Endpoint != now.Target.Endpoint:
		return fmt.Errorf("it measured %s at %s", old.Target.Model, old.Target.Endpoint)
	case old.Setup != now.Setup:
		return fmt.Errorf("it was measured in another way: %s; now %s", old.Setup, now.Setup)
	case !old.SameScenario(now):
		return errors.New("its scenario is another one")
	}
	for _, p := range old.Points {
		c.curve.Add(p, c.bench.flags.seed)
	}
	c.curve.ID = old.ID
	return nil
}

// measure makes one run after another until there is nothing more to do.
func (c *curveRun) measure(ctx context.Context, stop *stopper, t target) error {
	for {
		step := c.next()
		if step.Done {
			c.curve.Ended = step.Why
			return nil
		}
		if c.bench.progress() == "plain" {
			fmt.Fprintf(c.bench.io.Err, "run %d, %s: %s\n", len(c.curve.Points)+1, c.curve.LoadText(step.Load), step.Why)
		}
		point, err := c.point(ctx, stop, t, step.Load)
		if err != nil {
			return err
		}
		select {
		case <-t.died():
			return t.child.failed()
		default:
		}
		if stop.used() {
			return nil // half a run is no point
		}
		if point.Unreachable {
			return c.bench.unreachable(ctx, t)
		}
		c.curve.Add(point, c.bench.flags.seed)
		if c.bench.progress() == "plain" {
			fmt.Fprintln(c.bench.io.Err, reports.CurveLine(c.curve, point))
		}
		if err := c.save(); err != nil {
			return err
		}
	}
}

// next is the load to measure at.
func (c *curveRun) next() search.Step {
	f := &c.bench.flags.curve
	if f.find {
		return search.Next(c.curve.SearchPoints(), f.limits)
	}
	repeats := c.bench.flags.phases.repeat
	for _, load := range f.sweep.Loads {
		if n := c.repeat(load); n < repeats {
			return search.Step{Load: load, Why: fmt.Sprintf("%d of %d at this load", n+1, repeats)}
		}
	}
	return search.Step{Done: true}
}

// point makes one run.
func (c *curveRun) point(ctx context.Context, stop *stopper, t target, load float64) (reports.CurvePoint, error) {
	b := c.bench.at(load, c.repeat(load))
	b.shared = c.sharedView(load)
	name, path := c.folder()
	k, err := b.newKeeper(path)
	if err != nil {
		return reports.CurvePoint{}, err
	}
	defer k.abandon()
	report, err := b.once(ctx, stop, t, variant{id: b.id}, k)
	if err != nil {
		return reports.CurvePoint{}, err
	}
	return reports.NewCurvePoint(load, name, report), nil
}

// repeat is how often a load has been measured already.
func (c *curveRun) repeat(load float64) (n int) {
	for _, p := range c.curve.Points {
		if p.Load == load {
			n++
		}
	}
	return n
}

// at is the bench at another load, with prompts of its own. Each repeat has a seed
// of its own too, so that the chance of arrivals and lengths is part of what
// repeats differ by.
func (b *bench) at(load float64, repeat int) *bench {
	other, flags := *b, *b.flags
	flags.seed += uint64(repeat)
	other.flags = &flags
	other.id = newID()
	setLoad(&other.scenario.Workload.Arrival, load)
	other.asserts = nil // they are of the curve
	return &other
}

// folder is the name and the path of the next run's folder, which holds nothing
// yet, not even what a killed run left; both are empty when nothing is saved.
func (c *curveRun) folder() (name, path string) {
	dir := c.bench.flags.save
	if dir == "" {
		return "", ""
	}
	for {
		c.seen++
		name = fmt.Sprintf("%03d", c.seen)
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return name, filepath.Join(dir, name)
		}
	}
}

// sharedView shows a run as a part of the curve.
func (c *curveRun) sharedView(load float64) *view {
	var points []record.LivePoint
	for _, p := range c.curve.Points {
		points = append(points, p.Live())
	}
	return &view{
		show: func(l record.Live) {
			l.Load, l.Curve = load, points
			c.view.show(l)
		},
		close: func() {},
	}
}

// save keeps the curve so far, so that --resume can go on from there.
func (c *curveRun) save() error { return saveCurve(c.bench.flags.save, c.curve) }

// saveCurve writes a curve beside its runs; nowhere when no folder is named.
func saveCurve(dir string, c *reports.Curve) error {
	if dir == "" {
		return nil
	}
	doc, err := c.JSON()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, curveFile), doc); err != nil {
		return fmt.Errorf("saving the curve: %w", err)
	}
	return nil
}

// judgeCurve turns a curve into an exit code.
func judgeCurve(c *reports.Curve, asserts []string, sloGiven bool) error {
	if c.Interrupted {
		return silent(exitInterrupted)
	}
	if why := c.Doubt(); why != "" {
		return &failure{code: exitUntrusted, err: errors.New(why)}
	}
	for _, text := range asserts {
		if why := c.AssertGoodput(text); why != "" {
			return &failure{code: exitNotHeld, err: errors.New(why)}
		}
	}
	if c.Limit == nil && sloGiven {
		return &failure{code: exitNotHeld, err: errors.New("no load met the objective")}
	}
	return nil
}
