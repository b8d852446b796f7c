package request

import (
	"encoding/json"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// chatBody is the body of POST /v1/chat/completions.
type chatBody struct {
	common
	Messages       []message       `json:"messages"`
	MaxTokens      int             `json:"max_tokens"`
	Tools          json.RawMessage `json:"tools,omitempty"`
	ToolChoice     string          `json:"tool_choice,omitempty"`
	ResponseFormat json.RawMessage `json:"response_format,omitempty"`
}

type message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"` // null beside calls alone
	ToolCalls  []call  `json:"tool_calls,omitempty"`
	ToolCallID string  `json:"tool_call_id,omitempty"`
}

func (w *Writer) chat(c common, talk []saying, t *workload.Turn) chatBody {
	b := chatBody{common: c, MaxTokens: t.Output, Messages: make([]message, len(talk))}
	for i := range talk {
		s := &talk[i]
		b.Messages[i] = message{Role: s.role, Content: &s.text, ToolCalls: s.calls, ToolCallID: s.to}
		if s.text == "" && len(s.calls) > 0 {
			b.Messages[i].Content = nil
		}
	}
	if t.Tools {
		b.Tools, b.ToolChoice = definitions().chat, w.toolChoice()
	}
	if t.Schema {
		b.ResponseFormat = definitions().responseFormat
	}
	return b
}
