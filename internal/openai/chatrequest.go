package openai

import "encoding/json"

// ChatRequest is the body of POST /v1/chat/completions.
type ChatRequest struct {
	Conversation
	Generation
	Logprobs          *bool           `json:"logprobs"`
	TopLogprobs       *int            `json:"top_logprobs"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
	IncludeReasoning  *bool           `json:"include_reasoning"`
	Echo              bool            `json:"echo"`

	// Tool calls as they were before tools, refused.
	Functions    []json.RawMessage `json:"functions"`
	FunctionCall json.RawMessage   `json:"function_call"`
}

// Conversation is what a chat template makes a prompt of.
type Conversation struct {
	Messages             []Message                  `json:"messages"`
	Tools                []json.RawMessage          `json:"tools"`
	Documents            []json.RawMessage          `json:"documents"`
	ChatTemplate         *string                    `json:"chat_template"`
	ChatTemplateKwargs   map[string]json.RawMessage `json:"chat_template_kwargs"`
	AddGenerationPrompt  *bool                      `json:"add_generation_prompt"`
	ContinueFinalMessage bool                       `json:"continue_final_message"`
	AddSpecialTokens     *bool                      `json:"add_special_tokens"`
}

// Message is one turn of a chat.
type Message struct {
	Role             string     `json:"role"`
	Content          *Content   `json:"content"` // nil when it is missing or null
	Name             string     `json:"name"`
	ToolCalls        []ToolCall `json:"tool_calls"`
	ToolCallID       string     `json:"tool_call_id"`
	ReasoningContent string     `json:"reasoning_content"`
}

// ToolCall is a call that the assistant made.
type ToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function FunctionCall `json:"function"`
}

// FunctionCall is what a tool is called with. Arguments is a JSON text.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
