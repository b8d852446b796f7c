package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/buildinfo"
	"github.com/llmctl/llmctl/internal/gpu"
	"github.com/llmctl/llmctl/loadgen"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// run loads the target as often as asked, and prints and saves what it did.
func (b *bench) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := &stopper{stopped: make(chan struct{}), abort: cancel}
	var watch sync.WaitGroup
	watch.Go(func() {
		stop.watch(ctx, b.io.Interrupts(), func() {
			if b.progress() == "plain" {
				fmt.Fprintf(b.io.Err, "stopping: what is in flight has %s to end; Ctrl-C again ends at once\n", b.flags.drain)
			}
		})
	})
	defer watch.Wait()
	defer cancel()

	live, err := b.openLivePage()
	if err != nil {
		return err
	}
	defer live.close(ctx, stop)
	b.live = live
	if b.flags.curve.wanted() {
		return b.runCurve(ctx, stop)
	}
	keepers, err := b.newKeepers()
	defer func() {
		for _, k := range keepers {
			k.abandon()
		}
	}()
	if err != nil {
		return err
	}
	t, closeTarget, err := b.prepared(ctx, stop)
	if err != nil {
		return err
	}
	defer closeTarget()
	measured, failed := b.repeats(ctx, stop, t, keepers)
	if len(measured) == 0 {
		return failed
	}
	if err := b.show(measured); err != nil {
		return err
	}
	if t.dead(measured) {
		return t.child.failed()
	}
	verdicts := []error{failed}
	for i, report := range measured {
		verdicts = append(verdicts, judge(report.Verdict(), keepers[i].failed))
	}
	return worst(verdicts)
}

// prepared finds or starts the target, and finds out what has to be known before
// the first request is sent.
func (b *bench) prepared(ctx context.Context, stop *stopper) (target, func(), error) {
	t, closeTarget, err := b.target(ctx, stop)
	if err != nil {
		return t, nil, err
	}
	if err = b.preflight(t); err == nil {
		err = b.calibrate(ctx, stop, t)
	}
	if err != nil {
		closeTarget()
		return t, nil, err
	}
	return t, closeTarget, nil
}

// warn tells of something that the report says too.
func (b *bench) warn(code, format string, args ...any) {
	w := record.Warning{Code: code, Text: record.Printable(fmt.Sprintf(format, args...))}
	b.warnings = append(b.warnings, w)
	fmt.Fprintf(b.io.Err, "warning: %s\n", w.Text)
}

// measure runs the workload once, or twice for an experiment, and returns the
// report of the run as asked for.
func (b *bench) measure(ctx context.Context, stop *stopper, t target, v variant, main *keeper) (*reports.Report, error) {
	if b.scenario.Experiment != experimentSharedPrefix {
		return b.once(ctx, stop, t, v, main)
	}
	other, err := b.newKeeper(main.beside(experimentUnique))
	if err != nil {
		return nil, err
	}
	defer other.abandon()
	first, second := v, v
	first.id, first.unique, first.title = v.id+"-"+experimentUnique, true, v.titled("1 of 2, unique prefixes")
	unique, err := b.once(ctx, stop, t, first, other)
	if err != nil || stop.used() {
		return unique, err
	}
	second.title, second.base = v.titled("2 of 2, shared prefixes"), unique
	return b.once(ctx, stop, t, second, main)
}

// A variant is one of the runs of a bench.
type variant struct {
	id     string // of the run; salts its prompts too
	title  string // shown above the progress when there are several
	unique bool
	base   *reports.Report // the other half of the experiment, already measured
}

// titled adds to the title of a variant.
func (v variant) titled(part string) string {
	if v.title == "" {
		return part
	}
	return v.title + ": " + part
}

// newID returns 64 random bits in hexadecimal.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails on supported systems
	return hex.EncodeToString(b[:])
}

// once loads the target with one stream, keeps the records, and sums them up.
func (b *bench) once(ctx context.Context, stop *stopper, t target, v variant, k *keeper) (*reports.Report, error) {
	stream, err := b.stream(v.unique, b.flags.phases.shard)
	if err != nil {
		return nil, usage(err)
	}
	if err := b.countdown(stop); err != nil {
		return nil, err
	}
	if err := k.start(v, t); err != nil {
		return nil, err
	}
	view := b.newView(v.title, stop)
	options := b.options(t, stream, v.id, stop)
	options.OnRecord, options.OnLive = b.live.observe(k.add, view.show)
	options.GPUs = b.openGPUs(t)
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-t.died():
			cancel() // there is nothing left to measure
		case <-ctx.Done():
		}
	})
	result, err := loadgen.Run(ctx, options)
	cancel()
	watch.Wait()
	view.close()
	if err != nil {
		return nil, err
	}
	run := result.Run
	if err := b.facts(&run, v, t); err != nil {
		return nil, err
	}
	run.Interrupted = stop.used()
	return k.finish(run, v), nil
}

func (b *bench) options(t target, stream *workload.Stream, salt string, stop *stopper) loadgen.Options {
	f := b.flags
	o := loadgen.Options{
		Client: b.clientOptions(t), Model: t.model,
		Workload: stream, Prompts: b.prompts(salt), Warmup: f.warmup, Drain: f.drain, MaxInFlight: f.maxInFlight,
		ContinuousUsage: t.bundled, IgnoreEOS: f.ignoreEOS, MetricsURLs: t.metrics, Stop: stop.stopped,
		AbortFailures: f.phases.abortFailures, AbortSaturated: f.phases.abortSaturated,
		Shard: f.phases.shard.i, Shards: f.phases.shard.n, StartAt: f.phases.startAt,
	}
	if f.drain == 0 {
		o.Drain = time.Nanosecond // 0 would ask the load generator for its default
	}
	o.Requests, o.Duration = b.requests, b.lasts()
	return o
}

// clientOptions say to whom and how requests go.
func (b *bench) clientOptions(t target) client.Options {
	f := b.flags
	o := client.Options{
		Endpoint: t.endpoint, APIKey: t.apiKey, API: client.API(f.api), Headers: b.headers,
		FirstTokenTimeout: f.firstToken, IdleTimeout: f.idle, TotalTimeout: f.total,
	}
	f.client.options(&o)
	f.prompts.options(&o)
	return o
}

// environment describes this machine; a GPU that can not be asked is left out.
func environment(start time.Time) record.Environment {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	e := record.Environment{
		Version: buildinfo.Version(), Host: host, OS: buildinfo.Platform(),
		Cores: runtime.GOMAXPROCS(0), Start: start,
	}
	if devices, err := gpu.List(); err == nil {
		for _, d := range devices {
			e.GPUs = append(e.GPUs, d.Name)
		}
	}
	return e
}

// judge turns a verdict into an exit code. A run that could not be saved as
// asked is a failure, unless its numbers have a worse one to tell.
func judge(v reports.Verdict, notSaved error) error {
	switch {
	case v.Reason == reports.Held && notSaved != nil:
		return fmt.Errorf("saving the run: %w", notSaved)
	case v.Reason == reports.Held:
		return nil
	case v.Reason == reports.Interrupted:
		return silent(exitInterrupted)
	case !v.Trustworthy():
		return &failure{code: exitUntrusted, err: errors.New(v.Text)}
	default:
		return &failure{code: exitNotHeld, err: errors.New(v.Text)}
	}
}
