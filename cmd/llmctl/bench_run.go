package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/buildinfo"
	"github.com/llmctl/llmctl/internal/gpu"
	"github.com/llmctl/llmctl/loadgen"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// target is a server that a bench can load.
type target struct {
	endpoint, apiKey, model, metricsURL string
	bundled                             bool
	device                              string
}

// run loads the target, and prints and saves what it did.
func (b *bench) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := b.watchInterrupts(ctx, cancel)

	t, closeTarget, err := b.target(ctx)
	if err != nil {
		return err
	}
	defer closeTarget()
	report, err := b.measure(ctx, stop, t)
	if err != nil {
		return err
	}
	if err := b.flags.output.write(b.io, report, func() error { return b.print(report) }); err != nil {
		return err
	}
	return b.judge(report)
}

// stopper turns the user's interrupts into the load generator's terms.
type stopper struct {
	once    sync.Once
	stopped chan struct{}
}

func (s *stopper) stop() { s.once.Do(func() { close(s.stopped) }) }

func (s *stopper) used() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}

// watchInterrupts ends sending on the first interrupt and everything on the
// second.
func (b *bench) watchInterrupts(ctx context.Context, cancel func()) *stopper {
	s := &stopper{stopped: make(chan struct{})}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-b.io.Interrupts:
			}
			if s.used() {
				cancel()
				return
			}
			s.stop()
		}
	}()
	return s
}

// target finds or starts what is to be loaded.
func (b *bench) target(ctx context.Context) (target, func(), error) {
	if b.bundled() {
		child, err := startStack(ctx, b.io, b.stackArgs())
		if err != nil {
			return target{}, nil, err
		}
		r := child.ready
		return target{r.Endpoint, child.key, r.Model, r.Metrics, true, r.Device}, child.close, nil
	}
	t := target{endpoint: b.flags.endpoint, apiKey: b.io.Env("OPENAI_API_KEY"), metricsURL: b.flags.metricsURL}
	models, err := loadgen.Probe(ctx, loadgen.Options{Endpoint: t.endpoint, APIKey: t.apiKey, Headers: b.headers, API: loadgen.API(b.flags.api)})
	switch {
	case errors.Is(err, loadgen.ErrUnauthorized):
		return t, nil, hinted(exitFailed, err, "set OPENAI_API_KEY to a key that the endpoint accepts")
	case errors.Is(err, loadgen.ErrUnreachable), errors.Is(err, loadgen.ErrNotAPI):
		return t, nil, hinted(exitFailed, err, "is the server running, and is --endpoint its base URL?")
	case err != nil:
		return t, nil, usage(err)
	}
	t.model, err = b.wireModel(models)
	return t, func() {}, err
}

// wireModel is the name to ask the endpoint for.
func (b *bench) wireModel(models []string) (string, error) {
	if b.flags.served != "" {
		return b.flags.served, nil
	}
	ref := b.scenario.Model
	if ref == "" {
		name, err := loadgen.OnlyModel(models)
		if err != nil {
			return "", hinted(exitUsage, err, "name one with --model")
		}
		return name, nil
	}
	if len(models) == 0 || slices.Contains(models, ref) {
		return ref, nil
	}
	if m, err := profiles.LoadModel(ref); err == nil {
		for _, id := range m.IDs {
			if slices.Contains(models, id) {
				return id, nil
			}
		}
		if len(models) == 1 {
			return models[0], nil
		}
	}
	return "", hinted(exitUsage, fmt.Errorf("the endpoint does not list the model %q%s", ref, didYouMean(ref, models)),
		"--served-model sends a name that the endpoint does not list")
}

// measure runs the workload once, or twice for an experiment, and returns the
// report of the run as asked for.
func (b *bench) measure(ctx context.Context, stop *stopper, t target) (*reports.Report, error) {
	salt := newSalt()
	var base *reports.Report
	if b.scenario.Experiment == experimentSharedPrefix {
		var err error
		if base, err = b.once(ctx, stop, t, variant{salt: salt + "-unique", unique: true, name: "unique prefixes", step: "1 of 2, "}); err != nil {
			return nil, err
		}
		if stop.used() {
			return base, nil
		}
	}
	v := variant{salt: salt, name: "shared prefixes", save: b.flags.save}
	if base != nil {
		v.step, v.base = "2 of 2, ", base
	}
	return b.once(ctx, stop, t, v)
}

// A variant is one of the runs of a bench.
type variant struct {
	salt, name, step string
	unique           bool
	save             string
	base             *reports.Report // the other half of the experiment, already measured
}

func newSalt() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails on supported systems
	return hex.EncodeToString(b[:])
}

// once loads the target with one stream, keeps the records, and sums them up.
func (b *bench) once(ctx context.Context, stop *stopper, t target, v variant) (*reports.Report, error) {
	stream, err := b.stream(v.salt, v.unique)
	if err != nil {
		return nil, usage(err)
	}
	keeper, err := b.newKeeper(v.save, t)
	if err != nil {
		return nil, err
	}
	defer keeper.abandon()
	view := b.newView(v.step+v.name, stop, b.scenario.Experiment == experimentSharedPrefix)
	options := b.options(t, stream, stop)
	options.OnRecord, options.OnLive = keeper.add, view.show
	result, err := loadgen.Run(ctx, options)
	view.close()
	if err != nil {
		return nil, err
	}
	run := result.Run
	if err := b.facts(&run); err != nil {
		return nil, err
	}
	run.Environment = environment(run.Environment.Start)
	run.Target = record.Target{Endpoint: t.endpoint, Model: t.model, Bundled: t.bundled, Device: t.device}
	run.Interrupted = stop.used()
	return keeper.finish(run, v)
}

func (b *bench) options(t target, stream *workload.Stream, stop *stopper) loadgen.Options {
	f := b.flags
	o := loadgen.Options{
		Endpoint: t.endpoint, APIKey: t.apiKey, Model: t.model, API: loadgen.API(f.api), Headers: b.headers,
		Workload: stream, Warmup: f.warmup, Drain: f.drain, MaxInFlight: f.maxInFlight,
		FirstTokenTimeout: f.firstToken, IdleTimeout: f.idle, TotalTimeout: f.total,
		IgnoreEOS: f.ignoreEOS, MetricsURL: t.metricsURL, Stop: stop.stopped,
	}
	if f.requests > 0 {
		o.Requests = f.requests
	} else {
		o.Duration = f.duration
	}
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

// stackArgs are the settings of the bundled engine as the child takes them.
func (b *bench) stackArgs() []string {
	e := b.flags.engine
	args := []string{
		// One processor stays with the client.
		fmt.Sprintf("--workers=%d", max(1, runtime.GOMAXPROCS(0)-1)),
		fmt.Sprintf("--model=%s", b.scenario.Model),
		fmt.Sprintf("--block-size=%d", e.blockSize),
		fmt.Sprintf("--max-num-seqs=%d", e.maxNumSeqs),
		fmt.Sprintf("--max-num-batched-tokens=%d", e.budget),
		fmt.Sprintf("--enable-prefix-caching=%v", e.prefixCaching),
	}
	if e.kvCacheMemory != "" {
		args = append(args, "--kv-cache-memory="+e.kvCacheMemory)
	}
	return args
}

// judge turns the report's verdict into an exit code.
func (b *bench) judge(r *reports.Report) error {
	switch v := r.Verdict(); v.Reason {
	case reports.Held:
		return nil
	case reports.Interrupted:
		return silent(exitInterrupted)
	case reports.ClientLimited, reports.TooManyFailures, reports.NothingMeasured:
		return hinted(exitUntrusted, errors.New(v.Text), "")
	default:
		return hinted(exitNotHeld, errors.New(v.Text), "")
	}
}

func (b *bench) print(r *reports.Report) error {
	options := reports.TextOptions{Color: b.io.Color, Width: min(b.io.Width, 100)}
	return reports.WriteText(b.io.Out, r, options)
}
