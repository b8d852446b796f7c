package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

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
	Specials   bool    // special tokens are part of the text, by their names
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

// maxTemperature keeps logits divided by the temperature apart in float32.
const maxTemperature = 1_000_000

// MaxTopLogprobs is the most alternatives beside a log-probability: vLLM's default of
// --max-logprobs.
const MaxTopLogprobs = 20

const (
	maxAnswers    = 128 // OpenAI's
	maxRepetition = 1_000_000
	maxBias       = 1_000_000 // far beyond what decides alone; OpenAI's is 100
)

// Validate reports parameters that make no sense, in the words of the API.
func (r *Request) Validate(window int) error {
	switch s := r.Sampling; {
	case len(r.Tokens) == 0:
		return errors.New("prompt must have at least 1 token")
	case r.N < 0:
		return fmt.Errorf("n must be at least 1, got %d", r.N)
	case r.N > maxAnswers:
		return fmt.Errorf("n must be at most %d, got %d", maxAnswers, r.N)
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
	case !(s.Presence >= -2 && s.Presence <= 2):
		return fmt.Errorf("presence_penalty must be in [-2, 2], got %v", s.Presence)
	case !(s.Frequency >= -2 && s.Frequency <= 2):
		return fmt.Errorf("frequency_penalty must be in [-2, 2], got %v", s.Frequency)
	case !(s.Repetition >= 0 && s.Repetition <= maxRepetition):
		return fmt.Errorf("repetition_penalty must be greater than zero, got %v", s.Repetition)
	case r.TopLogprobs < 0:
		return fmt.Errorf("logprobs must be non-negative, got %d", r.TopLogprobs)
	case r.TopLogprobs > MaxTopLogprobs:
		return fmt.Errorf("requested sample logprobs of %d, which is greater than max allowed: %d", r.TopLogprobs, MaxTopLogprobs)
	case r.TopPromptLogprobs < 0:
		return fmt.Errorf("prompt_logprobs must be non-negative, got %d", r.TopPromptLogprobs)
	case r.TopPromptLogprobs > MaxTopLogprobs:
		return fmt.Errorf("requested prompt logprobs of %d, which is greater than max allowed: %d", r.TopPromptLogprobs, MaxTopLogprobs)
	case len(r.Tokens) >= window:
		return &sched.TooLongError{Prompt: len(r.Tokens), Limit: window}
	}
	if slices.Contains(r.Stop, "") {
		return errors.New("stop cannot contain an empty string")
	}
	for _, b := range r.Sampling.Bias {
		if math.IsNaN(float64(b.Value)) || b.Value > maxBias {
			return fmt.Errorf("logit_bias of token %d must be a number of at most %d, got %v", b.Token, maxBias, b.Value)
		}
	}
	return nil
}

// checkTokens reports tokens that a model does not have, in vLLM's words.
func (r *Request) checkTokens(vocab int) error {
	for _, t := range r.Tokens {
		if t < 0 || int(t) >= vocab {
			return fmt.Errorf("Token id %d is out of vocabulary", t) //nolint:staticcheck // vLLM's text
		}
	}
	for _, b := range r.Sampling.Bias {
		if b.Token < 0 || int(b.Token) >= vocab {
			return fmt.Errorf("token_id(s) [%d] in logit_bias contain out-of-vocab token ids. Vocabulary size: %d", b.Token, vocab)
		}
	}
	return nil
}

// answers is how many answers are wanted.
func (r *Request) answers() int { return max(1, r.N) }
