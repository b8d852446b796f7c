package loadgen

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/request"
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
	made   time.Time
	lead   atomic.Int64 // from then to the start of the run, a time.Duration
	open   bool         // the loop is open

	sending context.Context // ends when nothing more is to be sent
	stop    context.CancelFunc
	hard    context.Context // ends when requests in flight are cut
	cut     context.CancelCauseFunc

	queue           *queue      // jobs of an open loop, later turns of a closed one
	ahead, thinking *budget     // bodies that are built and not sent: of first turns, of later ones
	built           atomic.Bool // every first turn of an open loop has been made
	uncounted       atomic.Bool // … or will never be
	usedUp          atomic.Bool
	lastDue         atomic.Int64 // of an open loop, a time.Duration

	helpers  sync.WaitGroup // whoever builds bodies
	inFlight sync.WaitGroup
	flying   atomic.Int64
	ids      atomic.Int64
	measured atomic.Int64 // requests of a run that is bounded by their number
	broken   atomic.Int64 // sessions that a failed request ended
	unsent   atomic.Int64 // their turns that were never due

	endOnce     sync.Once
	end         time.Duration // of sending
	interrupted atomic.Bool
	why         atomic.Pointer[string] // the run was broken off
	drainOnce   sync.Once
	drainTimer  *time.Timer

	collector *collector
}

func newRunner(o Options) *runner {
	r := &runner{
		o: o, made: time.Now(), queue: newQueue(),
		ahead: newBudget(lookAheadBytes, lookAhead), thinking: newBudget(lookAheadBytes, thinkingBodies),
		bodies: &request.Writer{Model: o.Model, API: o.Client.API, Exact: o.IgnoreEOS, Continuous: o.ContinuousUsage, Prompts: o.Prompts},
	}
	_, closed := o.Workload.Closed()
	_, users := o.Workload.Users()
	r.open = !closed && !users
	return r
}

func (r *runner) clientOptions() client.Options {
	o := r.o.Client
	o.Now = r.now
	o.OnFirst = func(now, ttft time.Duration) { r.collector.first(now, ttft) }
	o.OnOutput = func(tokens int) { r.collector.output(tokens) }
	return o
}

// now is the time since the start of the run, negative before it. While warm
// opens connections the start is not known yet, and what they read meanwhile is
// stamped from when the runner was made.
func (r *runner) now() time.Duration { return time.Since(r.made) - time.Duration(r.lead.Load()) }

// start is when the run starts, once warm has fixed it.
func (r *runner) start() time.Time { return r.made.Add(time.Duration(r.lead.Load())) }

func (r *runner) run(ctx context.Context) *Result {
	r.hard, r.cut = context.WithCancelCause(ctx)
	defer r.cut(nil)
	r.sending, r.stop = context.WithCancel(r.hard)
	defer r.stop()

	r.warm(ctx)
	over := make(chan struct{})
	r.helpers.Go(func() { r.listen(ctx, over) })
	r.o.wait(r.sending, nil, r.start())

	watch := r.observe(ctx)
	r.collector = startCollector(r, watch)
	r.load()
	r.ended(r.now())
	if r.bounded() == byTime || r.aborted() != "" {
		r.drain()
	}
	watch.WindowEnds()
	r.inFlight.Wait()
	if r.waitsForAll() {
		r.end = r.now()
		watch.WindowEnds()
	}
	r.stop()
	close(over)
	r.helpers.Wait()
	r.drainOnce.Do(func() {}) // from here on nobody starts to drain
	if r.drainTimer != nil {
		r.drainTimer.Stop()
	}
	observed := watch.Stop(r.window())
	records := r.collector.stop()
	return &Result{Run: r.facts(observed), Records: records}
}

// load sends until sending is over.
func (r *runner) load() {
	if n, closed := r.o.Workload.Closed(); closed {
		r.closedLoop(n, r.slot)
	} else if n, users := r.o.Workload.Users(); users {
		r.closedLoop(n, r.user)
	} else {
		r.openLoop()
	}
}

// bound is what ends a run.
type bound int

const (
	byTime bound = iota
	byCount
	byStream // nothing but the end of the workload
)

func (r *runner) bounded() bound {
	switch {
	case r.o.Requests > 0:
		return byCount
	case r.o.Duration > 0:
		return byTime
	default:
		return byStream
	}
}

// waitsForAll reports whether the window lasts until the last answer: that of a
// closed loop without an end in time, whose requests have no schedule.
func (r *runner) waitsForAll() bool {
	return !r.open && r.bounded() != byTime && !r.interrupted.Load() && r.aborted() == ""
}

// listen waits for the user's wish to stop, or for the end of the run.
func (r *runner) listen(ctx context.Context, over <-chan struct{}) {
	select {
	case <-r.o.Stop: // never, when it is nil
		r.interrupt()
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

// interrupt ends sending because the user wishes so.
func (r *runner) interrupt() {
	r.interrupted.Store(true)
	r.ended(r.now())
	r.stop()
	r.drain()
}

// ended fixes the end of sending, unless it is fixed already.
func (r *runner) ended(at time.Duration) {
	r.endOnce.Do(func() { r.end = max(0, at) })
}

// drain gives what is in flight a limited time. A run that is bounded by a
// number of requests, or by its workload, waits for all of them, each within its
// own time limits.
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
	if r.bounded() != byTime {
		return 0
	}
	return r.o.Warmup + r.o.Duration
}

// window is the time that was measured.
func (r *runner) window() record.Window {
	return record.Window{Start: min(r.o.Warmup, r.end), End: r.end}
}
