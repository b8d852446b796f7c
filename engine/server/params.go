package server

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/openai"
)

const (
	// maxStops is how many stop strings, and how many stop tokens, a request may
	// have. OpenAI allows 4; vLLM has no limit, but each one costs time on every
	// token.
	maxStops = 16
	// maxN is how many answers a prompt may have, as in OpenAI's API.
	maxN = 128
	// maxAnswers is how many answers one request may ask for, over all its prompts.
	maxAnswers = 1024
	// maxTemperature keeps logits divided by it apart in float32.
	maxTemperature = 1_000_000
	// maxBias is the bound of logit_bias; vLLM cuts what is beyond to it.
	maxBias = 100
)

// Sampling are the parameters of requests that bring none, as a model's
// generation_config.json recommends them. A nil pointer is the API's own default.
type Sampling struct {
	Temperature, TopP, MinP, RepetitionPenalty *float64
	TopK                                       *int
	MaxTokens                                  *int // that any answer has at most, asked for or not
}

// sampling checks the parameters that do not depend on the prompt and turns them
// into what the engine takes. Ranges and texts are vLLM's (vllm/sampling_params.py).
func (s *server) sampling(g *openai.Generation) (engine.Request, *problem) {
	r := engine.Request{
		N: 1, MinTokens: g.MinTokens, IgnoreEOS: g.IgnoreEOS, Stop: g.Stop, StopTokens: g.StopTokenIDs, KeepStop: g.IncludeStop,
		Specials: g.SkipSpecialTokens != nil && !*g.SkipSpecialTokens,
		Priority: g.Priority, Sampling: model.Sampling{Temperature: 1},
	}
	if p := s.limits(g, &r); p != nil {
		return r, p
	}
	if p := s.filters(g, &r.Sampling); p != nil {
		return r, p
	}
	if p := penalties(g, s.Sampling, &r.Sampling); p != nil {
		return r, p
	}
	bias, p := s.bias(g.LogitBias)
	r.Sampling.Bias = bias
	return r, p
}

// limits are parameters of when an answer ends and how many there are.
func (s *server) limits(g *openai.Generation, r *engine.Request) *problem {
	if g.N != nil {
		r.N = *g.N
	}
	if g.CacheSalt != nil {
		if r.CacheSalt = *g.CacheSalt; r.CacheSalt == "" {
			return wrong("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.")
		}
	}
	if g.Seed != nil {
		r.Sampling.Seed, r.Seeded = uint64(*g.Seed), true
	}
	switch {
	case r.N < 1:
		return wrong("n", "n must be at least 1, got %d.", r.N)
	case r.N > maxN:
		return wrong("n", "n must be at most %d, got %d.", maxN, r.N)
	case g.MinTokens < 0:
		return wrong("min_tokens", "min_tokens must be greater than or equal to 0, got %d.", g.MinTokens)
	case len(g.Stop) > maxStops:
		return wrong("stop", "stop has %d strings, at most %d are allowed", len(g.Stop), maxStops)
	case slices.Contains(g.Stop, ""):
		return wrong("stop", "stop cannot contain an empty string.")
	case len(g.StopTokenIDs) > maxStops:
		return wrong("stop_token_ids", "stop_token_ids has %d tokens, at most %d are allowed", len(g.StopTokenIDs), maxStops)
	case g.TruncatePromptTokens != nil && (*g.TruncatePromptTokens == 0 || *g.TruncatePromptTokens < -1):
		return wrong("truncate_prompt_tokens", "truncate_prompt_tokens must be an integer >= 1 or -1, got %d", *g.TruncatePromptTokens)
	case g.TruncatePromptTokens != nil && *g.TruncatePromptTokens > s.engine.Window():
		return wrong("truncate_prompt_tokens", "truncate_prompt_tokens value (%d) is greater than max_model_len (%d). Please, select a smaller truncation size.",
			*g.TruncatePromptTokens, s.engine.Window())
	case g.Priority != 0 && !s.Priorities:
		return wrong("priority", "Got priority %d but Priority scheduling is not enabled.", g.Priority)
	}
	for _, token := range g.StopTokenIDs {
		if !s.known(token) {
			return wrong("stop_token_ids", "stop_token_ids: token %d is out of vocabulary, expected 0 to %d", token, s.Tokenizer.Size()-1)
		}
	}
	return nil
}

func (s *server) known(token int32) bool { return token >= 0 && int(token) < s.Tokenizer.Size() }

// first is the first number that was given, else the last.
func first(other float64, values ...*float64) float64 {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return other
}

func (s *server) filters(g *openai.Generation, to *model.Sampling) *problem {
	temperature := first(1, g.Temperature, s.Sampling.Temperature)
	topP := first(1, g.TopP, s.Sampling.TopP)
	minP := first(0, g.MinP, s.Sampling.MinP)
	topK := 0
	switch {
	case g.TopK != nil:
		topK = *g.TopK
	case s.Sampling.TopK != nil:
		topK = *s.Sampling.TopK
	}
	switch {
	case temperature < 0:
		return wrong("temperature", "temperature must be non-negative, got %v.", temperature)
	case temperature > maxTemperature:
		return wrong("temperature", "temperature must be at most %d, got %v.", maxTemperature, temperature)
	case topP <= 0 || topP > 1:
		return wrong("top_p", "top_p must be in (0, 1], got %v.", topP)
	case minP < 0 || minP > 1:
		return wrong("min_p", "min_p must be in [0, 1], got %v.", minP)
	case topK < -1:
		return wrong("top_k", "top_k must be 0 (disable), or at least 1, got %d.", topK)
	}
	to.Temperature, to.MinP, to.TopK = float32(temperature), float32(minP), max(topK, 0) // −1 is vLLM's other way to say "all"
	to.TopP = max(float32(topP), math.SmallestNonzeroFloat32)                            // 0 would be all
	return nil
}

func penalties(g *openai.Generation, defaults Sampling, to *model.Sampling) *problem {
	presence, frequency := first(0, g.PresencePenalty), first(0, g.FrequencyPenalty)
	repetition := first(1, g.RepetitionPenalty, defaults.RepetitionPenalty)
	const largest = 1e6 // beyond any use, and far from what float32 cannot hold
	switch {
	case presence < -2 || presence > 2:
		return wrong("presence_penalty", "presence_penalty must be in [-2, 2], got %v.", presence)
	case frequency < -2 || frequency > 2:
		return wrong("frequency_penalty", "frequency_penalty must be in [-2, 2], got %v.", frequency)
	case repetition < 1/largest:
		return wrong("repetition_penalty", "repetition_penalty must be greater than zero, got %v.", repetition)
	case repetition > largest:
		return wrong("repetition_penalty", "repetition_penalty must be at most %v, got %v.", largest, repetition)
	}
	to.Presence, to.Frequency, to.Repetition = float32(presence), float32(frequency), float32(repetition)
	return nil
}

// bias reads logit_bias, in the order of tokens.
func (s *server) bias(asked map[string]float64) ([]model.Bias, *problem) {
	var list []model.Bias
	for _, id := range slices.Sorted(maps.Keys(asked)) {
		value := asked[id]
		token, err := strconv.ParseInt(id, 10, 32)
		switch {
		case err != nil:
			return nil, wrong("logit_bias", "Found token_id `%s` in logit_bias but token_id must be an integer or string representing an integer", id)
		case !s.known(int32(token)):
			return nil, wrong("logit_bias", "token_id %d in logit_bias contains out-of-vocab token id: expected 0 to %d", token, s.Tokenizer.Size()-1)
		}
		list = append(list, model.Bias{Token: int32(token), Value: float32(max(-maxBias, min(maxBias, value)))})
	}
	slices.SortFunc(list, func(a, b model.Bias) int { return int(a.Token) - int(b.Token) })
	return list, nil
}

// maxTokens is the limit that the client set. max_completion_tokens is the newer
// name and wins.
func maxTokens(g *openai.Generation) *int {
	if g.MaxCompletionTokens != nil {
		return g.MaxCompletionTokens
	}
	return g.MaxTokens
}

// bound sets how many tokens may follow the prompt: as many as were asked for, or
// those of unasked, or, where that is 0, as many as fit. The texts of its errors are
// vLLM's (vllm/entrypoints/openai/serving_engine.py): clients parse them.
func (s *server) bound(r *engine.Request, g *openai.Generation, unasked int, param string) *problem {
	window, prompt := s.engine.Window(), len(r.Tokens)
	if prompt >= window {
		return tooLong(window, "", prompt, param)
	}
	r.MaxTokens = window - prompt
	switch asked := maxTokens(g); {
	case asked == nil && unasked > 0:
		r.MaxTokens = min(unasked, r.MaxTokens)
	case asked == nil:
	case *asked < 1:
		return wrong("max_tokens", "max_tokens must be at least 1, got %d.", *asked)
	case *asked > r.MaxTokens:
		return &problem{message: fmt.Sprintf("'max_tokens' or 'max_completion_tokens' is too large: %d. This model's maximum context length is "+
			"%d tokens and your request has %d input tokens (%d > %d - %d).", *asked, window, prompt, *asked, window, prompt),
			param: "max_tokens", code: "context_length_exceeded"}
	default:
		r.MaxTokens = *asked
	}
	if most := s.Sampling.MaxTokens; most != nil {
		r.MaxTokens = min(r.MaxTokens, *most)
	}
	if r.MinTokens > r.MaxTokens {
		return wrong("min_tokens", "min_tokens must be less than or equal to max_tokens=%d, got %d.", r.MaxTokens, r.MinTokens)
	}
	return nil
}

func tooLong(window int, least string, prompt int, param string) *problem {
	return &problem{message: fmt.Sprintf("This model's maximum context length is %d tokens. However, your request has %s%d input tokens. "+
		"Please reduce the length of the input messages.", window, least, prompt), param: param, code: "context_length_exceeded"}
}
