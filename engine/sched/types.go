package sched

import (
	"time"

	"github.com/llmctl/llmctl/engine/kv"
)

// ID names a request; the caller chooses it and keeps it unique among the
// requests that are being served.
type ID uint64

// Request is what the scheduler knows of one sequence.
type Request struct {
	ID        ID
	Prompt    int // tokens
	MaxTokens int // output tokens at most; the context window may end it earlier
	Priority  int // smaller runs first, under the Priority policy
	Arrival   time.Duration
	// Hash returns the hash of the i-th full block of prompt and output. The
	// scheduler asks only for blocks whose tokens are known: those of the
	// prompt, and outputs that were passed to Complete, the current call
	// included. What a hash covers, a cache salt among others, is up to the
	// caller: equal hashes share blocks. nil keeps the request out of the
	// prefix cache.
	Hash func(i int) kv.Hash
	// Shared is the number of leading blocks that others may ask for, later
	// requests with the same beginning among them: 0 is all, below 0 none. The
	// others are offered only when the request is preempted, because then it looks
	// for its own blocks. Hits and blocks are the same as with 0, when nobody asks.
	Shared int
	// SkipCacheRead makes the request compute everything itself, as prompt
	// log-probabilities need; it still fills the cache.
	SkipCacheRead bool
	// Loaded is how many tokens at the head of the prompt were computed elsewhere:
	// their K and V will be in place when the request is admitted, and only the
	// rest is computed, at least the last token. After a preemption they are lost.
	Loaded int
}

// Entry is one request's part of a batch: tokens Start … Start+Tokens−1 of its
// sequence run in this step.
type Entry struct {
	ID     ID
	Start  int
	Tokens int
	// Blocks is the block table that covers tokens 0 … Start+Tokens−1, and those
	// behind them that wrong drafts have left. It is owned by the scheduler and valid until Complete of this batch.
	Blocks []kv.Block
	// CopyFrom and CopyTo are the block whose content another gets before anybody
	// writes in this step, in the order of the entries: that of siblings which one of
	// them is about to write to. Null is none.
	CopyFrom, CopyTo kv.Block
	// Cached is how many prompt tokens the prefix cache saved, frozen at the
	// request's first admission.
	Cached int
	// Drafts is how many of the tokens, the last ones, are proposals to verify.
	Drafts int32
	// Sample is true when the step reaches the end of the sequence, so that
	// the executor must produce the next token, and one more for each draft in
	// turn that it finds right.
	Sample bool
	// Admitted is true in the step in which the request (re)started.
	Admitted bool
}

// Batch is one step's work. Entries of requests that were already running come
// first, in the order of their admission, then those admitted in this step.
type Batch struct {
	Step      uint64        // counts from 0
	At        time.Duration // the time that was passed to Schedule
	Entries   []Entry
	Tokens    int  // sum over Entries
	Preempted []ID // lost their blocks in this step; they are waiting again

	seqs []*sequence // seqs[i] is whose Entries[i] is
}

// FinishReason says why a request ended.
type FinishReason string

const (
	Running FinishReason = "" // not finished
	Stop    FinishReason = "stop"
	Length  FinishReason = "length"
	Aborted FinishReason = "abort"
	Failed  FinishReason = "error" // the executor owed a token and had none
)

// Result is what the executor reports for one entry.
type Result struct {
	ID     ID
	Tokens int          // tokens sampled: 1 to 1 + Drafts for an entry with Sample, else 0
	Finish FinishReason // a stop decision; the scheduler adds Length by itself
	// Drafts is how many tokens a proposer puts up for the request's next entry,
	// which then verifies them. As many as fit into the budget and before the
	// request's end are taken. They are dropped when the request is preempted, or
	// when its next entry is already in flight.
	Drafts int
}

// Finished is a request that ended in Complete. Its blocks are free.
type Finished struct {
	ID          ID
	Reason      FinishReason
	Output      int           // tokens sampled
	Cached      int           // prompt tokens the prefix cache saved, as in Entry
	Preemptions int           // how often it lost its blocks
	Admitted    time.Duration // when it last (re)started: its At of Schedule
}

// Stats are gauges and counters, with the meaning that vLLM's metrics give them.
type Stats struct {
	Running int     // requests that hold blocks
	Waiting int     // requests that do not run, preempted ones included
	Usage   float64 // share of KV blocks in use, 0 to 1

	Preemptions int64
	// PrefixQueries and PrefixHits count tokens looked up in the prefix cache
	// and found there, at the first admission of each request. Requests that
	// resume after a preemption are counted apart: finding one's own blocks
	// again says nothing about sharing.
	PrefixQueries, PrefixHits                   int64
	PreemptedPrefixQueries, PreemptedPrefixHits int64
	// ExternalQueries and ExternalHits count the tokens of admitted requests that
	// were looked up in the host tier, because the pool did not hold them, and
	// those that were loaded from there.
	ExternalQueries, ExternalHits int64
	// Drafts and AcceptedDrafts count tokens that were verified, and those found
	// right.
	Drafts, AcceptedDrafts int64
}
