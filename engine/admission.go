package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// Errors of Submit, besides *BusyError, *sched.TooLongError and those of Validate.
var (
	ErrClosed    = errors.New("the engine is shut down")
	ErrQueueFull = errors.New("too many requests are waiting") // every *BusyError is one
)

// BusyError refuses a request because of those that wait already.
type BusyError struct {
	Reason string
	// RetryAfter is when the queue will be shorter, as far as the pace of late tells:
	// a second at least and a minute at most.
	RetryAfter time.Duration
}

func (e *BusyError) Error() string { return e.Reason }

// Unwrap makes it an ErrQueueFull.
func (e *BusyError) Unwrap() error { return ErrQueueFull }

// queue counts what waits to be started for the first time.
type queue struct {
	requests int
	tokens   int // of prompts, once for each answer that will have them in memory
}

// weight is how much a request adds to the tokens of the queue.
func weight(r *Request) int { return len(r.Tokens) * r.answers() }

// reserve takes the requests of one call into the queue, or refuses them, and numbers
// their answers.
func (e *Engine) reserve(requests []Request) (sched.ID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.drained {
		return 0, ErrClosed
	}
	answers, tokens := 0, 0
	for i := range requests {
		answers += requests[i].answers()
		tokens += weight(&requests[i])
	}
	if err := e.refuse(tokens); err != nil {
		e.stats.Refused += int64(len(requests))
		return 0, err
	}
	id := e.nextID + 1
	e.nextID += sched.ID(answers)
	e.load += answers
	e.queue.requests += len(requests)
	e.queue.tokens += tokens
	return id, nil
}

// refuse says why a call whose prompts have so many tokens cannot wait. What it brings
// itself is no reason, or a call larger than the queue would be told to come again for
// ever: the first to wait always may.
func (e *Engine) refuse(tokens int) error {
	delay := e.pace.delay(e.queue.requests, e.now())
	reason := ""
	switch c := &e.config; {
	case c.MaxQueue > 0 && e.load >= c.Sched.MaxNumSeqs+c.MaxQueue:
		reason = ErrQueueFull.Error()
	case c.MaxQueueTokens > 0 && e.queue.requests > 0 && e.queue.tokens+tokens > c.MaxQueueTokens:
		reason = fmt.Sprintf("too many requests are waiting: their prompts have %d tokens, and with %d more would have over %d", e.queue.tokens, tokens, c.MaxQueueTokens)
	case c.MaxQueueDelay > 0 && e.queue.requests > 0 && delay > c.MaxQueueDelay:
		reason = fmt.Sprintf("too many requests are waiting: this one would start in about %s, and may wait %s", delay.Round(time.Second/10), c.MaxQueueDelay)
	default:
		return nil
	}
	return &BusyError{Reason: reason, RetryAfter: min(max(delay, time.Second), time.Minute)}
}

// start counts a request as one that waits no more.
func (e *Engine) start(l *live) {
	if e.dequeue(l) {
		e.pace.starts++
	}
}

func (e *Engine) dequeue(l *live) bool {
	if l.started {
		return false
	}
	l.started = true
	e.queue.requests--
	e.queue.tokens -= weight(&l.request)
	return true
}

// pace is the rate at which waiting requests are started, whatever holds them:
// places, blocks or the tokens of a step.
type pace struct {
	starts   int  // in the step being prepared
	waited   bool // somebody was left waiting by the step before
	last     time.Duration
	interval time.Duration // between starts while somebody waits, smoothed
}

// turn counts the starts of a step. Those into free places say nothing about how long
// a queue takes.
func (p *pace) turn(now time.Duration, waiting bool) {
	if p.starts > 0 && p.waited {
		sample := (now - p.last) / time.Duration(p.starts)
		if p.interval == 0 {
			p.interval = sample
		}
		p.interval += (sample - p.interval) / 4
	}
	if p.starts > 0 || waiting && !p.waited {
		p.last = now
	}
	p.starts, p.waited = 0, waiting
}

// delay is when one behind so many waiting requests will start.
func (p *pace) delay(waiting int, now time.Duration) time.Duration {
	if waiting == 0 || !p.waited {
		return time.Duration(waiting) * p.interval
	}
	return time.Duration(waiting)*p.interval + max(p.interval, now-p.last)
}
