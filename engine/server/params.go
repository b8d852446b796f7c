package server

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/openai"
)

// problem is a request that cannot be served: an error object in the making.
type problem struct {
	message, param, code string
}

// maxStops is how many stop strings a request may have. OpenAI allows 4; vLLM has
// no limit, but each one costs time on every token.
const maxStops = 16

// refusedChat finds parameters of a chat that would change the answer and are
// not implemented.
func refusedChat(r *openai.ChatRequest) *problem {
	switch {
	case len(r.Tools) > 0:
		return unsupported("tools")
	case len(r.Functions) > 0:
		return unsupported("functions")
	case r.ResponseFormat != nil && r.ResponseFormat.Type != "text":
		return unsupported("response_format")
	case r.TopLogprobs != nil && *r.TopLogprobs != 0:
		return unsupported("top_logprobs")
	}
	return refused(&r.Generation)
}

// refusedCompletion is refusedChat for completions.
func refusedCompletion(r *openai.CompletionRequest) *problem {
	switch {
	case r.Echo:
		return unsupported("echo")
	case r.BestOf != nil && *r.BestOf != 1:
		return unsupported("best_of")
	case r.Suffix != nil && *r.Suffix != "":
		return unsupported("suffix")
	}
	return refused(&r.Generation)
}

func refused(g *openai.Generation) *problem {
	not := func(v *float64, neutral float64) bool { return v != nil && *v != neutral }
	switch {
	case g.N != nil && *g.N != 1:
		return &problem{fmt.Sprintf("n=%d is not supported by this server, only n=1 is", *g.N), "n", "unsupported_parameter"}
	case asked(g.Logprobs):
		return unsupported("logprobs")
	case len(g.LogitBias) > 0:
		return unsupported("logit_bias")
	case not(g.PresencePenalty, 0):
		return unsupported("presence_penalty")
	case not(g.FrequencyPenalty, 0):
		return unsupported("frequency_penalty")
	case not(g.RepetitionPenalty, 1):
		return unsupported("repetition_penalty")
	case len(g.Stop) > maxStops:
		return &problem{fmt.Sprintf("stop has %d strings, at most %d are allowed", len(g.Stop), maxStops), "stop", ""}
	case g.StreamOptions != nil && !g.Stream:
		return &problem{"stream_options can only be set when stream is true", "stream_options", ""}
	}
	return nil
}

// asked reports whether logprobs, a boolean or a number, was switched on.
func asked(v json.RawMessage) bool {
	return len(v) > 0 && string(v) != "null" && string(v) != "false"
}

func unsupported(param string) *problem {
	return &problem{param + " is not supported by this server", param, "unsupported_parameter"}
}

// request turns parameters into what the engine takes. defaultMax is what
// max_tokens is when the client gave none: 0 is all that fits, as in chats.
func (s *server) request(g *openai.Generation, tokens []int32, defaultMax int) (engine.Request, *problem) {
	room, p := s.room(g, len(tokens))
	if p != nil {
		return engine.Request{}, p
	}
	r := engine.Request{
		Tokens: tokens, MaxTokens: room, MinTokens: g.MinTokens, IgnoreEOS: g.IgnoreEOS, Stop: g.Stop,
		CacheSalt: g.CacheSalt, Priority: g.Priority, Sampling: model.Sampling{Temperature: 1},
	}
	if asked := maxTokens(g); asked != nil {
		r.MaxTokens = *asked
	} else if defaultMax > 0 {
		r.MaxTokens = min(defaultMax, room)
	}
	if g.Temperature != nil {
		r.Sampling.Temperature = float32(*g.Temperature)
	}
	if g.TopP != nil {
		if *g.TopP <= 0 {
			return r, &problem{fmt.Sprintf("top_p must be in (0, 1], got %v.", *g.TopP), "top_p", ""}
		}
		r.Sampling.TopP = float32(*g.TopP)
	}
	if g.MinP != nil {
		r.Sampling.MinP = float32(*g.MinP)
	}
	if g.TopK != nil && *g.TopK != -1 { // −1 is vLLM's other way to say "all"
		r.Sampling.TopK = *g.TopK
	}
	if g.Seed != nil {
		r.Sampling.Seed, r.Seeded = uint64(*g.Seed), true
	}
	if err := r.Validate(s.engine.Window()); err != nil {
		return r, &problem{message: err.Error()}
	}
	return r, nil
}

// maxTokens is the limit that the client set. max_completion_tokens is the newer
// name and wins.
func maxTokens(g *openai.Generation) *int {
	if g.MaxCompletionTokens != nil {
		return g.MaxCompletionTokens
	}
	return g.MaxTokens
}

// room is how many output tokens fit after the prompt. The texts of its errors
// are vLLM's (vllm/entrypoints/openai/serving_engine.py): clients parse them.
func (s *server) room(g *openai.Generation, prompt int) (int, *problem) {
	window := s.engine.Window()
	if prompt >= window {
		return 0, &problem{fmt.Sprintf("This model's maximum context length is %d tokens. However, your request has %d input tokens. "+
			"Please reduce the length of the input messages.", window, prompt), "messages", "context_length_exceeded"}
	}
	asked := maxTokens(g)
	switch {
	case asked == nil:
	case *asked < 1:
		return 0, &problem{fmt.Sprintf("max_tokens must be at least 1, got %d.", *asked), "max_tokens", ""}
	case *asked > window-prompt:
		return 0, &problem{fmt.Sprintf("'max_tokens' or 'max_completion_tokens' is too large: %d. This model's maximum context length is "+
			"%d tokens and your request has %d input tokens (%d > %d - %d).", *asked, window, prompt, *asked, window, prompt),
			"max_tokens", "context_length_exceeded"}
	}
	return window - prompt, nil
}

// kindName says in words what kind of value a parameter takes.
func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "whole number"
	default:
		return "number"
	}
}
