package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// Request is one text to continue.
type Request struct {
	Tokens     []int32 // prompt
	N          int     // answers, which share the prompt's KV; 0 is 1
	MaxTokens  int     // output tokens at most, at least 1
	MinTokens  int     // output tokens before which nothing but MaxTokens ends it
	IgnoreEOS  bool    // do not stop at the model's end-of-sequence tokens
	Stop       []string
	StopTokens []int32 // tokens that end it as an end of sequence does
	KeepStop   bool    // the stop string is part of the text
	Sampling   model.Sampling
	Seeded     bool   // Sampling.Seed was chosen by the caller; else the engine picks one
	CacheSalt  string // requests share cached prefixes only with the same salt
	Priority   int    // smaller runs first, under the priority policy

	// Logprobs asks for the log-probability of each output token, and of the so
	// many likeliest ones beside it; PromptLogprobs for those of the prompt.
	Logprobs, PromptLogprobs       bool
	TopLogprobs, TopPromptLogprobs int
	// Guide makes what says which tokens may come next, one for each answer; nil
	// allows all.
	Guide func() model.Guide
}

// Errors of Submit, besides *sched.TooLongError.
var (
	ErrClosed    = errors.New("the engine is shut down")
	ErrQueueFull = errors.New("too many requests are waiting")
)

// maxTemperature keeps logits divided by the temperature apart in float32.
const maxTemperature = 1_000_000

// Validate reports parameters that make no sense, in the words of the API.
func (r *Request) Validate(window int) error {
	switch s := r.Sampling; {
	case len(r.Tokens) == 0:
		return errors.New("prompt must have at least 1 token")
	case r.MaxTokens < 1:
		return fmt.Errorf("max_tokens must be at least 1, got %d", r.MaxTokens)
	case r.MinTokens < 0 || r.MinTokens > r.MaxTokens:
		return fmt.Errorf("min_tokens must be from 0 to max_tokens=%d, got %d", r.MaxTokens, r.MinTokens)
	case !(s.Temperature >= 0):
		return fmt.Errorf("temperature must be non-negative, got %v", s.Temperature)
	case s.Temperature > maxTemperature:
		return fmt.Errorf("temperature must be at most %d, got %v", maxTemperature, s.Temperature)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return fmt.Errorf("top_p must be in (0, 1], got %v", s.TopP)
	case !(s.MinP >= 0 && s.MinP <= 1):
		return fmt.Errorf("min_p must be in [0, 1], got %v", s.MinP)
	case s.TopK < 0:
		return fmt.Errorf("top_k must be 0 (disable), or at least 1, got %d", s.TopK)
	case len(r.Tokens) >= window:
		return &sched.TooLongError{Prompt: len(r.Tokens), Limit: window}
	}
	for _, s := range r.Stop {
		if s == "" {
			return errors.New("stop cannot contain an empty string")
		}
	}
	return nil
}

// live is a request that is being served. The loop owns it, its Stream
// excepted.
type live struct {
	id       sched.ID
	request  Request
	tokens   []int32 // prompt and output
	sequence model.Sequence
	chain    chain
	text     text
	stream   *Stream
	event    Event       // what the stream has not heard yet
	forget   func() bool // stops watching the client's context

	arrival  time.Duration
	admitted time.Duration // first start; −1 before
	first    time.Duration // first output token; −1 before
	last     time.Duration
}

func newLive(id sched.ID, r Request, blockSize int, now time.Duration) *live {
	l := &live{
		id: id, request: r, arrival: now, admitted: -1, first: -1,
		tokens: append(make([]int32, 0, len(r.Tokens)+min(r.MaxTokens, 1024)), r.Tokens...),
		chain:  chain{size: blockSize, salt: r.CacheSalt},
		text:   text{stops: r.Stop},
	}
	l.sequence.Sampling = r.Sampling
	return l
}

// hash is the scheduler's view of the request's content.
func (l *live) hash(i int) kv.Hash { return l.chain.at(l.tokens, i) }

// outputs is how many tokens have been sampled.
func (l *live) outputs() int { return len(l.tokens) - len(l.request.Tokens) }
