package usage

import (
	"time"

	"github.com/llmctl/llmctl/internal/optional"
)

// Record is one request that the gateway admitted, or answered from what it
// keeps. Requests that it turned away used nothing and have none. Names are those
// of the configuration.
type Record struct {
	RequestID string    // as in the log and x-request-id; a client may send the same one twice
	At        time.Time // when the request ended; its hour and day are those of UTC

	Tenant   string
	Key      string // its name, never the key
	Alias    string
	Provider string // of the deployment that answered, or was tried last
	Model    string // the provider's name of it
	Arm      string // stable | canary | fallback; Embedding of what is none
	Class    string // latency class; empty when there is none
	Outcome  string // how it ended, as in the log
	OK       bool   // the answer was complete
	Status   int    // HTTP status that the client saw, or 499

	Tokens Tokens // what the tenant is charged for
	Cost   Cost   // of them
	Saved  Saved

	TTFT        optional.Duration // streams only: arrival to first output
	TPOT        optional.Duration // streams only: per output token after the first
	E2E         optional.Duration // arrival to end
	Queue       optional.Duration // waiting in the gateway
	EngineQueue optional.Duration // waiting in the engine, when it says so

	Attempts int  // requests sent upstream; 0 for an answer from what the gateway keeps
	Fallback bool // a fallback answered, or was tried last

	id string // the ledger's own key: unique, and rising with time
}

// Embedding is the arm of records that are no requests of clients: of the embeddings
// that a cache by meaning looks up its answers by. They have tokens of input, and costs.
const Embedding = "embedding"

// Tokens are counts of one request.
type Tokens struct {
	Input     int64          // of the prompt, cached ones included
	Cached    optional.Count // of those, served by the engine's prefix cache; absent when not told
	Output    int64          // generated, reasoning included
	Reasoning optional.Count // of those; absent when not told
	Estimated bool           // counted by the gateway, for the upstream reported none
}

// Saving is what kept tokens from being generated, or from being generated again.
type Saving string

// The ways to save. A request has at most one.
const (
	// Cancellation is a client that left an answer unfinished, and an upstream that
	// was told so. Saved is the output that the request allowed and that was not
	// generated: an upper bound, since the answer could have ended before.
	// Requests without a limit of their output save an unknown amount: none is counted.
	Cancellation Saving = "cancellation"
	// ExactCache, SemanticCache and Replay (of an idempotency key) are answers that
	// were given again. Saved is what they cost the first time, less what is charged
	// for them now.
	ExactCache    Saving = "exact_cache"
	SemanticCache Saving = "semantic_cache"
	Replay        Saving = "idempotent_replay"
)

// Savings are all ways to save, in the order of exports.
var Savings = []Saving{Cancellation, ExactCache, SemanticCache, Replay}

// Saved is what a request did not use.
type Saved struct {
	By     Saving // empty when nothing was saved
	Input  int64  // tokens
	Output int64
	Cost   Amount
}

// Cancelled is what a client saved that left: of the output tokens that its
// request allowed, those that were not generated. Zero allowed means no limit.
func Cancelled(p Price, allowed, generated int64) Saved {
	if allowed == 0 || generated >= allowed {
		return Saved{}
	}
	left := allowed - generated
	return Saved{By: Cancellation, Output: left, Cost: p.Cost(Tokens{Output: left}).Output}
}

// Repeated is what an answer that is given again saves, and what is charged for
// it: share of its first cost, 0 when hits are free. The tokens charged are none
// either way, since no engine saw them.
func Repeated(by Saving, p Price, first Tokens, share float64) (Saved, Cost) {
	whole := p.Cost(first)
	charged := whole.Times(share)
	if share == 0 {
		charged = Cost{Known(0), Known(0)} // free, whether the price is known or not
	}
	s := Saved{By: by, Input: first.Input, Output: first.Output}
	if total, ok := whole.Total().Value(); ok {
		now, _ := charged.Total().Value()
		s.Cost = Known(total - now)
	}
	return s, charged
}
