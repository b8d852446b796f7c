package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ChatRequest is the body of POST /v1/chat/completions. Unknown fields are
// ignored, as OpenAI's servers and vLLM do.
type ChatRequest struct {
	Messages []Message `json:"messages"`
	Generation
	Tools          []json.RawMessage `json:"tools"`
	Functions      []json.RawMessage `json:"functions"`
	ResponseFormat *Format           `json:"response_format"`
	TopLogprobs    *int              `json:"top_logprobs"`
}

// Message is one turn of a chat.
type Message struct {
	Role    string   `json:"role"`
	Content *Content `json:"content"` // nil when it is missing or null
}

// Format is what response_format asks for: "text", "json_object", "json_schema".
type Format struct {
	Type string `json:"type"`
}

// CompletionRequest is the body of POST /v1/completions.
type CompletionRequest struct {
	Prompt Prompt `json:"prompt"`
	Generation
	Echo   bool    `json:"echo"`
	BestOf *int    `json:"best_of"`
	Suffix *string `json:"suffix"`
}

// Generation holds the parameters that both kinds of request share, OpenAI's and
// those that vLLM adds (top_k, min_p, min_tokens, ignore_eos, cache_salt,
// priority). A nil pointer was not given.
type Generation struct {
	Model               string         `json:"model"`
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	MinTokens           int            `json:"min_tokens"`
	IgnoreEOS           bool           `json:"ignore_eos"`
	Stop                Stop           `json:"stop"`
	Temperature         *float64       `json:"temperature"`
	TopP                *float64       `json:"top_p"`
	TopK                *int           `json:"top_k"`
	MinP                *float64       `json:"min_p"`
	Seed                *int64         `json:"seed"`
	N                   *int           `json:"n"`
	Stream              bool           `json:"stream"`
	StreamOptions       *StreamOptions `json:"stream_options"`
	CacheSalt           string         `json:"cache_salt"`
	Priority            int            `json:"priority"`

	// Parameters that a server may have to refuse.
	Logprobs          json.RawMessage    `json:"logprobs"` // bool in chats, number in completions
	LogitBias         map[string]float64 `json:"logit_bias"`
	PresencePenalty   *float64           `json:"presence_penalty"`
	FrequencyPenalty  *float64           `json:"frequency_penalty"`
	RepetitionPenalty *float64           `json:"repetition_penalty"`
}

// StreamOptions are the options of a streamed answer.
type StreamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats"` // vLLM's: usage in every chunk
}

// Content is a message's text: a string, null, or a list of parts, of which only
// those of type "text" are understood. Parts are joined by newlines, as vLLM
// does.
type Content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(data []byte) error {
	if text, ok, err := stringOrNull(data); ok || err != nil {
		*c = Content(text)
		return err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return errors.New("content must be a string or a list of parts")
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("content part of type %q is not supported, only \"text\" is", p.Type)
		}
		texts[i] = p.Text
	}
	*c = Content(strings.Join(texts, "\n"))
	return nil
}

// Prompt is the text of a completion: a string, or token numbers. Lists of one
// prompt are accepted, lists of several are not.
type Prompt struct {
	Text   string
	Tokens []int32 // when not nil, instead of Text
	Given  bool    // false when it is missing or null
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Prompt) UnmarshalJSON(data []byte) error {
	*p = Prompt{}
	var ok bool
	var err error
	if p.Text, ok, err = stringOrNull(data); ok || err != nil {
		p.Given = string(data) != "null"
		return err
	}
	p.Given = true
	if json.Unmarshal(data, &p.Tokens) == nil {
		return nil
	}
	p.Tokens = nil
	var items []json.RawMessage
	if json.Unmarshal(data, &items) == nil && len(items) == 1 && bytes.ContainsAny(items[0][:1], `"[`) {
		return p.UnmarshalJSON(items[0])
	}
	if len(items) > 1 {
		return errors.New("prompt: more than one prompt in a request is not supported")
	}
	return errors.New("prompt must be a string or a list of token numbers")
}

// Stop is a list of stop strings; on the wire one string, a list, or null.
type Stop []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *Stop) UnmarshalJSON(data []byte) error {
	*s = nil
	text, ok, err := stringOrNull(data)
	if err != nil {
		return err
	}
	if ok {
		if string(data) != "null" {
			*s = Stop{text}
		}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("stop must be a string or a list of strings")
	}
	*s = list
	return nil
}

// stringOrNull reads a JSON string, or null as "". ok is false when data is
// something else.
func stringOrNull(data []byte) (text string, ok bool, err error) {
	if string(data) == "null" {
		return "", true, nil
	}
	if len(data) == 0 || data[0] != '"' {
		return "", false, nil
	}
	err = json.Unmarshal(data, &text)
	return text, true, err
}
