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
	case c.Policy != FCFS && c.Policy != Priority:
		return fmt.Errorf("unknown scheduling policy %d", c.Policy)
	case c.DisableChunkedPrefill && c.MaxNumBatchedTokens < c.MaxModelLen:
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
