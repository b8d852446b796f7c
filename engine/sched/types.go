// Package sched is the continuous-batching scheduler: each step it decides how
// many tokens of which requests run, under a token budget, with chunked prefill,
// prefix-cache hits and preemption by recomputation. Its rules are those of vLLM
// V1. It is pure: it sees lengths, priorities and block hashes, never tensors or
// text; time comes in as an argument. The live engine drives it in real time,
// the simulator in virtual time.
package sched

import (
	"time"

	"github.com/llmctl/llmctl/engine/kv"
)

// ID names a request; the caller chooses it and keeps it unique.
type ID uint64

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
	// scheduler_reserve_full_isl), which stops prefills from thrashing.
	ReserveFullPrompt bool
}

// Request is what the scheduler knows of one sequence.
type Request struct {
	ID        ID
	Prompt    int // tokens
	MaxTokens int // output tokens at most
	Priority  int // smaller runs first, under the Priority policy
	Arrival   time.Duration
	// Hash returns the hash of the i-th full block of prompt and output. The
	// scheduler asks only for blocks whose tokens are known. nil keeps the
	// request out of the prefix cache.
	Hash func(i int) kv.Hash
	// SkipCacheRead makes the request compute everything itself; it still
	// fills the cache.
	SkipCacheRead bool
}

// Entry is one request's part of a batch: tokens Start … Start+Tokens−1 of its
// sequence run in this step.
type Entry struct {
	ID     ID
	Start  int
	Tokens int
	// Blocks is the block table that covers tokens 0 … Start+Tokens−1. It is
	// owned by the scheduler and valid until Complete of this batch.
	Blocks []kv.Block
	// Sample is true when the step reaches the end of the sequence, so that
	// the executor must produce the next token.
	Sample bool
	// Cached is how many prompt tokens the prefix cache saved, frozen at the
	// request's first admission.
	Cached int
	// Admitted is true in the step in which the request (re)started.
	Admitted bool
}

// Batch is one step's work.
type Batch struct {
	Step      uint64
	Entries   []Entry
	Tokens    int  // sum over Entries
	Preempted []ID // lost their blocks in this step
}

// FinishReason says why a request ended.
type FinishReason string

const (
	Running FinishReason = "" // not finished
	Stop    FinishReason = "stop"
	Length  FinishReason = "length"
	Aborted FinishReason = "abort"
)

// Result is what the executor reports for one entry.
type Result struct {
	ID     ID
	Tokens int          // tokens sampled: 0 for a prefill chunk that is not the last, else 1
	Finish FinishReason // a stop decision; the scheduler adds Length by itself
}
