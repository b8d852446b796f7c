package study

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
)

// Keeper is told what happens in one simulation, to keep it. It is called by the
// goroutine that simulates.
type Keeper interface {
	// Begin is called before the first record, with what is known by then.
	Begin(record.Run) error
	Add(*record.Record) // valid until Add returns
	End(record.Run, *reports.Report)
}

// Taps are what others have of a simulation while it lasts. All may be nil.
type Taps struct {
	Watch func(simulator.Progress) simulator.Order
	Keep  Keeper
	Trace simulator.Observer
	// Record is shown each request as it ends.
	Record func(*record.Record)
	// Ended tells, after the end, whether Watch ended the run: for the user, or for
	// a reason that the report warns of.
	Ended func() (interrupted bool, why string)
}

// Run simulates the scenario with a seed.
func (s *Study) Run(ctx context.Context, seed uint64) (*reports.Report, error) {
	return s.Simulate(ctx, seed, Taps{})
}

// Simulate is Run for who wants to see what happens.
func (s *Study) Simulate(ctx context.Context, seed uint64, taps Taps) (*reports.Report, error) {
	run, err := s.Facts(seed)
	if err != nil {
		return nil, err
	}
	config, err := s.config(seed)
	if err != nil {
		return nil, err
	}
	if taps.Keep != nil {
		if err := taps.Keep.Begin(run); err != nil {
			return nil, err
		}
	}
	end := &earlyEnd{study: s, watch: taps.Watch}
	config.Watch, config.Trace = end.order, taps.Trace
	collector := reports.NewCollector(run)
	emit := func(r *record.Record) {
		end.saw(r)
		collector.Add(r)
		if taps.Keep != nil {
			taps.Keep.Add(r)
		}
		if taps.Record != nil {
			taps.Record(r)
		}
	}
	result, err := simulator.Run(ctx, config, func(w record.Window) {
		run.Window = w
		collector.SetRun(run)
	}, emit)
	if err != nil {
		return nil, err
	}
	run.Server, run.Spent, run.Gateway = result.Server, result.Spent, result.Gateway
	run.Cost.USDPerHour = result.USDPerHour
	run.Warnings = slices.Concat(end.warnings, run.Warnings) // why it ended comes first
	if taps.Ended != nil {
		var why string
		if run.Interrupted, why = taps.Ended(); why != "" {
			run.Warnings = append(run.Warnings, record.Warning{Code: record.Aborted, Text: why})
		}
	}
	collector.SetRun(run)
	report := collector.Report()
	if taps.Keep != nil {
		taps.Keep.End(run, report)
	}
	return report, nil
}

// config is what is simulated with a seed.
func (s *Study) config(seed uint64) (simulator.Config, error) {
	sc, l := s.request.Sizing.Scenario, s.request.Length
	c := simulator.Config{
		Pools: s.pools, Cluster: sc.Cluster, Seed: seed,
		Warmup: l.Warmup, Duration: l.Duration, Requests: l.Requests, Drain: l.Drain,
	}
	for i := range 1 + len(sc.Also) {
		stream, err := s.stream(i, seed)
		if err != nil {
			return c, err
		}
		c.Streams = append(c.Streams, stream)
	}
	return c, nil
}

// Check reports what makes the streams of the scenario, or its cluster, impossible.
func (s *Study) Check() error {
	c, err := s.config(1)
	if err != nil {
		return err
	}
	return c.Check()
}

// Variant is one simulation of a batch.
type Variant struct {
	Study *Study
	Seed  uint64
	Taps  Taps
}

// All simulates a batch, each simulation on one processor and as many at once as
// there are. Reports are in the order of the variants; those of simulations that
// did not come to be, since ctx ended or one failed, are nil. done, if any, is
// called after each, by one goroutine at a time and in order of completion.
//
// Memory is that of the simulations that run, and of the reports.
func All(ctx context.Context, variants []Variant, done func(i int, r *reports.Report)) ([]*reports.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := make([]*reports.Report, len(variants))
	failed := make([]error, len(variants))
	var next atomic.Int64
	var told sync.Mutex
	var workers sync.WaitGroup
	for range min(len(variants), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(variants) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				v := variants[i]
				if out[i], failed[i] = v.Study.Simulate(ctx, v.Seed, v.Taps); failed[i] != nil {
					cancel()
					return
				}
				if done != nil {
					told.Lock()
					done(i, out[i])
					told.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return out, first(failed)
}

// first is the first failure that is not a consequence of another one.
func first(failed []error) (err error) {
	for _, e := range failed {
		if e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e
		}
	}
	return err
}
