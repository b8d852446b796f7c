package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// Engine serves one model. Its methods may be called from any goroutine.
type Engine struct {
	config   Config
	shape    model.Shape
	window   int
	now      func() time.Duration
	executor Executor
	drafter  *drafter      // nil: no draft model
	wake     chan struct{} // capacity 1: the inbox or closing changed
	done     chan struct{} // the loop has ended

	mu      sync.Mutex
	nextID  sched.ID
	inbox   []*live    // submitted, not yet seen by the loop
	left    []sched.ID // abandoned, not yet seen by the loop
	closing bool
	drained bool // closing, or takes no more requests
	stats   Stats
	queue   queue
	load    int // answers of all requests
	pace    pace

	// requests and answers are written by the loop alone, holding mu.
	requests map[sched.ID]*live
	answers  map[sched.ID]*answer

	// Owned by the loop.
	sched     *sched.Scheduler
	sequences []*model.Sequence
	results   []sched.Result
	step      Step    // for the step log
	broken    []*live // of the step: whose logits are not finite
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
	drafter, err := c.drafter(c.Blocks + 1)
	if err != nil {
		executor.Close()
		return nil, err
	}
	if c.Now == nil {
		start := time.Now()
		c.Now = func() time.Duration { return time.Since(start) }
	}
	e := &Engine{
		config: c, shape: shape, now: c.Now, executor: executor, drafter: drafter,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		sched:    sched.New(c.Sched, pool),
		requests: map[sched.ID]*live{}, answers: map[sched.ID]*answer{},
	}
	e.window = e.sched.Window()
	e.stats = newStats(e.window, c.BlockSize, pool.Usable(), c.Speculate.Tokens)
	go e.loop()
	return e, nil
}

// ModelName is the name of the model being served.
func (e *Engine) ModelName() string { return e.shape.Name }

// Window is how many tokens prompt and output of one request may have together.
func (e *Engine) Window() int { return e.window }

// Tokenizer is the served model's.
func (e *Engine) Tokenizer() tokenizer.Tokenizer { return e.config.Tokenizer }

// Now is the engine's clock.
func (e *Engine) Now() time.Duration { return e.now() }

// Submit queues a request. When ctx ends or its reader leaves, wherever the
// request then is, it is aborted and its blocks are free from the loop's next turn
// on; the stream ends with the reason "abort". Submit returns an error of Validate, a *BusyError or
// ErrClosed.
func (e *Engine) Submit(ctx context.Context, r Request) (*Stream, error) {
	streams, err := e.SubmitAll(ctx, []Request{r})
	if err != nil {
		return nil, err
	}
	return streams[0], nil
}

// SubmitAll is Submit for requests that come together, such as the prompts of one
// call: all of them are queued or none, and those of the call itself are nobody that
// it would have to wait behind. So a server that has nothing to do takes every call.
func (e *Engine) SubmitAll(ctx context.Context, requests []Request) ([]*Stream, error) {
	for i := range requests {
		if err := e.check(&requests[i]); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	id, err := e.reserve(requests)
	if err != nil {
		return nil, err
	}
	added := make([]*live, len(requests))
	for i, r := range requests {
		added[i] = e.newLive(id, r, e.now()) // copies the prompt and may make guides, so without the lock
		id += sched.ID(r.answers())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing { // draining lets in what has its place already
		return nil, ErrClosed
	}
	streams := make([]*Stream, len(added))
	for i, l := range added {
		leave := func() { e.abandon(l.id) }
		l.stream = newStream(l.left, leave)
		l.forget = context.AfterFunc(ctx, leave)
		streams[i] = l.stream
	}
	e.inbox = append(e.inbox, added...)
	e.signal()
	return streams, nil
}

// check reports what is wrong with a request, whatever else is being served.
func (e *Engine) check(r *Request) error {
	if err := r.Validate(e.window); err != nil {
		return err
	}
	if e.config.Executor != nil { // one of the caller's own may take tokens for what it likes
		return nil
	}
	return r.checkTokens(e.shape.Vocab)
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
	s.QueueTokens = e.queue.tokens
	return s
}

// Closed reports whether the engine takes no more requests.
func (e *Engine) Closed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.drained
}

// Drain refuses requests with ErrClosed from now on. Those that are there go on.
func (e *Engine) Drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drained = true
}

// Close aborts whatever is still being served and waits for the loop to end.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closing, e.drained = true, true
	e.mu.Unlock()
	e.signal()
	<-e.done
}

// Limits are those of the scheduler, with their defaults.
func (e *Engine) Limits() sched.Config { return e.config.Sched }

// KVCache is the format of the KV cache and its bytes, of which a draft model's are
// part; an executor of the caller's own has neither.
func (e *Engine) KVCache() (dtype string, bytes int64) {
	if e.config.Executor != nil {
		return "", 0
	}
	d, err := e.config.kvType(e.config.Weights)
	if err != nil {
		return "", 0 // New has refused it
	}
	each, err := e.config.kvTokenBytes(e.shape)
	if err != nil {
		return "", 0
	}
	return d.String(), each * int64(e.config.Blocks) * int64(e.config.BlockSize)
}

// isEOS reports whether a token ends the sequence.
func (e *Engine) isEOS(token int32) bool { return slices.Contains(e.shape.EOS, token) }

// EndTokens are the tokens with which the model ends a sequence.
func (e *Engine) EndTokens() []int32 { return slices.Clone(e.shape.EOS) }
