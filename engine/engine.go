package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// Engine serves one model. Its methods may be called from any goroutine.
type Engine struct {
	config   Config
	shape    model.Shape
	window   int
	now      func() time.Duration
	executor Executor
	wake     chan struct{} // capacity 1: the inbox or closing changed
	done     chan struct{} // the loop has ended

	mu      sync.Mutex
	nextID  sched.ID
	inbox   []*live    // submitted, not yet seen by the loop
	left    []sched.ID // abandoned, not yet seen by the loop
	closing bool
	stats   Stats

	// requests is written by the loop alone, holding mu.
	requests map[sched.ID]*live

	// Owned by the loop.
	sched     *sched.Scheduler
	sequences []*model.Sequence
	results   []sched.Result
	faults    []error // not yet reported
}

// New starts an engine. Close it.
func New(c Config) (*Engine, error) {
	c, shape, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	pool := kv.NewPool(c.Blocks+1, c.BlockSize) // one is the null block
	executor, err := c.executor(shape, c.Blocks+1)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		start := time.Now()
		c.Now = func() time.Duration { return time.Since(start) }
	}
	e := &Engine{
		config: c, shape: shape, now: c.Now, executor: executor,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		sched:    sched.New(c.Sched, pool),
		requests: map[sched.ID]*live{},
	}
	e.window = e.sched.Window()
	e.stats = newStats(e.window, c.BlockSize, pool.Usable())
	go e.loop()
	return e, nil
}

// ModelName is the name of the model being served.
func (e *Engine) ModelName() string { return e.shape.Name }

// Window is how many tokens prompt and output of one request may have together.
func (e *Engine) Window() int { return e.window }

// Now is the engine's clock.
func (e *Engine) Now() time.Duration { return e.now() }

// Submit queues a request. When ctx ends or its reader leaves, wherever the
// request then is, it is aborted and its blocks are free from the loop's next turn
// on; the stream ends with the reason "abort". Submit returns an error of Validate, ErrQueueFull or
// ErrClosed.
func (e *Engine) Submit(ctx context.Context, r Request) (*Stream, error) {
	if err := r.Validate(e.window); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closing:
		return nil, ErrClosed
	case e.config.MaxQueue > 0 && len(e.requests)+len(e.inbox) >= e.config.Sched.MaxNumSeqs+e.config.MaxQueue:
		return nil, ErrQueueFull
	}
	e.nextID++
	l := newLive(e.nextID, r, e.config.BlockSize, e.now())
	if !r.Seeded {
		l.sequence.Sampling.Seed = e.config.Seed + uint64(l.id)
	}
	leave := func() { e.abandon(l.id) }
	l.stream = newStream(leave)
	e.inbox = append(e.inbox, l)
	l.forget = context.AfterFunc(ctx, leave)
	e.signal()
	return l.stream, nil
}

func (e *Engine) abandon(id sched.ID) {
	e.mu.Lock()
	e.left = append(e.left, id)
	e.mu.Unlock()
	e.signal()
}

func (e *Engine) signal() {
	select {
	case e.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// Stats returns a snapshot.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats.clone()
	s.Waiting += len(e.inbox)
	return s
}

// Closed reports whether the engine takes no more requests.
func (e *Engine) Closed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closing
}

// Close aborts whatever is still being served and waits for the loop to end.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	e.signal()
	<-e.done
}

// isEOS reports whether a token ends the sequence.
func (e *Engine) isEOS(token int32) bool { return slices.Contains(e.shape.EOS, token) }

// EndTokens are the tokens with which the model ends a sequence.
func (e *Engine) EndTokens() []int32 { return slices.Clone(e.shape.EOS) }
