package openai

// UsageReport counts the tokens of one request.
type UsageReport struct {
	PromptTokens        int                 `json:"prompt_tokens"`
	CompletionTokens    int                 `json:"completion_tokens"`
	TotalTokens         int                 `json:"total_tokens"`
	PromptTokensDetails PromptTokensDetails `json:"prompt_tokens_details"`
}

// PromptTokensDetails says how many prompt tokens came from the prefix cache.
type PromptTokensDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// NewUsageReport returns the usage of a request.
func NewUsageReport(prompt, completion, cached int) UsageReport {
	return UsageReport{prompt, completion, prompt + completion, PromptTokensDetails{cached}}
}

// Completion is the answer to either kind of request when it is not streamed.
type Completion struct {
	ID      string      `json:"id"`
	Object  string      `json:"object"` // "chat.completion" or "text_completion"
	Created int64       `json:"created"`
	Model   string      `json:"model"`
	Choices []Choice    `json:"choices"`
	Usage   UsageReport `json:"usage"`

	// vLLM's, of a chat; of a completion they are in its choices.
	PromptLogprobs []PromptLogprob `json:"prompt_logprobs,omitempty"`
	PromptTokenIDs []int32         `json:"prompt_token_ids,omitempty"`
}

// Choice is one answer: Message in a chat, Text in a completion.
type Choice struct {
	Index        int     `json:"index"`
	Message      *Answer `json:"message,omitempty"`
	Text         *string `json:"text,omitempty"`
	Logprobs     any     `json:"logprobs"` // *ChatLogprobs, *CompletionLogprobs, or nil
	FinishReason string  `json:"finish_reason"`
	StopReason   any     `json:"stop_reason"` // vLLM's: the stop string, the stop token, or nil

	TokenIDs       []int32         `json:"token_ids,omitempty"`
	PromptTokenIDs []int32         `json:"prompt_token_ids,omitempty"`
	PromptLogprobs []PromptLogprob `json:"prompt_logprobs,omitempty"`
}

// Answer is the assistant's message.
type Answer struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"` // nil where tool calls stand alone
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
}

// ChatLogprobs are the log-probabilities of a chat's output, one entry a token.
type ChatLogprobs struct {
	Content []ChatLogprob `json:"content"`
}

// ChatLogprob is that of one token.
type ChatLogprob struct {
	TopLogprob
	Top []TopLogprob `json:"top_logprobs"`
}

// TopLogprob is a token that is there, or could have been. Bytes are its exact
// bytes, of which Token shows those that are no whole characters as U+FFFD.
type TopLogprob struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// CompletionLogprobs are those of a completion: lists with one entry a token each.
type CompletionLogprobs struct {
	TextOffset    []int                `json:"text_offset"`    // in characters
	TokenLogprobs []*float32           `json:"token_logprobs"` // nil for the first token of all
	Tokens        []string             `json:"tokens"`
	TopLogprobs   []map[string]float32 `json:"top_logprobs"`
}

// PromptLogprob is vLLM's entry for one token of a prompt, by token number: the
// token that is there, and the likeliest ones. It is nil for the first token.
type PromptLogprob map[string]RankedLogprob

// RankedLogprob is one of them; Rank is 1 for the likeliest.
type RankedLogprob struct {
	Logprob float32 `json:"logprob"`
	Rank    int     `json:"rank"`
	Token   string  `json:"decoded_token"`
}

// Model is an entry of GET /v1/models. MaxModelLen is vLLM's addition.
type Model struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen int     `json:"max_model_len"`
}

// ModelList is the answer to GET /v1/models.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}
