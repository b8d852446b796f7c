package openai

import "encoding/json"

// Generation holds the parameters that chats and completions share: OpenAI's, and
// those that vLLM adds. A nil pointer was not given. Unknown fields are ignored, as
// OpenAI's servers and vLLM do.
type Generation struct {
	Model               string         `json:"model"`
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	N                   *int           `json:"n"`
	Stream              bool           `json:"stream"`
	StreamOptions       *StreamOptions `json:"stream_options"`
	ReturnTokenIDs      bool           `json:"return_token_ids"`

	// When an answer ends, and what of it is sent.
	MinTokens         int     `json:"min_tokens"`
	IgnoreEOS         bool    `json:"ignore_eos"`
	Stop              Stop    `json:"stop"`
	StopTokenIDs      []int32 `json:"stop_token_ids"`
	IncludeStop       bool    `json:"include_stop_str_in_output"`
	SkipSpecialTokens *bool   `json:"skip_special_tokens"`

	// How the next token is picked.
	Temperature       *float64           `json:"temperature"`
	TopP              *float64           `json:"top_p"`
	TopK              *int               `json:"top_k"`
	MinP              *float64           `json:"min_p"`
	Seed              *int64             `json:"seed"`
	PresencePenalty   *float64           `json:"presence_penalty"`
	FrequencyPenalty  *float64           `json:"frequency_penalty"`
	RepetitionPenalty *float64           `json:"repetition_penalty"`
	LogitBias         map[string]float64 `json:"logit_bias"`

	PromptLogprobs       *int `json:"prompt_logprobs"`
	TruncatePromptTokens *int `json:"truncate_prompt_tokens"`

	// How the request is served.
	CacheSalt *string `json:"cache_salt"`
	Priority  int     `json:"priority"`

	Constraints

	// What changes an answer and is refused, where it is not neutral.
	UseBeamSearch    bool            `json:"use_beam_search"`
	BadWords         []string        `json:"bad_words"`
	AllowedTokenIDs  []int32         `json:"allowed_token_ids"`
	LogitsProcessors json.RawMessage `json:"logits_processors"`
	BestOf           *int            `json:"best_of"`
}

// StreamOptions are the options of a streamed answer.
type StreamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats"` // vLLM's: usage in every chunk
}

// Constraints say which texts an answer may be: OpenAI's response_format, vLLM's
// structured_outputs, and the names that it had for these before.
type Constraints struct {
	ResponseFormat    *Format         `json:"response_format"`
	StructuredOutputs *Structured     `json:"structured_outputs"`
	GuidedJSON        json.RawMessage `json:"guided_json"`
	GuidedRegex       *string         `json:"guided_regex"`
	GuidedChoice      []string        `json:"guided_choice"`
	GuidedGrammar     *string         `json:"guided_grammar"`
}

// Format is what response_format asks for: "text", "json_object", "json_schema".
type Format struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// Structured is vLLM's structured_outputs, of which one is set.
type Structured struct {
	JSON          json.RawMessage `json:"json"` // a schema, or one as a string
	JSONObject    *bool           `json:"json_object"`
	Regex         *string         `json:"regex"`
	Choice        []string        `json:"choice"`
	Grammar       *string         `json:"grammar"`
	StructuralTag *string         `json:"structural_tag"`
}

// CompletionRequest is the body of POST /v1/completions.
type CompletionRequest struct {
	Prompt       Prompts         `json:"prompt"`
	PromptEmbeds json.RawMessage `json:"prompt_embeds"` // refused
	Generation
	Echo             bool    `json:"echo"`
	Suffix           *string `json:"suffix"`
	Logprobs         *int    `json:"logprobs"`
	AddSpecialTokens *bool   `json:"add_special_tokens"`
}
