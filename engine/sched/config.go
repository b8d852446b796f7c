package sched

import (
	"errors"
	"fmt"
)

// Policy orders the waiting queue and picks preemption victims.
type Policy int

const (
	FCFS     Policy = iota // first come, first served
	Priority               // smaller Request.Priority first, then arrival
)

// Config are the scheduler's limits, with vLLM's names and meanings.
type Config struct {
	MaxNumSeqs                int // requests running at once
	MaxNumBatchedTokens       int // token budget of one step
	MaxModelLen               int // prompt plus output, tokens
	LongPrefillTokenThreshold int // largest prefill chunk; 0 is off
	Policy                    Policy
	DisableChunkedPrefill     bool
	DisablePrefixCache        bool
	// ReserveFullPrompt admits a waiting request only when its whole current
	// sequence, net of cache hits, fits into free blocks (vLLM's
	// scheduler_reserve_full_isl, on by default there), which stops prefills
	// from thrashing.
	ReserveFullPrompt bool
	// Watermark is the share of the pool that an admission must leave free while
	// others run, so that they find blocks for a while; 0 to below 1, 0 is none.
	Watermark float64
	// Pipeline is the number of stages that a batch runs through. Above 1, so many
	// batches may be in flight, and nobody is in a batch while a token of theirs is
	// being sampled in another. 0 and 1 are no pipeline.
	Pipeline int
	// Static admits only while nobody runs: whoever waits then makes up a batch,
	// whose prompts run whole in one step, and which is closed until all of it has
	// ended. MaxNumBatchedTokens and LongPrefillTokenThreshold do not count. For
	// comparison: servers did so before continuous batching.
	Static bool
}

// Validate reports limits with which no request, or not every request, could
// ever run.
func (c Config) Validate() error {
	switch {
	case c.MaxNumSeqs < 1:
		return fmt.Errorf("max_num_seqs %d: at least 1 request must run", c.MaxNumSeqs)
	case c.MaxNumBatchedTokens < 1:
		return fmt.Errorf("max_num_batched_tokens %d: a step needs at least 1 token", c.MaxNumBatchedTokens)
	case c.MaxModelLen < 2:
		return fmt.Errorf("max_model_len %d: a prompt and an output need at least 2 tokens", c.MaxModelLen)
	case c.LongPrefillTokenThreshold < 0:
		return fmt.Errorf("long_prefill_token_threshold %d is negative", c.LongPrefillTokenThreshold)
	case !(c.Watermark >= 0 && c.Watermark < 1):
		return fmt.Errorf("watermark %v: expected a share of the pool, 0 to below 1", c.Watermark)
	case c.Pipeline < 0:
		return fmt.Errorf("pipeline of %d stages: expected at least 1, or 0 for none", c.Pipeline)
	case c.Policy != FCFS && c.Policy != Priority:
		return fmt.Errorf("unknown scheduling policy %d", c.Policy)
	case c.DisableChunkedPrefill && !c.Static && c.MaxNumBatchedTokens < c.MaxModelLen:
		return fmt.Errorf("max_num_batched_tokens %d is less than max_model_len %d: without chunked prefill long prompts could never run",
			c.MaxNumBatchedTokens, c.MaxModelLen)
	}
	return nil
}

// Errors of Add, besides TooLongError.
var (
	ErrDuplicateID = errors.New("a request with this id is already being served")
	ErrNoTokens    = errors.New("a request needs at least 1 prompt token and 1 output token")
)

// TooLongError reports a prompt that can never run.
type TooLongError struct {
	Prompt int // tokens
	Limit  int // tokens that prompt and output together may have
	// Memory is true when the pool of KV blocks sets the limit, false when
	// MaxModelLen does.
	Memory bool
}

// Error implements error.
func (e *TooLongError) Error() string {
	what := "the context window"
	if e.Memory {
		what = "the KV cache"
	}
	return fmt.Sprintf("prompt of %d tokens leaves no room for output in %s of %d tokens", e.Prompt, what, e.Limit)
}
