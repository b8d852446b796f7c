package loadgen

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/request"
	"github.com/llmctl/llmctl/loadgen/telemetry"
	"github.com/llmctl/llmctl/reports/record"
)

// Result is a finished run.
type Result struct {
	// Run holds what the load generator knows: window, client, server, target,
	// warnings. The rest of it is the caller's to fill.
	Run record.Run
	// Records are in the order in which requests ended; empty when OnRecord
	// took them.
	Records []*record.Record
}

// Run loads the endpoint until the run is over and everything in flight has
// ended. An error means that nothing was sent. When ctx ends, requests in
// flight are cut and what was measured is returned.
func Run(ctx context.Context, o Options) (*Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := newRunner(o)
	if r.client, err = client.New(r.clientOptions()); err != nil {
		return nil, err
	}
	defer r.client.Close()
	return r.run(ctx), nil
}

// runner is one run.
type runner struct {
	o      Options
	bodies *request.Writer
	client *client.Client
	start  time.Time

	sending context.Context // ends when nothing more is to be sent
	stop    context.CancelFunc
	hard    context.Context // ends when requests in flight are cut
	cut     context.CancelCauseFunc

	ahead *budget // bytes of bodies that are built and not sent

	inFlight sync.WaitGroup
	flying   atomic.Int64
	measured atomic.Int64 // requests of a closed loop that belong to the window

	endOnce     sync.Once
	end         time.Duration // of sending
	interrupted atomic.Bool
	drainOnce   sync.Once
	drainTimer  *time.Timer

	collector *collector
}

func newRunner(o Options) *runner {
	return &runner{
		o: o, start: time.Now(), ahead: newBudget(lookAheadBytes),
		bodies: &request.Writer{Model: o.Model, API: o.Client.API, Exact: o.IgnoreEOS, Continuous: o.ContinuousUsage, Prompts: o.Prompts},
	}
}

func (r *runner) clientOptions() client.Options {
	o := r.o.Client
	o.Now = r.now
	o.OnFirst = func(now, ttft time.Duration) { r.collector.first(now, ttft) }
	o.OnOutput = func(tokens int) { r.collector.output(tokens) }
	return o
}

func (r *runner) now() time.Duration { return time.Since(r.start) }

func (r *runner) run(ctx context.Context) *Result {
	r.hard, r.cut = context.WithCancelCause(ctx)
	defer r.cut(nil)
	r.sending, r.stop = context.WithCancel(r.hard)
	defer r.stop()

	watch := r.observe(ctx)
	r.collector = startCollector(r, watch)
	listener := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(listener)
		r.listen(ctx, over)
	}()

	if n, closed := r.o.Workload.Closed(); closed {
		r.closedLoop(n)
	} else {
		r.openLoop()
	}
	r.ended(r.now())
	if r.bounded() == byTime {
		r.drain()
	}
	watch.WindowEnds()
	r.inFlight.Wait()
	if _, closed := r.o.Workload.Closed(); closed && r.bounded() == byCount && !r.interrupted.Load() {
		r.end = r.now()
		watch.WindowEnds()
	}
	close(over)
	<-listener
	if r.drainTimer != nil {
		r.drainTimer.Stop()
	}
	observed := watch.Stop(r.window())
	records := r.collector.stop()
	return &Result{Run: r.facts(observed), Records: records}
}

// bound is what ends a run.
type bound int

const (
	byTime bound = iota
	byCount
)

func (r *runner) bounded() bound {
	if r.o.Requests > 0 {
		return byCount
	}
	return byTime
}

// listen waits for the user's wish to stop, or for the end of the run.
func (r *runner) listen(ctx context.Context, over <-chan struct{}) {
	select {
	case <-r.o.Stop: // never, when it is nil
		r.interrupted.Store(true)
		r.ended(r.now())
		r.stop()
		r.drain()
	case <-ctx.Done():
	case <-over:
		return
	}
	select {
	case <-ctx.Done():
		r.interrupted.Store(true)
		r.ended(r.now())
		r.cut(client.ErrCut)
	case <-over:
	}
}

// ended fixes the end of sending, unless it is fixed already.
func (r *runner) ended(at time.Duration) {
	r.endOnce.Do(func() { r.end = at })
}

// drain gives what is in flight a limited time. A run that is bounded by a
// number of requests waits for all of them, each within its own time limits.
func (r *runner) drain() {
	r.drainOnce.Do(func() {
		r.drainTimer = time.AfterFunc(r.o.Drain, func() { r.cut(client.ErrCut) })
	})
}

// phase is what the run is doing.
func (r *runner) phase(now time.Duration) string {
	switch {
	case r.sending.Err() != nil:
		return record.Draining
	case now < r.o.Warmup:
		return record.WarmingUp
	default:
		return record.Measuring
	}
}

// planned is how long the run will send, 0 when that is unknown.
func (r *runner) planned() time.Duration {
	if r.bounded() == byCount {
		return 0
	}
	return r.o.Warmup + r.o.Duration
}

// window is the time that was measured.
func (r *runner) window() record.Window {
	return record.Window{Start: min(r.o.Warmup, r.end), End: r.end}
}

func (r *runner) facts(seen telemetry.Observed) record.Run {
	_, closed := r.o.Workload.Closed()
	warnings := append(seen.Warnings, r.client.Warnings()...)
	return record.Run{
		Kind:   "bench",
		Target: record.Target{Endpoint: client.PublicEndpoint(r.o.Client.Endpoint), Model: r.o.Model},
		Environment: record.Environment{
			OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Start: r.start,
		},
		Window:       r.window(),
		Client:       seen.Client,
		Server:       seen.Server,
		GPUs:         seen.GPUs,
		Interrupted:  r.interrupted.Load(),
		Warnings:     warnings,
		ClosedLoop:   closed,
		SharedPrefix: r.o.Workload.Shares(),
	}
}
